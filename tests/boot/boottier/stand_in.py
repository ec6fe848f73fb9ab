"""The boot image that the scenarios of this process boot by default: RHEL 9's, or el8's for a scenario called "el8-...".

One process plays one scenario. What scenarios know of the boot image (its version, the limits that it meets) are constants of their
modules, so the choice is made before those are imported.
"""

from .sysroot import IMAGES

EL8 = "el8-"
# The boot image, the image of a cluster of the same RHEL major, and that of a cluster of the next one.
BOOT, TARGET, NEXT = IMAGES["rhel9-boot"], IMAGES["rhel9-target"], IMAGES["rhel10-target"]
# Boot and target image of every systemd that a scenario may go through.
EACH = ((BOOT, TARGET), (IMAGES["rhel10-boot"], IMAGES["rhel10-target"]))


def choose(scenario):
    """Chooses for the scenario of this name, before the scenarios are imported."""
    global BOOT, TARGET, NEXT, EACH  # pylint: disable=global-statement
    if scenario.startswith(EL8):
        BOOT, TARGET, NEXT = IMAGES["rhel8-boot"], IMAGES["rhel8-target"], IMAGES["rhel9-target"]
        EACH = ((BOOT, TARGET),)

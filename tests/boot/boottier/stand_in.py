"""The boot image that the scenarios of this process boot by default: RHEL 9's, or the tree of root_tree.py for a scenario called "tree-...".

One process plays one scenario. What scenarios know of the boot image (its version, the limits that it meets) are constants of their
modules, so the choice is made before those are imported.
"""

from .sysroot import IMAGES

TREE = "tree-"
# The boot image, the image of a cluster of the same RHEL major, and that of a cluster of the next one.
BOOT, TARGET, NEXT = IMAGES["rhel9-boot"], IMAGES["rhel9-target"], IMAGES["rhel10-target"]
# Boot and target image of every systemd that a scenario may go through.
EACH = ((BOOT, TARGET), (IMAGES["rhel10-boot"], IMAGES["rhel10-target"]))


def choose(scenario):
    """Chooses for the scenario of this name, before the scenarios are imported."""
    global BOOT, TARGET, NEXT, EACH  # pylint: disable=global-statement
    if scenario.startswith(TREE):
        BOOT, TARGET = IMAGES["rhel8-boot"], IMAGES["rhel8-target"]
        NEXT = TARGET
        EACH = ((BOOT, TARGET),)

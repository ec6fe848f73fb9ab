"""OKD: nodes made from Fedora CoreOS, on systemd 257, which join a cluster of SCOS."""

from ..looks import goes_on, journal_entry, policy, refused
from ..scenario import scenario
from .s30_letting_through import allow_on_console

VERSION = "42.20250410.3.2"
# As the image has it (fedora-coreos-42.20250410.3.2-metal.x86_64).
OS_RELEASE = f"""NAME="Fedora Linux"
VERSION="{VERSION} (CoreOS)"
RELEASE_TYPE=stable
ID=fedora
VERSION_ID=42
VARIANT="CoreOS"
VARIANT_ID=coreos
OSTREE_VERSION='{VERSION}'
"""
ALEPH = {"build": VERSION, "version": VERSION, "ref": "fedora/x86_64/coreos/stable", "ostree-commit": 64 * "c",
         "imgid": f"fedora-coreos-{VERSION}-metal.x86_64.raw"}
FACTS = {"SKEWGUARD_BOOT_IMAGE": VERSION, "SKEWGUARD_RELEASE": "4.22.0-okd-scos.5"}
TOO_NEW = ["NODE REFUSED: ITS BOOT IMAGE IS NEWER THAN ALLOWED", f"boot image {VERSION} (Fedora CoreOS)", "/sysroot/.coreos-aleph-version.json",
           "Fedora CoreOS 41 or older (it has 42)", "skewguard allow"]


def fcos(world, mode="Enforce"):
    """A node of Fedora CoreOS 42, and the maximum of `policy init --okd`."""
    node = world.node(image="rhel10-boot", target="rhel10-target", release=FACTS["SKEWGUARD_RELEASE"], aleph=ALEPH,
                      policy=policy(mode=mode, minimumFCOSVersion="39", maximumFCOSVersion="41", minimumSCOSVersion="9"))
    path = node.root / "usr/lib/os-release"
    path.unlink()
    path.write_text(OS_RELEASE, encoding="ascii")
    return node


@scenario("okd-fcos-refused-and-allowed", "OKD, Fedora CoreOS newer than the maximum: refused in its own words, then let through by allow", el8=False)
def refused_and_allowed(world):
    node = fcos(world)
    first = node.boot().settle()
    world.expect.contains(first.shell("systemctl --version"), ["systemd 257"], "the node's systemd")
    refused(world, node, first, reason="AboveMaximumFCOSVersion", message=TOO_NEW, **FACTS)
    world.expect.that("RHCOS" not in (first.read("/etc/issue") or ""), "no RHCOS in the words of OKD", first.read("/etc/issue"))
    allow_on_console(world.expect, first)
    goes_on(world, node, first)


@scenario("okd-fcos-warn", "OKD, Fedora CoreOS newer than the maximum, mode Warn: warned of, and let in", el8=False)
def warned(world):
    node = fcos(world, mode="Warn")
    first = node.boot()
    second = goes_on(world, node, first)
    journal_entry(world.expect, second, "Refused", "Proceed", "AboveMaximumFCOSVersion", before=True, **FACTS)
    world.expect.contains(first.console.text(), ["skewguard: WARNING: THE BOOT IMAGE OF THIS NODE IS NEWER THAN ALLOWED", VERSION], "the console")

"""A known issue, and each rule about what the machine was born with: it refuses a node, and lets one in that meets it."""

import json

from ..looks import goes_on, journal_entry, policy, refused
from ..paths import PROJECT
from ..scenario import scenario
from .s10_verdicts import OLD

SECURE_BOOT = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
# As bootupd writes it (docs/policy.md), cut to what is read.
SHIM = {"installed": {"EFI": {"meta": {"timestamp": "2023-01-01T00:00:00Z",
                                       "version": "grub2-efi-x64-1:2.06-46.el9.x86_64,shim-x64-15.6-1.el9.x86_64"}}}}
# A CPU of x86-64-v2.
CPU = PROJECT / "tests/data/cpuinfo/x86_64-v2-xeon-w3530"
# What stands in for the machine, before its systemd starts: a /boot of its own with 64 MiB, firmware with Secure Boot, a CPU.
MACHINE = f"""mount --bind /sysroot/.harness/cpuinfo /proc/cpuinfo
mount -t tmpfs -o size=64m tmpfs /boot
cp /sysroot/.harness/bootupd-state.json /boot/
mount -t tmpfs tmpfs /sys/firmware
mkdir -p /sys/firmware/efi/efivars
printf '\\006\\000\\000\\000\\001' >{SECURE_BOOT}
"""


def born(world, **limit):
    """A node on that machine, judged by a policy with this limit."""
    node = world.node(policy=policy(**limit))
    harness = node.disk / ".harness"
    harness.mkdir(exist_ok=True)
    (harness / "cpuinfo").write_bytes(CPU.read_bytes())
    (harness / "bootupd-state.json").write_text(json.dumps(SHIM), encoding="utf-8")
    for root in (node.root, node.target_root()):
        init = root / "usr/libexec/harness-init"
        text = init.read_text(encoding="ascii")
        init.unlink()
        init.write_text(text.replace("unit=", MACHINE + "unit=", 1), encoding="ascii")
        init.chmod(0o755)
    return node


def both(world, rule, reason, unmet, met, message, fact):
    """Refused where the machine is below `unmet`; let in where it meets `met`. `fact`: name and value in the verdict."""
    node = born(world, **{rule: unmet})
    boot = node.boot().settle()
    refused(world, node, boot, reason=reason, message=["NODE REFUSED", *message])
    name, value = fact
    world.expect.equal(boot.verdict()["machine"].get(name), value, f"machine.{name} in the verdict")
    boot.power_off()
    node = born(world, **{rule: met})
    second = goes_on(world, node, node.boot())
    journal_entry(world.expect, second, "Allowed", "Proceed", "WithinLimits", before=True, SKEWGUARD_BOOT_IMAGE=OLD)


@scenario("rule-known-issue", "a known issue of this boot image with this release refuses it, with id and url; with another release it goes on")
def known_issue(world):
    issue = {"id": "FailsHere", "images": {"versions": [{"version": f"{OLD[:11]}*"}]}, "when": {"platforms": ["metal"]},
             "reason": "its tools fail with this release", "url": "https://issues.example.com/1"}
    for targets, fails in ((">=4.21.0 <4.21.4", True), (">=4.22.0", False)):
        node = world.node(policy={**policy(minimumRHCOSVersion="8.0"), "knownIssues": [{**issue, "targets": targets}]})
        if fails:
            boot = node.boot().settle()
            refused(world, node, boot, reason="KnownIssue",
                    message=["NODE REFUSED: ITS BOOT IMAGE IS KNOWN TO FAIL WITH THIS RELEASE", OLD, "FailsHere", "https://issues.example.com/1"])
            boot.power_off()
        else:
            second = goes_on(world, node, node.boot())
            journal_entry(world.expect, second, "Allowed", "Proceed", "WithinLimits", before=True)


@scenario("rule-minimum-cpu", "minimumCPU: a machine of x86-64-v2 is refused for v3 and let in for v2")
def minimum_cpu(world):
    both(world, "minimumCPU", "CPUBelowMinimum", {"x86_64": "x86-64-v3"}, {"x86_64": "x86-64-v2"}, ["x86-64-v3", "x86-64-v2"], ("cpu", "x86-64-v2"))


@scenario("rule-minimum-boot-space", "minimumBootFreeMiB: a /boot with 64 MiB is refused for 100 and let in for 50")
def minimum_boot_space(world):
    both(world, "minimumBootFreeMiB", "BootSpaceBelowMinimum", 100, 50, ["100 MiB"], ("bootFreeMiB", 63))


@scenario("rule-minimum-shim", "minimumShim, with Secure Boot on: shim 15.6-1 is refused for 15.8-3 and let in for 15.6-1")
def minimum_shim(world):
    both(world, "minimumShim", "ShimBelowMinimum", "15.8-3", "15.6-1", ["15.8-3"], ("shim", "15.6-1.el9"))

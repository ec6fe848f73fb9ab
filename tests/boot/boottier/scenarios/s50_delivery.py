"""The ways onto a node. Baked into the image, by the package and its preset, is what the other scenarios use."""

import base64

from .. import agent, served
from ..looks import ALLOWING, goes_on, joined, journal_entry, policy, refused, silent
from ..scenario import scenario
from .s10_verdicts import FACTS, TOO_OLD


def both_ways(world, delivery, wiring):
    """Refused and allowed, delivered this way."""
    node = world.node(delivery=delivery, wiring=wiring, policy=policy())
    message = [part.replace("skewguard allow", "/skewguard allow") for part in TOO_OLD]
    boot = node.boot().settle()
    refused(world, node, boot, message=message, **FACTS)
    # The command that the message gives is there under that name.
    command = next(line.split("sudo ")[1].split(" (")[0] for line in boot.read("/etc/issue").splitlines() if "sudo " in line)
    world.expect.that(boot.succeeds(f"{command} --help"), f"the command of the message to exist: {command}")
    boot.power_off()
    node = world.node(delivery=delivery, wiring=wiring, policy=ALLOWING)
    second = goes_on(world, node, node.boot())
    journal_entry(world.expect, second, "Allowed", "Proceed", "WithinLimits", before=True, **FACTS)


@scenario("delivered-machineconfig-b", "delivered by `render machineconfig`, wiring B: refused, and allowed")
def machineconfig_b(world):
    both_ways(world, "machineconfig", "b")


@scenario("delivered-ignition", "delivered by `render ignition` in the user data: refused, and allowed")
def by_ignition(world):
    both_ways(world, "ignition", "b")


@scenario("delivered-pointer", "fetched by `render pointer` in the user data, the policy served: refused, and allowed")
def by_pointer(world):
    both_ways(world, "pointer", "b")


def appended(world, case):
    """The answer of tests/data/served, with the agent that ships: it refuses an image of 4.12, and lets that of 4.13 in, which the limits allow."""
    wiring, release = served.CASES[case]
    old = "412.86.202301311551-0"
    told = {"SKEWGUARD_RELEASE": release} if release else {}
    setup = {"delivery": "appended", "wiring": wiring, "release": release, "policy": served.policy(case)}
    node = world.node(aleph={"version": old}, os_release=old, **setup)
    boot = node.boot().settle()
    refused(world, node, boot, SKEWGUARD_BOOT_IMAGE=old, SKEWGUARD_OCP="4.12", message=["OCP 4.13.0 or newer", "RHCOS 9.2 or newer", "/etc/skewguard/policy.json"], **told)
    world.expect.that("skewguard" not in boot.read("/etc/mcs-machine-config-content.json"), "a MachineConfig without skewguard")
    boot.power_off()
    node = world.node(**setup)
    second = goes_on(world, node, node.boot())
    journal_entry(world.expect, second, "Allowed", "Proceed", "WithinLimits", before=True, **told)


@scenario("served-wiring-a", "appended by the machine config server, wiring A: refused, and allowed")
def served_a(world):
    appended(world, "wiring-a")


@scenario("served-wiring-b", "appended by the machine config server, wiring B: refused, and allowed")
def served_b(world):
    appended(world, "wiring-b")


@scenario("served-hypershift", "appended by HyperShift's ignition-server, without a release: refused, and allowed")
def served_hypershift(world):
    appended(world, "hypershift")


def write_as_mco(root, config):
    """Files and units of a MachineConfig on a node that runs, as the machine config daemon writes them. Returns the units' names."""
    for file in config["storage"]["files"]:
        path = root / file["path"][1:]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(file["contents"]["source"].removeprefix("data:;base64,")))
    for unit in config["systemd"]["units"]:
        (root / "etc/systemd/system" / unit["name"]).write_text(unit["contents"], encoding="utf-8")
    return " ".join(unit["name"] for unit in config["systemd"]["units"])


@scenario("delivered-to-a-joined-node", "a MachineConfig that would refuse it reaches a node that joined long before: nothing but files, "
                                        "then a boot like any other, then it is taken away")
def to_a_joined_node(world):
    expect = world.expect
    node = world.node(delivery=None)
    boot = goes_on(world, node, node.boot())
    pid, issue = boot.property("kubelet.service", "MainPID"), boot.read("/etc/issue")
    units = write_as_mco(node.root, agent.as_machine_config(policy()))
    boot.shell(f"systemctl enable {units}")
    expect.equal(boot.property("kubelet.service", "MainPID"), pid, "the kubelet's process")
    for unit in units.split():
        expect.equal(boot.property(unit, "ActiveState"), "inactive", f"{unit} until the next boot")
    expect.equal((boot.read("/etc/issue"), boot.exists("/run/skewguard")), (issue, False), "/etc/issue, and nothing in /run")
    boot.power_off()

    boot = node.boot().settle()
    joined(world, node, boot)
    silent(expect, boot)
    expect.equal(boot.property("skewguard.service", "ConditionResult"), "no", "nothing to decide")
    expect.that(boot.succeeds("/run/skewguard/bin/skewguard --version"), "the agent unpacked, for the report")
    expect.that(boot.verdict() is None, "no verdict", boot.verdict())

    boot.shell(f"systemctl disable {units}; rm -r /etc/skewguard; cd /etc/systemd/system && rm {units}")
    expect.equal(boot.property("kubelet.service", "ActiveState"), "active", "the kubelet, when the MachineConfig goes")
    boot.power_off()
    boot = node.boot().settle()
    joined(world, node, boot)
    expect.equal(boot.shell("ls -d /run/skewguard /etc/skewguard 2>/dev/null || true").strip(), "", "what is left")


PACKED = "etc/skewguard/skewguard.xz"
UNPACK = "skewguard-unpack.service"
UNPACK_LATER = "skewguard-unpack-later.service"


def without_program(world, damage):
    """A node that would be refused, if only its agent could be unpacked. Ignition writes it, then `damage(root)`. Returns the boot that joins."""
    node = world.node(delivery="machineconfig", policy=policy())
    provision = node.provision

    def damaged():
        provision()
        damage(node.root)

    node.provision = damaged
    node.boot().wait_reboot()
    second = node.boot().settle()
    world.expect.contains(" ".join(second.ran_before()), ["rebase"], "the first boot")
    world.expect.contains(" ".join(second.ran()), ["kubelet.service"], "the second boot")
    world.expect.equal(second.property("skewguard-report.service", "ConditionResult"), "no", "the report skipped")
    return second


@scenario("delivered-damaged", "a MachineConfig whose binary cannot be unpacked: the boot goes on, and one unit says why")
def damaged(world):
    def cut(root):
        (root / PACKED).write_bytes((root / PACKED).read_bytes()[:100_000])

    second = without_program(world, cut)
    world.expect.equal(second.failed(), [UNPACK_LATER], "systemctl --failed")
    world.expect.that(not second.exists("/run/skewguard/bin/skewguard"), "no half of a program")


@scenario("delivered-for-another-architecture", "a MachineConfig for other nodes: the boot goes on, and nothing fails")
def another_architecture(world):
    def for_arm(root):
        for name in (UNPACK, UNPACK_LATER):
            unit = root / "etc/systemd/system" / name
            unit.write_text(unit.read_text(encoding="ascii").replace("Architecture=x86-64", "Architecture=arm64"), encoding="ascii")

    second = without_program(world, for_arm)
    world.expect.equal(second.failed(), [], "systemctl --failed")
    world.expect.equal(second.property(UNPACK_LATER, "ConditionResult"), "no", "nothing unpacked")


@scenario("delivered-unpacking-hangs", "a joined node whose unpacking hangs: its kubelet starts at once, and what a power cut left on the "
                                       "console of the first boot is taken away all the same, once it is unpacked")
def unpacking_hangs(world):
    expect = world.expect
    node = world.node(delivery="machineconfig", policy=policy(mode="Warn"))
    boot = goes_on(world, node, node.boot())
    boot.power_off()
    # As after a power cut in the middle of the first boot.
    motd = node.root / "etc/motd.d/skewguard"
    motd.parent.mkdir(exist_ok=True)
    motd.write_text("left by a power cut\n", encoding="ascii")
    folder = node.root / f"etc/systemd/system/{UNPACK_LATER}.d"
    folder.mkdir()
    (folder / "hang.conf").write_text("[Service]\nExecStartPre=/usr/bin/sleep 25\n", encoding="ascii")
    boot = node.boot().settle()
    expect.that("kubelet.service" in boot.active(), "the kubelet running", boot.active())
    kubelet, unpacked = (int(boot.property(unit, "InactiveExitTimestampMonotonic" if unit == "kubelet.service"
                                           else "ActiveEnterTimestampMonotonic")) for unit in ("kubelet.service", UNPACK_LATER))
    expect.that(unpacked - kubelet > 15_000_000, "the kubelet not to wait for the unpacking", f"{kubelet} {unpacked} µs")
    for unit in (UNPACK, "skewguard.service"):
        expect.equal(boot.property(unit, "ConditionResult"), "no", f"{unit} skipped")
    expect.that(not boot.exists("/etc/motd.d/skewguard"), "the message taken away by the report")


# Stands in for the agent of the image, to see whether it ever runs.
NOTES = "/var/lib/agent-of-the-image-ran"
NOTING = f"""#!/bin/sh
echo "$@" >>{NOTES}
exit 1
"""


@scenario("delivered-over-baked", "in the image and in a MachineConfig: the delivered one runs, once, and nothing of the image's")
def over_baked(world):
    expect = world.expect

    def delivered(boot):
        for unit in ("skewguard.service", "skewguard-report.service"):
            expect.equal(boot.property(unit, "FragmentPath"), f"/etc/systemd/system/{unit}", f"the unit that counts for {unit}")
        expect.that(not boot.exists(NOTES), "the image's agent not run", boot.read(NOTES))

    for what in (policy(), ALLOWING):
        node = world.node(delivery="both", policy=what)
        (node.root / "usr/bin/skewguard").write_text(NOTING, encoding="ascii")
        boot = node.boot()
        if what is ALLOWING:
            second = goes_on(world, node, boot)
            journal_entry(expect, second, "Allowed", "Proceed", "WithinLimits", before=True, **FACTS)
            delivered(second)
        else:
            refused(world, node, boot.settle(), **FACTS)
            delivered(boot)
            boot.power_off()


def preset(node, *lines):
    """A preset of the distribution, which comes before the package's own."""
    (node.root / "usr/lib/systemd/system-preset/40-distribution.preset").write_text("\n".join([*lines, ""]), encoding="ascii")


@scenario("baked-by-preset", "in an image, by the package: its preset starts it, and one of the distribution leaves the report out, or all of it")
def by_preset(world):
    expect = world.expect
    link = "/etc/systemd/system/multi-user.target.wants"
    node = world.node(policy=policy())
    preset(node, "disable skewguard-report.service")
    boot = node.boot().settle()
    refused(world, node, boot, message=TOO_OLD, **FACTS)
    expect.that(boot.succeeds(f"test -h {link}/skewguard.service"), "enabled in /etc")
    expect.equal(boot.property("skewguard-report.service", "ActiveState"), "inactive", "the report left out")
    boot.power_off()
    node = world.node(policy=policy())
    preset(node, "disable skewguard.service", "disable skewguard-report.service")
    first = node.boot()
    first.wait_reboot()
    silent(expect, first)
    second = node.boot().settle()
    joined(world, node, second)
    expect.that(not second.exists("/var/lib/skewguard"), "nothing of it ran")

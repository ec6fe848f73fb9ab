"""How a node gets past a refusal, and what does not get it past one."""

import os
import shutil
from pathlib import Path

from .. import agent
from ..looks import ALLOWING, ISSUE_LINK, goes_on, joined, journal_entry, policy, refused, silent
from ..scenario import scenario
from ..stand_in import EACH
from .s10_verdicts import FACTS, TOO_OLD
from .s20_gate import AGENT
from .s25_trouble import refused_whole


@scenario("kernel-argument-off", "skewguard=off on the kernel command line lets a node through")
def kernel_argument_off(world):
    node = world.node(policy=policy(), kernel_arguments="ignition.platform.id=metal skewguard=off")
    first = node.boot()
    second = goes_on(world, node, first)
    silent(world.expect, first)
    journal_entry(world.expect, second, "Disabled", "Proceed", "OverrideOff", before=True, SKEWGUARD_OVERRIDE="off")


@scenario("reboot-of-a-refused-node", "a refused node stays refused after a reboot; skewguard=off then lets it in")
def reboot_refused(world):
    node = world.node(policy=policy())
    for _ in range(2):
        boot = node.boot().settle()
        refused(world, node, boot, message=TOO_OLD, **FACTS)
        boot.power_off()
    # As an admin without ssh: edit the kernel arguments in the boot menu.
    goes_on(world, node, node.boot("skewguard=off"))


@scenario("kubelet-started-by-hand", "systemctl start, restart and isolate on a refused node change nothing")
def kubelet_by_hand(world):
    expect = world.expect
    node = world.node(policy=policy())
    boot = node.boot().settle()
    refused(world, node, boot, message=TOO_OLD, **FACTS)
    for command in ("systemctl restart kubelet.service", "systemctl start crio.service",
                    "systemctl start machine-config-daemon-firstboot.service",
                    "systemctl daemon-reload && systemctl start kubelet.service"):
        expect.that(not boot.succeeds(command), f"{command!r} to fail")
    boot.succeeds("systemctl isolate multi-user.target")
    boot.wait_started()
    refused(world, node, boot, message=TOO_OLD, attempts=True, **FACTS)
    expect.that(not boot.succeeds("systemctl reset-failed && systemctl start firstboot-osupdate.target"), "the start to fail after reset-failed")
    # Nothing of ours runs again, so nothing fails again.
    refused(world, node, boot, message=TOO_OLD, attempts=True, forgotten=True, **FACTS)


def allow_on_console(expect, boot, program="/usr/bin/skewguard"):
    """Types "skewguard allow" where the message says it can be typed."""
    place = boot.log_in()
    expect.contains(boot.console.text(), ["Password:", "NODE REFUSED"], "the message of the day after the login")
    boot.console.send(f"{program} allow; echo status=$?\n")
    if boot.console.wait_for(r"status=\d", boot.deadline, place) is not None:
        expect.contains(boot.console.text()[place:], ["This node goes on", "status=0"], "skewguard allow")
    # else the reboot was faster than the shell; it is what counts.


def allowed_on_console(world, wiring):
    """A refused node that is let through on its console."""
    expect = world.expect
    node = world.node(wiring=wiring, policy=policy())
    first = node.boot().settle()
    refused(world, node, first, message=TOO_OLD, **FACTS)
    allow_on_console(expect, first)
    second = goes_on(world, node, first)
    ran = second.ran_before()
    expect.that(ran.index("machine-config-daemon-pull.service") < ran.index("rebase"), "the pull before the rebase", ran)
    expect.that("crio.service" not in ran, "CRI-O only after the rebase", ran)
    expect.that(not second.exists("/run/skewguard/override"), "the override gone with its boot")
    return node, second


@scenario("allow-wiring-a", "skewguard allow typed on the console, wiring A: the node comes up in the right order")
def allow_a(world):
    allowed_on_console(world, "a")


@scenario("allow-wiring-b", "skewguard allow typed on the console, wiring B: the node comes up in the right order")
def allow_b(world):
    allowed_on_console(world, "b")


@scenario("allow-beside-a-start", "skewguard allow beside a start of the kubelet, again and again: what it says holds, and the console is clean")
def allow_beside_a_start(world):
    expect = world.expect
    # A pull that takes its time, so that a node that was let through can be refused again in the same boot.
    for image, target in (("rhel9-boot", "rhel9-target"), ("rhel10-boot", "rhel10-target")):
        node = world.node(image=image, target=target, policy=policy(rhelMajors=[11]))
        node.provision()
        pull = node.root / "etc/systemd/system/machine-config-daemon-pull.service"
        pull.write_text(pull.read_text(encoding="ascii").replace("ExecStart=", "ExecStart=/usr/bin/sleep 1000\n#"), encoding="ascii")
        node.provision = lambda: None
        boot = node.boot().settle()
        wrong = []
        for turn in range(20):
            output = boot.shell(f"""systemctl --no-block start kubelet; sleep 0.{turn:02d}; /usr/bin/skewguard allow; echo status=$?
                # What was running of ours ends before anything is looked at.
                while [ "$(systemctl show --value -p ActiveState skewguard.service)" = activating ]; do sleep 0.02; done
                ls /run/skewguard/refused 2>/dev/null
                grep -l Requires=skewguard /run/systemd/system/*.d/50-skewguard.conf
                grep -h "NODE REFUSED" /etc/issue
                echo job=$(systemctl show --value -p Job machine-config-daemon-firstboot.service)""", timeout=120)
            good = "status=0" in output and "goes on" in output and "job=0" not in output and "job=\n" not in output
            if not good or "refused\n" in output or "50-skewguard" in output or "NODE REFUSED" in output:
                wrong.append(f"turn {turn}: {output}")
            boot.shell("""systemctl stop machine-config-daemon-pull.service machine-config-daemon-firstboot.service kubelet.service
                rm /run/skewguard/override; systemctl restart skewguard.service; test -e /run/skewguard/refused""", timeout=120)
        expect.equal(wrong, [], f"20 times, {image}")
        boot.power_off()


def _take_time(node, seconds):
    """Lets the pull take so long. Without it the rebase takes milliseconds, and the node is rebooted while `allow` still puts things in order."""
    node.provision()
    pull = node.root / "etc/systemd/system/machine-config-daemon-pull.service"
    pull.write_text(pull.read_text(encoding="ascii").replace("ExecStart=", f"ExecStartPre=/usr/bin/sleep {seconds}\nExecStart=", 1), encoding="ascii")
    node.provision = lambda: None


@scenario("allow-interrupted", "skewguard allow is killed again and again while something starts the kubelet, and the terminal hangs up: the rebase comes first")
def allow_interrupted(world):
    for image, target in EACH:
        node = world.node(image=image.name, target=target.name, policy=policy(rhelMajors=[11]))
        _take_time(node, 5)
        boot = node.boot().settle()
        boot.shell("systemd-run --unit=starter sh -c 'while :; do systemctl start kubelet.service; sleep 0.05; done'")
        # The node may reboot at any moment of this.
        boot.machine.run("for time in 0.005 0.01 0.02 0.04 0.08; do timeout -s KILL $time /usr/bin/skewguard allow; done; "
                         "/usr/bin/skewguard allow & sleep 0.02; kill -HUP $!; kill -INT $!; kill -TERM $!; wait")
        goes_on(world, node, boot)
        node.close()


@scenario("allow-beside-reexec", "systemd executes itself anew beside skewguard allow: the node goes on")
def allow_beside_reexec(world):
    for image, target in EACH:
        for delay in ("0", "0.01", "0.05", "0.2"):
            node = world.node(image=image.name, target=target.name, policy=policy(rhelMajors=[11]))
            # The rebase itself asks systemd for something, and is not to find it away.
            _take_time(node, 2)
            boot = node.boot().settle()
            world.expect.that(boot.exists("/run/skewguard/refused"), f"refused, {image.name}")
            # The node may reboot at any moment of this.
            boot.machine.run(f"(sleep {delay}; systemctl daemon-reexec) & /usr/bin/skewguard allow; wait")
            goes_on(world, node, boot)
            node.close()


def _exchange(node, program):
    """Puts another agent into the image, as an update does: the old file may still run."""
    installed = node.root / AGENT
    installed.unlink()
    shutil.copy(program, installed)


def _another_agent(world, first, second):
    """The `first` agent refuses a node; the `second` one refuses it again after a reboot, or takes it over in the same boot, and lets it in."""
    for reboots in (True, False):
        node = world.node(policy=policy())
        _exchange(node, first)
        boot = node.boot().settle()
        refused_whole(world, boot, "by the first agent")
        _exchange(node, second)
        if reboots:
            boot.power_off()
            boot = node.boot().settle()
            refused_whole(world, boot, "by the second agent")
        allow_on_console(world.expect, boot)
        goes_on(world, node, boot)


# Named by tests/age, which builds it: an agent of an earlier release.
if EARLIER := os.environ.get("SKEWGUARD_BOOT_EARLIER"):
    @scenario("earlier-agent", "an earlier agent refuses, this one restores the console; and the other way round")
    def earlier_agent(world):
        _another_agent(world, Path(EARLIER), agent.binary())
        _another_agent(world, agent.binary(), Path(EARLIER))


@scenario("two-step-update", "the served config survives one reboot: the second boot, already rebased, is not blocked")
def two_step(world):
    expect = world.expect
    node = world.node(policy=policy(), kernel_arguments="ignition.platform.id=metal", files={"/etc/stand-in/two-step": ""},
                      delivery="machineconfig")
    first = node.boot("skewguard=warn")
    first.wait_reboot()
    second = node.boot().settle()
    ran = second.ran()
    expect.contains(" ".join(ran), ["machine-config-daemon-pull.service", "rebase-not-needed", "crio.service",
                                    "kubelet.service"], "what ran in the second boot")
    expect.equal(second.failed(), [], "systemctl --failed in the second boot")
    expect.equal(second.journal("MESSAGE_ID=73553485504e4bb4bb2c904d59b78fdc", "SKEWGUARD_ACTION=Block"), [],
                 "blocks in the second boot")
    second.power_off()
    third = node.boot().settle()
    joined(world, node, third)
    silent(expect, third)


@scenario("removed-from-a-joined-node", "stopping, disabling and deleting skewguard never touches a joined node's kubelet")
def removed(world):
    expect = world.expect
    node = world.node(policy=ALLOWING, delivery="machineconfig")
    boot = goes_on(world, node, node.boot())
    pid = boot.property("kubelet.service", "MainPID")
    expect.that(pid not in ("", "0"), "a kubelet", pid)
    for command in ("systemctl stop skewguard.service", "systemctl restart skewguard.service",
                    "systemctl start skewguard.service", "systemctl disable skewguard.service",
                    "rm -f /etc/systemd/system/skewguard*.service /run/skewguard/bin/skewguard; rm -rf /etc/skewguard",
                    "systemctl daemon-reload"):
        boot.shell(command)
        expect.equal(boot.property("kubelet.service", "MainPID"), pid, f"the kubelet's process after {command!r}")
    expect.that(boot.succeeds("systemctl restart kubelet.service"), "the kubelet to restart without skewguard")
    expect.equal(boot.failed(), [], "systemctl --failed")
    boot.power_off()
    third = node.boot().settle()
    joined(world, node, third)
    expect.equal(third.shell("readlink /etc/issue || true").strip(), ISSUE_LINK, "/etc/issue")

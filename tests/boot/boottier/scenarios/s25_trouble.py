"""The gate while the node around it moves: D-Bus, /run and /var. On every systemd there is.

As in s20_gate.py, every node here has a boot image that its policy refuses.
"""

import shutil
import time

from ..looks import HELD_B, goes_on, policy, refused
from ..nspawn import BootError
from ..scenario import scenario
from ..stand_in import EACH
from .s20_gate import AGENT, REAL, cannot_hold, script, unsandboxed


def nodes(world, instead=None):
    """A refused node of each boot image. `instead` is a script in the place of skewguard, which may do anything to the node."""
    for boot, target in EACH:
        node = world.node(image=boot.name, target=target.name, policy=policy(rhelMajors=[11]))
        if instead:
            program = node.root / AGENT
            shutil.copy(program, node.root / REAL[1:])
            script(instead)(program)
            unsandboxed(node)
        yield node
        node.close()


def look(world, node, boot):
    """It is refused, like any other."""
    refused(world, node, boot, reason="RHELMajorUnsupported", message=["NODE REFUSED: ITS BOOT IMAGE HAS THE WRONG RHEL MAJOR"])


@scenario("trouble-bus-restarts", "dbus-daemon is restarted in the middle of the decision: held")
def bus_restarts(world):
    for node in nodes(world, f'(sleep 0.03; systemctl restart dbus.service) &\n{REAL} "$@"\nstatus=$?\nwait\nexit $status'):
        boot = node.boot().settle()
        look(world, node, boot)


@scenario("trouble-run-nearly-full", "/run has less than the 16 MiB free that systemd wants for a reload: it cannot be held, goes on, and says so")
def run_nearly_full(world):
    for node in nodes(world, f'mount -o remount,size=40m /run && fallocate -l 30m /run/full || exit 9\nexec {REAL} "$@"'):
        cannot_hold(world, node, [])


@scenario("trouble-read-only-var", "/var/lib cannot be written: held all the same; the message is on the console, but not kept on /etc/issue, which could not be saved")
def read_only_var(world):
    for node in nodes(world, f'mount --bind /var/lib /var/lib && mount -o remount,bind,ro /var/lib || exit 9\n{REAL} "$@"\n'
                      'status=$?\numount /var/lib\nexit $status'):
        boot = node.boot().settle()
        ran = boot.ran()
        world.expect.equal([name for name in HELD_B if name in ran], [], "what ran of what is held")
        world.expect.equal(boot.failed(), ["skewguard.service"], "systemctl --failed")
        world.expect.equal(((boot.verdict() or {}).get("gate") or {}).get("held"), True, "gate.held in the verdict")
        world.expect.contains(boot.console.text(), ["skewguard: NODE REFUSED"], "the console")
        world.expect.contains(boot.journal_text("-u", "skewguard.service"), ["Read-only file system"], "the journal")


@scenario("trouble-late-var", "/var/lib is mounted over after the decision, then `allow`: the node joins, and nothing of the refusal stays")
def late_var(world):
    for node in nodes(world):
        boot = node.boot().settle()
        look(world, node, boot)
        boot.shell("mount -t tmpfs late /var/lib && mkdir -p /var/lib/kubelet /var/lib/systemd")
        boot.machine.run("/usr/bin/skewguard allow")
        goes_on(world, node, boot)


@scenario("trouble-frozen", "the machine is frozen for 15 s once the first drop-in is there, and its clocks go on: held")
def frozen(world):
    drop_in = "ls /run/systemd/system/*.d/50-skewguard.conf"
    for node in nodes(world, f'{REAL} "$@" &\n(until {drop_in}; do kill -0 $! || break; done) >/dev/null 2>&1\ntouch /var/freeze\nwait $!'):
        boot = node.boot()
        while not (node.var / "freeze").exists():
            if boot.machine.ended() or time.monotonic() > boot.deadline:
                raise BootError("no drop-in of skewguard on the node")
            time.sleep(0.001)
        boot.machine.freeze(15)
        look(world, node, boot.settle())

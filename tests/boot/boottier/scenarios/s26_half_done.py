"""What is killed, stopped or fails in the middle: the rest is mended, and what is said is so. On every systemd there is.

As in s20_gate.py, every node here has a boot image that its policy refuses.
"""

import os
import shutil
import subprocess
from contextlib import contextmanager

from ..boot import LOGIN
from ..looks import ALLOWING, CONFIG, HELD_B, ISSUE_LINK, goes_on, policy
from ..nspawn import BootError
from ..scenario import scenario
from .s20_gate import AGENT, REAL, script, there
from .s25_trouble import ETC, nodes, refused_whole, reported, still_held
from .s30_letting_through import _take_time

REFUSING = policy(rhelMajors=[11])
PULL = "machine-config-daemon-pull.service"
DROP_INS = "ls /run/systemd/system/*.d/50-skewguard.conf"
# What is not told of a message: all that a killed run may have shown by then.
UNSAID = """rm -f /etc/motd.d/skewguard /etc/issue.d/zz-skewguard.issue /run/skewguard-prompt.issue /var/lib/skewguard/issue.saved
    [ ! -e /etc/issue.skewguard-saved ] || mv /etc/issue.skewguard-saved /etc/issue"""


def waits(boot, condition, seconds=60):
    """Whether a condition comes true on the node in so many seconds."""
    return boot.succeeds(f"for n in $(seq {seconds}); do if {condition}; then exit 0; fi; sleep 1; done; exit 1", timeout=seconds + 60)


def up(boot):
    """Waits for the login prompt of a boot whose jobs are not all done."""
    if boot.console.wait_for(LOGIN, boot.deadline) is None:
        raise BootError("no login prompt")
    return boot


def killed(file, more=""):
    """enforce is killed as soon as this file is there."""
    return (f'[ "$1" = enforce ] || exec {REAL} "$@"\n{REAL} "$@" & pid=$!\n'
            f"until [ -e {file} ]; do kill -0 $pid || break; done 2>/dev/null\nkill -KILL $pid\n{more}\nexit 1")


@scenario("half-before-stamp", "killed between the drop-ins and the stamp: nothing of the hold is left for a healthy boot, and our unit can be stopped")
def before_stamp(world):
    kubelet = "/run/systemd/system/kubelet.service.d/50-skewguard.conf"
    for node in nodes(world, killed(kubelet, "rm -f /run/skewguard/refused; systemctl daemon-reload")):
        _take_time(node, 90)
        boot = up(node.boot())
        if not world.expect.that(waits(boot, f"systemctl is-active -q skewguard-report.service && ! {DROP_INS} >/dev/null 2>&1"), "the drop-ins gone"):
            continue
        for name in ("kubelet.service", PULL, "machine-config-daemon-firstboot.service"):
            requires = boot.property(name, "Requires")
            world.expect.that("skewguard" not in requires, f"{name} to require nothing of ours", requires)
        boot.shell("systemctl stop skewguard.service")
        world.expect.equal(boot.property(PULL, "ActiveState"), "activating", "the pull, when our unit is stopped")
        goes_on(world, node, boot)


@scenario("half-stopped", "our unit is stopped in the decision, when the drop-ins are written: the boot goes on")
def stopped(world):
    for node in nodes(world, f"""[ "$1" = enforce ] || exec {REAL} "$@"
        {REAL} "$@" & pid=$!
        until ls /run/systemd/system/kubelet.service.d/50-skewguard.conf; do kill -0 $pid || break; done >/dev/null 2>&1
        kill -KILL $pid; rm -f /run/skewguard/refused; systemctl daemon-reload
        systemctl --no-block stop skewguard.service
        while :; do sleep 1; done"""):
        second = goes_on(world, node, node.boot())
        said = second.journal_text("-u", "skewguard.service", boot=-1)
        world.expect.contains(said, ["the decision was interrupted: nothing is held, and this boot is not refused"], "the journal")


@scenario("half-after-stamp", "killed after the stamp, with and without a verdict: held, and the report says so within a minute")
def after_stamp(world):
    for without in ("/run/skewguard/verdict.json", "''"):
        for node in nodes(world, killed("/run/skewguard/refused", f"rm -f {without}; {UNSAID}")):
            boot = node.boot().settle()
            world.expect.that(waits(boot, "grep -q 'NODE REFUSED' /etc/issue"), "the message on /etc/issue")
            refused_whole(world, boot, "after a kill")
            world.expect.contains(boot.read("/etc/motd.d/skewguard") or "", ["NODE REFUSED"], "the message of the day")


@scenario("half-emergency", "systemctl isolate emergency.target in the decision, then systemctl default: held, with its message")
def emergency(world):
    isolate = "systemctl --no-block isolate emergency.target"
    for when, script_of in {
            "0.03 s after it began": f'systemd-run -q --no-block sh -c "sleep 0.03; {isolate}"\nexec {REAL} "$@"',
            "0.07 s after it began": f'systemd-run -q --no-block sh -c "sleep 0.07; {isolate}"\nexec {REAL} "$@"',
            "between stamp and message":
                f'{REAL} "$@" & pid=$!\nuntil [ -e /run/skewguard/refused ]; do kill -0 $pid || break; done\nkill -STOP $pid\n{isolate}\nwait'}.items():
        for node in nodes(world, f'[ "$1" = enforce ] && [ ! -e /run/isolated ] || exec {REAL} "$@"\ntouch /run/isolated\n{script_of}'):
            boot = node.boot()
            there(boot, "systemctl is-active -q emergency.service")
            world.expect.equal([name for name in HELD_B if name in boot.ran()], [], "what ran of what is held before the emergency shell")
            boot.shell("systemctl --no-block default")
            boot.settle()
            world.expect.that(waits(boot, "grep -q 'NODE REFUSED' /etc/issue"), f"the message on /etc/issue, emergency {when}")
            refused_whole(world, boot, f"after an emergency {when}")


@scenario("half-next-boot", "refused, then a boot on which enforce fails: the node goes on, and the refusal is off the console; without the program it says of which boot it is")
def next_boot(world):
    expect = world.expect
    for broken in (True, False):
        for node in nodes(world):
            first = node.boot().settle()
            still_held(world, first, "at first")
            expect.that(first.succeeds("grep -Eq 'It will not join .booted 20..-..-..T..:..Z.' /etc/issue"), "of which boot it is on /etc/issue")
            first.power_off()
            program = node.root / AGENT
            if broken:
                shutil.copy(program, node.root / REAL[1:])
                script(f'[ "$1" != enforce ] || exit 1\nexec {REAL} "$@"')(program)
            else:
                program.unlink()
            # It was provisioned in the first boot.
            pull = node.root / "etc/systemd/system" / PULL
            pull.write_text(pull.read_text(encoding="ascii").replace("ExecStart=", "ExecStartPre=/usr/bin/sleep 60\nExecStart=", 1), encoding="ascii")
            boot = node.boot()
            if not broken:
                boot.wait_reboot()
                continue
            up(boot)
            expect.that(waits(boot, "systemctl is-active -q skewguard-report.service && [ -L /etc/issue ]", 50), "/etc/issue restored")
            expect.equal(boot.shell("readlink /etc/issue; ls /etc/motd.d/skewguard /etc/issue.d/zz-skewguard.issue 2>/dev/null || true").strip(), ISSUE_LINK, "what is left of the message")
            goes_on(world, node, boot)


@scenario("half-nothing-to-rebase", "allow on a node with nothing to rebase: its kubelet starts on this boot, and depends on no unit that it did not before")
def nothing_to_rebase(world):
    expect = world.expect
    rebase = f"[Service]\nExecStart=\nExecStart=/bin/sh -c '/usr/libexec/stand-in rebase-not-needed; rm {CONFIG}'\n"
    firstboot = "machine-config-daemon-firstboot.service"
    for boot_image, target in (("rhel9-boot", "rhel9-target"), ("rhel10-boot", "rhel10-target")):
        node = world.node(image=boot_image, target=target, policy=REFUSING, files={f"{ETC}/{firstboot}.d/none.conf": rebase})
        boot = node.boot().settle()
        still_held(world, boot, "at first")
        output = boot.shell("/usr/bin/skewguard allow")
        expect.contains(output, ["first the OS update, which reboots the node if it changes anything, then the kubelet."], "allow")
        expect.that(waits(boot, "systemctl is-active -q kubelet.service"), "the kubelet")
        expect.that(waits(boot, f"! {DROP_INS} >/dev/null 2>&1"), "the drop-ins gone")
        expect.that(firstboot not in boot.property("kubelet.service", "Requires"), "the kubelet not to require the rebase")
        boot.shell(f"systemctl stop {firstboot}")
        for name in ("kubelet.service", "crio.service"):
            expect.equal(boot.property(name, "ActiveState"), "active", f"{name} when {firstboot} is stopped")
        node.close()


@scenario("half-new-unit", "a unit that appears after the refusal, and comes after what is held: stopped and held within a minute, and said once")
def new_unit(world):
    for node in nodes(world):
        boot = node.boot().settle()
        still_held(world, boot, "at first")
        boot.shell(f"""printf '[Unit]\\nAfter=ovs-configuration.service\\n[Service]\\nExecStart=/usr/bin/sleep infinity\\n' >{ETC}/appears.service
            systemctl daemon-reload; systemctl start appears.service""")
        world.expect.that(waits(boot, "! systemctl is-active -q appears.service"), "the new unit stopped")
        world.expect.that(not boot.succeeds("systemctl start appears.service"), "the start of the new unit to fail")
        reported(world, boot, "appears.service appeared after the refusal and is held, too")
        still_held(world, boot, "after a new unit")


# What each of the two that run in our unit does before its work, and where it is in the image.
HANGS = "touch /run/decides\nuntil [ -e /run/hangs ]; do sleep 0.1; done"
ON_DISK = {"the agent": AGENT, "the clock": "usr/bin/timeout"}


@scenario("half-device-hangs", "enforce, or its clock, waits for a device that hangs, and nothing ends it: in a minute, or after two and a half, the boot goes on", timeout=1200)
def device_hangs(world):
    expect = world.expect
    for which, path in ON_DISK.items():
        for node in nodes(world, what=policy(mode="Warn", rhelMajors=[11])):
            clock = which == "the clock"
            program = node.root / path
            shutil.copy(program, node.root / REAL[1:])
            # Only for the decision, not for the stop of our unit.
            hangs = HANGS + ("\nexec 3>/etc/motd.d/hangs" if clock else "")
            program.write_text(f'#!/bin/sh\ncase "$*" in *enforce)\n{hangs};;\nesac\nexec {REAL} "$@"\n', encoding="ascii")
            program.chmod(0o755)
            _take_time(node, 60)
            boot = node.boot(timeout=400)
            with hanging(world, boot):
                ended = "failed" if clock else "active"
                there(boot, f"test $(systemctl show --value -p ActiveState skewguard.service).$(systemctl show --value -p ActiveState {PULL}) = {ended}.activating")
                expect.equal(boot.property("skewguard.service", "Result"), "timeout" if clock else "success", f"how our unit ended where {which} hangs")
                expect.that(boot.succeeds("ps -eo stat,args | grep -q '^D.*enforce'"), "the process still there", boot.shell("ps -eo stat,wchan,args"))
            goes_on(world, node, boot)


@contextmanager
def hanging(world, boot, path="/etc/motd.d"):
    """A file system on a folder of the node that is frozen: who writes to it waits in an uninterruptible sleep, as for a device without an answer."""
    disk = world.folder / "disk.img"
    disk.write_bytes(b"")
    os.truncate(disk, 8 << 20)
    subprocess.run(["mkfs.ext4", "-q", str(disk)], check=True)
    loop = subprocess.run(["losetup", "--find", "--show", str(disk)], check=True, capture_output=True, text=True).stdout.strip()
    try:
        there(boot, "test -e /run/decides")
        boot.shell(f"mkdir -p {path}; mknod /dev/hangs b 7 {os.minor(os.stat(loop).st_rdev)}; mount /dev/hangs {path}; "
                   f"fsfreeze --freeze {path}; touch /run/hangs")
        try:
            yield
        finally:
            boot.machine.run(f"fsfreeze --unfreeze {path}; umount --lazy {path}")
    finally:
        subprocess.run(["losetup", "--detach", loop], check=False)


@scenario("joined-restarts", "restarts of a joined kubelet leave no line of ours in the journal")
def joined_restarts(world):
    expect = world.expect
    # Nothing to rebase: what is in the boot image is there in the boots that follow.
    node = world.node(image="rhel9-target", target="rhel9-target", policy=ALLOWING)
    node.boot().settle().power_off()
    boot = node.boot().settle()
    expect.equal(boot.property("skewguard.service", "ConditionResult"), "no", "our unit's condition")
    lines = "journalctl --sync; journalctl -b -o cat UNIT=skewguard.service | wc -l"
    before = boot.shell(lines)
    boot.shell("for n in 1 2 3; do systemctl restart kubelet.service; done; systemctl is-active kubelet.service")
    expect.equal(boot.shell(lines), before, "lines about our unit when the kubelet is restarted")


@scenario("half-report-killed", "the report of a held node is ended by a signal, again and again: it comes back, and holds what was removed meanwhile")
def report_killed(world):
    for node in nodes(world):
        folder = node.root / "usr/lib/systemd/system/skewguard-report.service.d"
        folder.mkdir()
        (folder / "soon.conf").write_text("[Service]\nRestartSec=1\n", encoding="ascii")
        boot = node.boot().settle()
        for signal in ("TERM", "TERM", "ABRT", "KILL", "ABRT", "HUP", "ABRT"):
            was = boot.property("skewguard-report.service", "MainPID")
            boot.shell(f"kill -{signal} {was}")
            again = f"p=$(systemctl show --value -p MainPID skewguard-report.service); [ $p != 0 ] && [ $p != {was} ]"
            if not world.expect.that(waits(boot, again, 30), f"a report after SIG{signal}"):
                break
        boot.shell("rm -r /run/systemd/system/kubelet.service.d; systemctl daemon-reload")
        world.expect.that(waits(boot, "test -e /run/systemd/system/kubelet.service.d/50-skewguard.conf"), "the hold made again")
        still_held(world, boot, "after the report was ended")

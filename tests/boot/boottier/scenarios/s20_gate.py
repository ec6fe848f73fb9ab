"""The gate when something breaks: what goes on goes on, what is refused stays refused.

Every node here has a boot image that its policy refuses. So a node that goes on does so because skewguard could not
decide or could not hold, and never because nothing was to be refused.
"""

import shutil
import time

from ..looks import ALLOWING, HELD, HELD_B, goes_on, policy, refused
from ..nspawn import BootError
from ..scenario import scenario
from ..stand_in import EACH

AGENT = "usr/bin/skewguard"
# The real program, beside what stands in its place.
REAL = "/usr/libexec/skewguard-real"
DROP_INS = "ls /run/systemd/system/*.d/50-skewguard.conf 2>/dev/null | wc -l"


# Every systemd there is, and a policy that refuses them all.
IMAGES_OF = tuple((boot.name, target.name) for boot, target in EACH)
REFUSING = policy(rhelMajors=[11])


def broken(world, replace, wiring="b", **setup):
    """A node whose skewguard is broken: `replace(path)` does it to the program in the boot image."""
    node = world.node(**{"wiring": wiring, "policy": policy(), **setup})
    path = node.root / AGENT
    shutil.copy(path, node.root / REAL[1:])
    replace(path)
    return node


def script(text):
    """Puts a shell script in the place of skewguard. The service's stop of it is left to the real one."""

    def replace(path):
        path.write_text(f'#!/bin/sh\n[ "$2" != --restore-console ] || exec {REAL} "$@"\n{text}\n', encoding="ascii")
        path.chmod(0o755)

    return replace


def has_no_say(world, replace, wiring="b"):
    """The broken program changes nothing: the node rebases, reboots and joins."""
    node = broken(world, replace, wiring)
    second = goes_on(world, node, node.boot())
    world.expect.that("skewguard.service" not in second.failed(), "our unit not failed")


@scenario("gate-exit-3", "enforce ends with 3 without having held: the stamp counts, not the status")
def exit_3(world):
    has_no_say(world, script("exit 3"), wiring="a")


@scenario("gate-abort", "enforce panics, which aborts it: the boot goes on")
def abort(world):
    has_no_say(world, script("kill -ABRT $$"))


@scenario("gate-missing", "the program is missing: the boot goes on")
def missing(world):
    has_no_say(world, lambda path: path.unlink())


@scenario("gate-hang", "enforce hangs and does not listen to SIGTERM: after 52 s the boot goes on")
def hang(world):
    has_no_say(world, script("trap '' TERM\nwhile :; do sleep 1; done"))


@scenario("gate-killed-before-stamp", "killed between the drop-ins and the stamp: half a hold holds nothing")
def killed_before_stamp(world):
    # Should it have come as far as the stamp by then, that goes too; systemd has read the drop-ins for certain.
    text = (f'{REAL} "$@" & pid=$!\n'
            f'until [ "$({DROP_INS})" -ge 7 ]; do kill -0 $pid 2>/dev/null || break; done\n'
            "kill -KILL $pid; rm -f /run/skewguard/refused; systemctl daemon-reload; exit 1")
    has_no_say(world, script(text))


@scenario("gate-hang-after-stamp", "enforce hangs after it has refused: refused, and the boot is over in time")
def hang_after_stamp(world):
    node = broken(world, script(f"trap '' TERM\n{REAL} \"$@\"\nwhile :; do sleep 1; done"))
    refused(world, node, node.boot().settle())


@scenario("gate-killed-after-stamp", "enforce is killed after it has refused: refused")
def killed_after_stamp(world):
    node = broken(world, script(f"{REAL} \"$@\"\nkill -KILL $$"), wiring="a")
    refused(world, node, node.boot().settle())


def cannot_hold(world, node, parts):
    """The node could not be held: it goes on, and console and verdict of that boot said why."""
    first = node.boot()
    goes_on(world, node, first)
    world.expect.contains(first.console.text(), ["NOT HELD BACK"], "the console of the first boot")
    kept = (node.var / "lib/skewguard/verdict.json").read_text(encoding="ascii")
    world.expect.contains(kept, ['"verdict": "Refused"', '"held": false', *parts], "the verdict that is kept")


@scenario("gate-full-run", "/run is full: the node cannot be held, goes on, and says so")
def full_run(world):
    # Not all of /run, or nothing of the system would start: only where the drop-ins go.
    node = broken(world, script(
        "mkdir -p /run/systemd/system\nmount -t tmpfs -o size=4k,nr_inodes=2 full /run/systemd/system || exit 9\n"
        f'exec {REAL} "$@"'))
    unsandboxed(node)
    cannot_hold(world, node, ["No space left on device"])


def held(world, boot):
    """The node is held, whatever else does not work on it."""
    expect = world.expect
    ran = boot.ran()
    for name in HELD_B:
        expect.that(name not in ran, f"{name} held back", ran)
    expect.that("sshd.service" in ran, "the way in by ssh open", ran)
    expect.that("kubelet.service" not in boot.active(), "no kubelet running", boot.active())
    expect.that("skewguard.service" in boot.failed(), "our unit failed", boot.failed())
    gate = (boot.verdict() or {}).get("gate") or {}
    expect.equal((gate.get("held"), gate.get("error")), (True, None), "the gate, in the verdict")


@scenario("gate-no-dbus", "there is no D-Bus: the node is held over systemd's own socket, and let through over it")
def no_dbus(world):
    for image, target in IMAGES_OF:
        node = world.node(image=image, target=target, policy=REFUSING)
        for unit in ("dbus.socket", "dbus.service"):
            mask = node.root / "etc/systemd/system" / unit
            mask.parent.mkdir(parents=True, exist_ok=True)
            mask.symlink_to("/dev/null")
        boot = node.boot().settle()
        held(world, boot)
        boot.shell("/usr/bin/skewguard allow")
        boot.wait_reboot()


# It stops before its first word.
STOPPED_AT_ONCE = """[Service]
ExecStart=
ExecStart=/bin/sh -c 'kill -STOP $$$$; exec dbus-daemon --system --address=systemd: --nofork --nopidfile --systemd-activation'
"""
# systemd 239 asks for all names when it has connected and has nothing else to do; that is over by then.
IS_CONNECTED = "busctl call org.freedesktop.systemd1 /org/freedesktop/systemd1 org.freedesktop.DBus.Peer Ping && sleep 3"


@scenario("gate-hung-dbus", "the D-Bus daemon hangs while the node is being held, from its start or later: it is held without it (not on systemd 239 from its start)")
def hung_dbus(world):
    for image, target in IMAGES_OF:
        for from_its_start in (True, False):
            stopped = "pgrep -f 'exec dbus-daemon'" if from_its_start else f"{IS_CONNECTED} && pkill -STOP dbus-daemon"
            node = broken(world, script(f'[ "$1" = enforce ] || exec {REAL} "$@"\nuntil {stopped}; do sleep 0.01; done >/dev/null 2>&1\n'
                                        f'{REAL} "$@"\npkill -CONT -f dbus-daemon\nexit 3'),
                          image=image, target=target, policy=REFUSING)
            unsandboxed(node)
            if from_its_start:
                folder = node.root / "usr/lib/systemd/system/dbus.service.d"
                folder.mkdir()
                (folder / "stopped.conf").write_text(STOPPED_AT_ONCE, encoding="ascii")
            if from_its_start and any(node.root.glob("usr/lib/systemd/libsystemd-shared-239*.so")):
                # systemd 239 itself waits for it, as long as it takes, and answers nobody (sd-bus.c, bus_ensure_running). Nothing starts meanwhile.
                cannot_hold(world, node, ["no answer in time"])
                continue
            boot = node.boot().settle()
            held(world, boot)
            boot.power_off()


@scenario("gate-reexec", "systemd executes itself anew while the node is being held: it is held")
def reexec(world):
    for image, target in IMAGES_OF:
        for delay in ("0", "0.01", "0.05", "0.2"):
            node = broken(world, script(f"(sleep {delay}; systemctl daemon-reexec) &\n{REAL} \"$@\"\nwait\nexit 3"),
                          image=image, target=target, policy=REFUSING)
            boot = node.boot().settle()
            held(world, boot)
            boot.power_off()


@scenario("gate-reload-denied", "D-Bus may not reload: systemctl does, from within the sandbox, and the node is held")
def reload_denied(world):
    node = world.node(policy=policy())
    folder = node.root / "etc/dbus-1/system.d"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "deny.conf").write_text(
        '<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-BUS Bus Configuration 1.0//EN" '
        '"http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">\n<busconfig><policy context="mandatory">'
        '<deny send_destination="org.freedesktop.systemd1" send_interface="org.freedesktop.systemd1.Manager" '
        'send_member="Reload"/></policy></busconfig>\n', encoding="ascii")
    boot = node.boot().settle()
    refused(world, node, boot)
    status = boot.shell("busctl call org.freedesktop.systemd1 /org/freedesktop/systemd1 "
                        "org.freedesktop.systemd1.Manager Reload 2>&1 || true")
    world.expect.contains(status, ["Access denied"], "a reload over D-Bus")


@scenario("gate-read-only-etc", "/etc is read-only: held all the same; only the message is not on /etc/issue")
def read_only_etc(world):
    node = broken(world, script(f'mount --bind /etc /etc && mount -o remount,bind,ro /etc || exit 9\nexec {REAL} "$@"'))
    # The machine-id goes to the disk first: a commit that fails is one more failed unit, and a journal that is not found.
    unsandboxed(node, "[Unit]\nAfter=systemd-machine-id-commit.service\n")
    boot = node.boot().settle()
    expect = world.expect
    for name in HELD_B:
        expect.that(name not in boot.ran(), f"{name} held back", boot.ran())
    expect.equal(boot.failed(), ["skewguard.service"], "systemctl --failed")
    expect.contains(boot.console.text(), ["skewguard: NODE REFUSED"], "the console")
    expect.contains(boot.journal_text("-u", "skewguard.service"), ["/etc/issue", "Read-only file system"], "the journal")


def unsandboxed(node, order=""):
    """Lets the service mount, so that its own program can break its world."""
    folder = node.root / "usr/lib/systemd/system/skewguard.service.d"
    folder.mkdir()
    (folder / "mount.conf").write_text(f"{order}[Service]\nSystemCallFilter=\nCapabilityBoundingSet=~\n", encoding="ascii")


@scenario("gate-no-sandbox", "the sandbox cannot be set up: the boot goes on")
def no_sandbox(world):
    node = world.node(policy=policy())
    folder = node.root / "usr/lib/systemd/system/skewguard.service.d"
    folder.mkdir()
    # A path that is not there fails the set-up of the mount namespace (226/NAMESPACE).
    (folder / "broken.conf").write_text("[Service]\nReadWritePaths=/nonexistent/path\n", encoding="ascii")
    second = goes_on(world, node, node.boot())
    world.expect.contains(second.shell("journalctl -b -1 -u skewguard.service --no-pager"), ["NAMESPACE"],
                          "the journal of the first boot")


@scenario("gate-stays-refused", "refused stays refused: kubelet started by hand, override by hand, reboot")
def stays_refused(world):
    expect = world.expect
    node = world.node(policy=policy())
    boot = node.boot().settle()
    refused(world, node, boot)
    for command in ("systemctl restart kubelet", "systemctl start kubelet-dependencies.target",
                    "systemctl start machine-config-daemon-firstboot", "systemctl reset-failed; systemctl start kubelet",
                    "systemctl daemon-reload; systemctl start crio kubelet",
                    "echo off > /run/skewguard/override; systemctl restart kubelet"):
        expect.that(not boot.succeeds(command), f"{command!r} to fail")
        for name in HELD_B:
            expect.that(name not in boot.ran(), f"{name} held back after {command!r}", boot.ran())
    boot.power_off()
    again = node.boot().settle()
    refused(world, node, again)


@scenario("gate-job-modes", "job modes that ask for no dependency: what is held does not start, and is not left failed")
def job_modes(world):
    expect = world.expect
    for image, target in IMAGES_OF:
        node = world.node(image=image, target=target, policy=REFUSING)
        boot = node.boot().settle()
        held(world, boot)
        for mode in ("ignore-requirements", "ignore-dependencies", "replace-irreversibly"):
            for unit in ("kubelet.service", "crio.service", "machine-config-daemon-firstboot.service", "kubelet-dependencies.target",
                         "firstboot-osupdate.target", "ovs-configuration.service"):
                command = f"systemctl --job-mode={mode} start {unit}"
                expect.that(not boot.succeeds(command), f"{command!r} to fail")
                expect.that(boot.property(unit, "ActiveState") != "active", f"{unit} not active after {command!r}")
        held(world, boot)
        # What these want and nobody holds has its limit of starts.
        boot.shell("systemctl reset-failed crio-wipe.service || true")
        expect.equal(boot.failed(), ["skewguard.service"], "systemctl --failed")
        boot.shell("/usr/bin/skewguard allow")
        boot.wait_reboot()


def there(boot, condition):
    """Waits until a condition comes true on a node that may still be on its way."""
    while True:
        try:
            if boot.succeeds(condition):
                return
        except BootError:
            pass  # Not yet as far as systemd.
        if time.monotonic() > boot.deadline or boot.machine.ended():
            raise BootError(f"not on this boot: {condition}")
        time.sleep(0.2)


def rescue(world, wiring):
    """A boot into rescue.target, as one enters it at the boot loader."""
    expect = world.expect
    for image, target in IMAGES_OF:
        node = world.node(image=image, target=target, wiring=wiring, policy=REFUSING)
        boot = node.boot("systemd.unit=rescue.target")
        there(boot, "systemctl is-active -q rescue.service")
        boot.shell("while systemctl is-active --quiet skewguard.service || test $(systemctl list-jobs --no-legend | wc -l) != 0; do sleep 0.2; done")
        expect.equal(boot.property("default.target", "Id"), "multi-user.target", "what default.target is")
        expect.that(not boot.succeeds("systemctl start kubelet.service"), "the start of the kubelet to fail")
        expect.equal(((boot.verdict() or {}).get("gate") or {}).get("held"), True, "gate.held in the verdict")
        status, output = boot.machine.run("/usr/bin/skewguard allow")
        expect.equal(status, 1, "the exit status of allow")
        expect.contains(output, ["rescue.target is up, so nothing was started", "systemctl start machine-config-daemon-firstboot.service"], "allow")
        expect.that(not boot.exists("/run/skewguard/refused"), "the refusal lifted")
        ran = boot.ran()
        expect.equal([name for name in (HELD_B if wiring == "b" else HELD) if name in ran], [], "what ran of what is held")
        expect.equal(boot.shell("systemctl list-jobs --no-legend"), "", "what is queued")
        boot.shell("systemctl --no-block start machine-config-daemon-firstboot.service")
        boot.wait_reboot()


@scenario("gate-rescue-a", "rescue.target, wiring A: a bare start of the kubelet is decided; allow lifts the refusal there and starts nothing")
def rescue_a(world):
    rescue(world, "a")


@scenario("gate-rescue-b", "rescue.target, wiring B: a bare start of the kubelet is decided; allow lifts the refusal there and starts nothing")
def rescue_b(world):
    rescue(world, "b")


@scenario("gate-path-unit", "a path unit that starts the kubelet again and again: each start is answered at once and nothing is read anew")
def path_unit(world):
    expect = world.expect
    node = world.node(policy=policy())
    boot = node.boot().settle()
    refused(world, node, boot)
    entries = len(boot.journal("SYSLOG_IDENTIFIER=skewguard", "PRIORITY=3"))
    reloads = len([line for line in boot.journal_text("_PID=1").splitlines() if "Reloading" in line])
    kept = boot.shell("stat -c %Y.%i /var/lib/skewguard/verdict.json /run/skewguard/verdict.json /run/skewguard/refused")
    began = time.monotonic()
    boot.shell("for n in $(seq 20); do systemctl start kubelet.service && exit 1; done; true", timeout=120)
    world.log(f"20 starts of a held kubelet took {time.monotonic() - began:.1f} s")
    expect.equal(boot.shell("stat -c %Y.%i /var/lib/skewguard/verdict.json /run/skewguard/verdict.json /run/skewguard/refused"), kept, "the files")
    expect.equal(len(boot.journal("SYSLOG_IDENTIFIER=skewguard", "PRIORITY=3")), entries, "errors of ours in the journal")
    expect.equal(len([line for line in boot.journal_text("_PID=1").splitlines() if "Reloading" in line]), reloads, "reloads")
    # What the kubelet wants and nobody holds has its limit of starts.
    boot.shell("systemctl reset-failed crio-wipe.service || true")
    refused(world, node, boot, attempts=True)


@scenario("gate-cost", "nothing to refuse: how long the check took, in the boot and again (docs/dev/benchmarks.md)", asked=True)
def cost(world):
    for image, delivery in (("rhel9-target", "baked"), ("rhel10-target", "baked"), ("rhel9-target", "machineconfig")):
        node = world.node(image=image, target=image, delivery=delivery, policy=ALLOWING)
        boot = node.boot().settle()
        times = [_took(boot)]
        unpacking = f", unpacking it {_took(boot, 'skewguard-unpack.service'):.0f} ms" if delivery != "baked" else ""
        (world.folder / f"critical-chain-{image}-{delivery}.txt").write_text(
            boot.shell("systemd-analyze; systemd-analyze critical-chain kubelet.service; systemd-analyze blame"), encoding="utf-8")
        for _ in range(10):
            boot.shell("touch /etc/ignition-machine-config-encapsulated.json; systemctl restart skewguard")
            times.append(_took(boot))
        world.expect.equal(boot.property("skewguard.service", "ActiveState"), "active", "our unit")
        again = sorted(times[1:])
        world.log(f"{image}, {delivery}: skewguard.service took {times[0]:.0f} ms in the boot{unpacking}; "
                  f"afterwards {again[0]:.0f} to {again[-1]:.0f} ms, median {again[len(again) // 2]:.0f} ms")
        boot.power_off()


def _took(boot, unit="skewguard.service"):
    """Milliseconds from the start of the unit to being active."""
    began, ended = (int(boot.property(unit, f"{name}TimestampMonotonic"))
                    for name in ("InactiveExit", "ActiveEnter"))
    return (ended - began) / 1000

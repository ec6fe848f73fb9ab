"""The gate while the node around it moves: what starts things, systemd, D-Bus, /run and /var. On every systemd there is.

As in s20_gate.py, every node here has a boot image that its policy refuses.
"""

import os
import shutil
import time

from ..boot import BOOT_ID, LOGIN
from ..looks import ALLOWING, CONFIG, HELD_B, goes_on, joined, policy, refused, screen
from ..nspawn import BootError
from ..scenario import scenario
from ..stand_in import EACH
from .s20_gate import AGENT, REAL, cannot_hold, script, unsandboxed


def nodes(world, instead=None, what=policy(rhelMajors=[11])):
    """A node of each boot image, with a policy that refuses it. `instead` is a script in the place of skewguard, which may do anything to the node."""
    for boot, target in EACH:
        node = world.node(image=boot.name, target=target.name, policy=what)
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


@scenario("trouble-read-only-var", "/var/lib cannot be written: held all the same, and the message is on /etc/issue")
def read_only_var(world):
    for node in nodes(world, f'mount --bind /var/lib /var/lib && mount -o remount,bind,ro /var/lib || exit 9\n{REAL} "$@"\n'
                      'status=$?\numount /var/lib\nexit $status'):
        boot = node.boot().settle()
        ran = boot.ran()
        world.expect.equal([name for name in HELD_B if name in ran], [], "what ran of what is held")
        # On a busy machine the login service starts meanwhile, and wants to write there, too.
        failed = [name for name in boot.failed() if name != "systemd-logind.service"]
        world.expect.equal(failed, ["skewguard.service"], "systemctl --failed")
        world.expect.equal(((boot.verdict() or {}).get("gate") or {}).get("held"), True, "gate.held in the verdict")
        world.expect.contains(boot.console.text(), ["skewguard: NODE REFUSED"], "the console")
        world.expect.contains(boot.journal_text("-u", "skewguard.service"), ["Read-only file system"], "the journal")
        screen(world.expect, boot, ["NODE REFUSED"])


@scenario("trouble-issue-of-another-group", "/etc/issue has another group and was edited: the unit, which may give no file away, restores it all the same")
def issue_of_another_group(world):
    for node in nodes(world):
        issue = node.root / "etc/issue"
        issue.unlink()
        issue.write_text("banner\n", encoding="ascii")
        os.chown(issue, 0, 5)
        boot = node.boot().settle()
        world.expect.contains(boot.read("/etc/issue") or "", ["NODE REFUSED", "banner"], "/etc/issue of the refused node")
        boot.shell("echo edited >>/etc/issue")
        boot.power_off()
        node.boot("skewguard=off").wait_reboot()
        last = node.boot().settle()
        world.expect.equal(last.read("/etc/issue"), "banner\nedited\n", "/etc/issue of a node that goes on")


@scenario("trouble-late-var", "/var/lib is mounted over after the decision, then `allow`: the node joins, and nothing of the refusal stays")
def late_var(world):
    for node in nodes(world):
        boot = node.boot().settle()
        look(world, node, boot)
        boot.shell("mount -t tmpfs late /var/lib && mkdir -p /var/lib/kubelet /var/lib/systemd")
        boot.machine.run("/usr/bin/skewguard allow")
        goes_on(world, node, boot)


def freeze(node):
    """The first boot of a node that asks for it is frozen for 15 s then."""
    boot = node.boot()
    while not (node.var / "freeze").exists():
        if boot.machine.ended() or time.monotonic() > boot.deadline:
            raise BootError("the node did not come as far as where it is to be frozen")
        time.sleep(0.001)
    boot.machine.freeze(15)
    return boot


@scenario("trouble-frozen", "the machine is frozen for 15 s once the first drop-in is there, and its clocks go on: held; an allowed one goes on")
def frozen(world):
    drop_in = "ls /run/systemd/system/*.d/50-skewguard.conf"
    for node in nodes(world, f'{REAL} "$@" &\n(until {drop_in}; do kill -0 $! || break; done) >/dev/null 2>&1\ntouch /var/freeze\nwait $!'):
        look(world, node, freeze(node).settle())
    # An allowed node has no drop-in: it is frozen as soon as its agent has begun.
    node = next(nodes(world, f'touch /var/freeze\nexec {REAL} "$@"', ALLOWING))
    goes_on(world, node, freeze(node))


STORM = """(for turn in $(seq 30); do
    systemctl --no-block restart kubelet.service crio.service
    systemctl --no-block start machine-config-daemon-firstboot.service firstboot-osupdate.target ovs-configuration.service
    systemctl --no-block reset-failed
    sleep 0.1
done) >/dev/null 2>&1 &
"""


def still_held(world, boot, when, before=()):
    """Refused, and nothing of what is held ran, but what ran before it was held."""
    world.expect.that(boot.exists("/run/skewguard/refused"), f"refused {when}")
    world.expect.that(not boot.succeeds("systemctl start kubelet.service"), f"the start of the kubelet to fail {when}")
    ran = boot.ran()
    world.expect.equal([name for name in HELD_B if name in ran and name not in before], [], f"what ran of what is held {when}")
    world.expect.equal(((boot.verdict() or {}).get("gate") or {}).get("held"), True, f"gate.held in the verdict {when}")


@scenario("trouble-restart-storm", "the kubelet and the rebase are started all the time, while it is decided and afterwards: held")
def restart_storm(world):
    for node in nodes(world, f'[ -e /run/storm ] || {{ touch /run/storm; {STORM}sleep 0.5; }}\nexec {REAL} "$@"'):
        boot = node.boot().settle()
        still_held(world, boot, "after a storm in the decision")
        boot.shell(STORM + "wait")
        still_held(world, boot, "after a storm in the refused boot")


@scenario("trouble-slow-generators", "a generator takes 12 s, in every reload: held")
def slow_generators(world):
    for node in nodes(world):
        program = node.root / "usr/lib/systemd/system-generators/slow"
        program.write_text("#!/bin/sh\nexec sleep 12\n", encoding="ascii")
        program.chmod(0o755)
        look(world, node, node.boot().settle())


@scenario("trouble-ten-reboots", "a refused node is booted ten times: refused each time, with one message and the same files")
def ten_reboots(world):
    node = world.node(policy=policy())
    files = "cd /var/lib/skewguard && ls -A; grep -c 'NODE REFUSED' /etc/issue"
    before = None
    for _ in range(10):
        boot = node.boot().settle()
        still_held(world, boot, f"in boot {boot.number}")
        found = boot.shell(files)
        world.expect.equal(found, before or found, f"the files in boot {boot.number}")
        before = found
        boot.power_off()
    world.expect.equal(before.split()[-1], "1", "messages on /etc/issue")


def reported(world, boot, words):
    """skewguard-report.service, which looks every 30 s, has said this once."""
    said = f"journalctl --sync; journalctl -b -u skewguard-report.service -o cat | grep -cF '{words}'"
    boot.shell(f"for n in $(seq 80); do [ \"$({said})\" = 0 ] || break; sleep 1; done", timeout=120)
    world.expect.equal(boot.shell(f"{said} || true").strip(), "1", f"lines of the report: {words!r}")


@scenario("trouble-revert", "systemctl revert of held units: held again, and said; an admin's own drop-in in place of ours stands, and is said once")
def revert(world):
    for node in nodes(world):
        boot = node.boot().settle()
        still_held(world, boot, "at first")
        boot.shell("systemctl revert kubelet.service ovs-configuration.service; ! systemctl cat kubelet.service | grep -q skewguard.service")
        reported(world, boot, "drop-ins that hold this node were removed, as systemctl revert does: held again")
        still_held(world, boot, "after the revert")
        world.expect.that(not boot.succeeds("systemctl start ovs-configuration.service"), "ovs-configuration.service held again")
        boot.shell(f"mkdir -p {ETC}/ovs-configuration.service.d; echo '[Unit]' > {ETC}/ovs-configuration.service.d/50-skewguard.conf; systemctl daemon-reload")
        words = f"ovs-configuration.service is no longer held: {ETC}/ovs-configuration.service.d/50-skewguard.conf replaces"
        reported(world, boot, words)
        time.sleep(32)
        reported(world, boot, words)
        world.expect.that(boot.succeeds("systemctl start --job-mode=ignore-dependencies ovs-configuration.service"), "what the admin let go to start")
        status = boot.machine.run("/usr/bin/skewguard status")
        world.expect.equal(status[0], 3, "the exit status of status")
        world.expect.contains(status[1], ["not held    ovs-configuration.service: /etc/systemd/system/"], "status")
        still_held(world, boot, "beside what the admin let go", ["ovs-configuration.service"])


ETC = "/etc/systemd/system"
# Whatever an admin's units do: all of it starts what is held, again and again. The last one waits for the kubelet, and nobody has loaded it.
STARTERS = {
    f"{ETC}/again-kubelet.path": "[Path]\nPathExists=/etc/machine-id\nUnit=kubelet.service\n",
    f"{ETC}/again-firstboot.path": "[Path]\nPathExists=/etc/machine-id\nUnit=machine-config-daemon-firstboot.service\n",
    f"{ETC}/again-ovs.path": "[Path]\nPathExists=/etc/machine-id\nUnit=ovs-configuration.service\n",
    f"{ETC}/multi-user.target.d/again.conf":
        "[Unit]\nWants=again-kubelet.path again-firstboot.path again-ovs.path\nUpholds=kubelet.service\n",
    f"{ETC}/never-loaded.service": "[Unit]\nAfter=kubelet.service\n[Service]\nExecStart=/usr/bin/true\n",
}


def ordered(after, more=""):
    """A unit file of an admin, which leaves a file behind where it ran."""
    return f"[Unit]\nAfter={after}\n[Service]\nType=oneshot\nExecStart=/usr/bin/touch /run/ran-%N\n{more}"


# Units of an admin that come after the rebase. The first two cannot be held.
ADMINS = {
    f"{ETC}/overruled.service": ordered("firstboot-osupdate.target"),
    f"{ETC}/overruled.service.d/50-skewguard.conf": "[Unit]\n",
    f"{ETC}/in-the-way.service": ordered("firstboot-osupdate.target"),
    "/etc/tmpfiles.d/in-the-way.conf": "d /run/systemd/system 0755 root root\nf /run/systemd/system/in-the-way.service.d 0644 root root - x\n",
    f"{ETC}/admins.socket": "[Unit]\nDefaultDependencies=no\nAfter=firstboot-osupdate.target\n[Socket]\nListenStream=/run/admins.socket\n",
    f"{ETC}/admins.service": ordered("basic.target"),
    f"{ETC}/after-the-socket.service": ordered("admins.socket"),
    f"{ETC}/repair.service": ordered("basic.target"),
    f"{ETC}/kubelet.service.d/10-on-failure.conf": "[Unit]\nOnFailure=repair.service\n",
    f"{ETC}/multi-user.target.d/admins.conf":
        "[Unit]\nWants=overruled.service in-the-way.service admins.socket after-the-socket.service\n",
}


@scenario("trouble-units-of-an-admin", "units that come after the rebase, two of which cannot be held: held all the same, and said; allow lets the node through")
def units_of_an_admin(world):
    expect = world.expect
    for image, target in EACH:
        node = world.node(image=image.name, target=target.name, policy=policy(rhelMajors=[11]), files=ADMINS)
        generator = node.root / "usr/lib/systemd/system-generators/quadlet"
        generator.write_text(f"#!/bin/sh\ncat >\"$1/web.service\" <<'END'\n{ordered('ovs-configuration.service')}END\n", encoding="ascii")
        generator.chmod(0o755)
        boot = node.boot().settle()
        still_held(world, boot, "beside an admin's units")
        gate = (boot.verdict() or {}).get("gate") or {}
        expect.contains(gate.get("error") or "", [
            "/run/systemd/system/in-the-way.service.d/50-skewguard.conf: Not a directory",
            f"overruled.service is not held: {ETC}/overruled.service.d/50-skewguard.conf replaces the drop-in of skewguard"], "gate.error in the verdict")
        expect.contains(boot.console.text(), ["In doubt:"], "the console")
        for name in ("after-the-socket.service", "repair.service", "web.service"):
            expect.that(name in gate.get("units", []), f"{name} among the held units", gate.get("units"))
            expect.that(not boot.succeeds(f"systemctl start {name}"), f"the start of {name} to fail")
        ran = boot.shell("cd /run; ls -d ran-* || true").split()
        expect.equal([name for name in ran if name not in ("ran-overruled", "ran-in-the-way")], [], "what ran of the admin's units")
        boot.machine.run("/usr/bin/skewguard allow >/var/allowed 2>&1; sync")
        goes_on(world, node, boot)
        expect.contains((node.var / "allowed").read_text(encoding="utf-8"), ["in doubt: ", "overruled.service would start without the OS update"], "allow")
        node.close()


# As Fedora CoreOS documents it ("Adding OS extensions to the host system"): at the first boot, and then a reboot. What stands in for rpm-ostree makes
# another commit on the booted one, with the same base; the files are the same.
INSTALLING = {
    f"{ETC}/install-tools.service":
        "[Unit]\nConditionPathExists=!/var/lib/%N.stamp\n[Service]\nType=oneshot\nExecStart=/bin/sh /etc/stand-in/rpm-ostree install strace\n"
        "ExecStart=/bin/touch /var/lib/%N.stamp\nExecStart=/bin/systemctl --no-block reboot\n",
    f"{ETC}/multi-user.target.d/install-tools.conf": "[Unit]\nWants=install-tools.service\n",
    "/etc/stand-in/rpm-ostree": """set -eu
booted=/sysroot$(sed -n 's/.*\\bostree=\\([^ ]*\\).*/\\1/p' /proc/cmdline)
old=$(readlink "$booted") commit=$(printf '1ace%.0s' $(seq 16))
cd "$(dirname "$(readlink -f "$booted")")"
ln -s "${old##*/}" "$commit.0"
{ sed 's/^refspec=/base&/' "${old##*/}.origin"; printf '\\n[packages]\\nrequested=strace;\\n'; } >"$commit.0.origin"
ln -sfn "${old%/*}/$commit.0" "$booted"
""",
}


@scenario("trouble-package-of-an-admin", "a unit that installs a package at the first boot and reboots: refused before and after, and allow lets the node through")
def package_of_an_admin(world):
    for image, target in EACH:
        node = world.node(image=image.name, target=target.name, policy=policy(rhelMajors=[11]), files=INSTALLING)
        node.boot().wait_reboot()
        boot = node.boot().settle()
        world.expect.contains(boot.shell("readlink /sysroot/ostree/boot.?/rhcos/*/*"), ["/1ace1ace"], "the deployment of this boot")
        look(world, node, boot)
        boot.machine.run("/usr/bin/skewguard allow")
        goes_on(world, node, boot)
        node.close()


@scenario("trouble-starting-units", "path units and Upholds= start what is held, again and again: login, ssh and the report come up, and enforce runs once")
def starting_units(world):
    expect = world.expect
    for image, target in EACH:
        node = world.node(image=image.name, target=target.name, policy=policy(rhelMajors=[11]), files=STARTERS)
        boot = node.boot()
        if not expect.that(boot.console.wait_for(LOGIN, boot.deadline), "a login prompt"):
            continue
        still_held(world, boot, "while units start what is held")
        runs = [line for line in boot.journal_text("_PID=1").splitlines() if "Starting" in line and "Check the boot image" in line and "asserts" not in line]
        expect.equal(len(runs), 1, "runs of enforce")
        expect.that(not boot.exists("/run/nologin"), "logins to be let in")
        for unit in ("systemd-user-sessions.service", "sshd.service", "skewguard-report.service"):
            expect.equal(boot.property(unit, "ActiveState"), "active", unit)
        boot.machine.run("/usr/bin/skewguard allow")
        boot.wait_reboot()
        node.close()


@scenario("trouble-clock-killed", "timeout(1) is killed in the decision: held, or the node goes on, and its rebase is not interrupted")
def clock_killed(world):
    for pause in ("0", "0.03"):
        for node in nodes(world, f'clock=$PPID\n(sleep {pause}; kill -KILL $clock) &\nexec {REAL} "$@"'):
            boot = node.boot()
            while not boot.machine.ended() and not (boot.console.wait_for(LOGIN, time.monotonic() + 0.5) and boot.exists("/run/skewguard/refused")):
                if time.monotonic() > boot.deadline:
                    raise BootError("neither refused nor rebased")
            if boot.machine.ended():
                goes_on(world, node, boot)
            else:
                still_held(world, boot.settle(), f"after {pause} s without a clock")


def refused_whole(world, boot, when):
    """Still held, and its message is whole, once, above what was on /etc/issue."""
    still_held(world, boot, when)
    issue = boot.read("/etc/issue") or ""
    world.expect.equal(issue.count("NODE REFUSED"), 1, f"messages on /etc/issue {when}")
    world.expect.that(issue.endswith("\\S \\S{VERSION_ID}\n"), f"what was on /etc/issue before below the message {when}", issue)


@scenario("trouble-power-cuts", "the power fails in the decision, and in `allow`: the next boot is refused, or goes on whole")
def power_cuts(world):
    for pause in (0, 0.02, 0.06):
        node = world.node(policy=policy())
        program = node.root / AGENT
        shutil.copy(program, node.root / REAL[1:])
        script(f'touch /var/decides\nexec {REAL} "$@"')(program)
        boot = node.boot()
        while not (node.var / "decides").exists():
            if boot.machine.ended() or time.monotonic() > boot.deadline:
                raise BootError("no decision on the node")
            time.sleep(0.001)
        time.sleep(pause)
        boot.machine.kill()
        refused_whole(world, node.boot().settle(), f"after a power cut {pause} s into the decision")
        node.close()
    node = world.node(policy=policy())
    boot = node.boot().settle()
    # The MCO stages its OS, renames the config, and reboots. A power cut before the reboot loses what was staged, with skewguard and without.
    rebase_lost = f'test ! -e {CONFIG} && ! grep -q "^$(cat {BOOT_ID}) .* rebase$" /var/log/stand-ins'
    for pause in (0.01, 0.04, 0.2):
        boot.shell("systemd-run --no-block /usr/bin/skewguard allow")
        time.sleep(pause)
        boot.machine.kill()
        boot = node.boot()
        while not boot.machine.ended() and not (boot.console.wait_for(LOGIN, time.monotonic() + 0.5) and boot.exists("/run/skewguard/refused")):
            if boot.succeeds(rebase_lost):
                return joined(world, node, boot.settle(), node.setup.image)
            if time.monotonic() > boot.deadline:
                raise BootError("neither refused nor rebased")
        if boot.machine.ended():
            break
        refused_whole(world, boot.settle(), f"after a power cut {pause} s into allow")
    else:
        boot.shell("/usr/bin/skewguard allow")
    return goes_on(world, node, boot)


@scenario("trouble-soft-reboot", "systemctl soft-reboot of a refused node (systemd 257), where /run stays: still refused, and still a failed unit")
def soft_reboot(world):
    node = world.node(image="rhel10-boot", target="rhel10-target", policy=policy(rhelMajors=[11]))
    boot = node.boot().settle()
    look(world, node, boot)
    boot.shell("systemd-run --unit=before --property=RemainAfterExit=yes /usr/bin/true; systemctl is-active before.service")
    boot.machine.run("systemctl --no-block soft-reboot")
    # What is asked on the way is killed with everything else, or finds nobody. Only a manager that has started anew says both.
    while boot.machine.run("systemctl is-active before.service; systemctl is-system-running")[1].split() not in (["inactive", "running"], ["inactive", "degraded"]):
        if time.monotonic() > boot.deadline:
            raise BootError("no soft reboot")
        time.sleep(0.5)
    # What the harness mounts, /sysroot for one, is gone. So this is where it ends.
    still_held(world, boot, "after the soft reboot")
    world.expect.equal(boot.failed(), ["skewguard.service"], "systemctl --failed after the soft reboot")

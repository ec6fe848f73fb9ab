"""The harness and the stand-in node themselves: without skewguard a node does what it does today."""

import os
import platform
import subprocess
import sys
import time
from pathlib import Path

from .. import accelerator, agent, qemu, root_tree
from ..paths import HARNESS, PROJECT
from ..scenario import scenario
from ..stand_in import NEXT, TARGET


def without_agent(world, wiring, target):
    """The first boot rebases and reboots, the second starts the kubelet."""
    expect = world.expect
    node = world.node(delivery=None, wiring=wiring, target=target.name)
    first = node.boot()
    first.wait_reboot()
    second = node.boot().settle()
    notes = [line.split() for line in second.read("/var/log/stand-ins").splitlines()]
    first_ran = [note[2] for note in notes if note[0] == notes[0][0]]
    expect.contains(" ".join(first_ran), ["machine-config-daemon-pull.service", "rebase"], "the first boot")
    expect.that("kubelet.service" not in first_ran, "no kubelet in the first boot", first_ran)
    expect.contains(" ".join(second.ran()), ["nodeip-configuration.service", "crio.service", "kubelet.service"],
                    "the second boot")
    expect.that("rebase" not in second.ran(), "one rebase", second.ran())
    expect.that("ovs-configuration.service" in second.ran(), "the network set up", second.ran())
    expect.equal(second.failed(), [], "failed units of the second boot")


@scenario("node-wiring-a", "the stand-in node, wiring A, without skewguard")
def wiring_a(world):
    without_agent(world, "a", TARGET)


@scenario("node-wiring-b", "the stand-in node, wiring B, without skewguard, into the next RHEL: systemd 252 to 257")
def wiring_b(world):
    without_agent(world, "b", NEXT)


def processes_of_nodes():
    """What runs in a namespace below this one, by name."""
    found = []
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            fields = dict(line.split(":", 1) for line in status.read_text(encoding="ascii", errors="replace").splitlines())
        except OSError:
            continue
        if len(fields["NSpid"].split()) > 1:
            found.append(fields["Name"].strip())
    return found


# A kubelet's start has an id of its own.
ASK = "systemctl show --value --property=InvocationID kubelet.service"


@scenario("node-loses-power", "a node that is killed is gone, whole; the next boot is the one that answers")
def loses_power(world):
    node = world.node(delivery=None)
    node.boot().wait_reboot()
    first = node.boot().settle()
    was = first.shell(ASK)
    first.machine.kill()
    world.expect.equal(processes_of_nodes(), [], "what still runs of a node without power")
    second = node.boot().settle()
    now = second.shell(ASK)
    world.expect.that(now != was, "another boot to answer", now)
    # In the middle of a start, too.
    third = world.node(delivery=None).boot()
    time.sleep(0.2)
    third.machine.kill()
    # And where an answer was waited for no longer, by a shell that nobody has asked to end.
    try:
        second.shell("sleep 1000", timeout=1)
    except subprocess.TimeoutExpired:
        second.machine.kill()
    world.expect.equal(processes_of_nodes(), [], "what still runs of two nodes without power")


def stand_in_qemu(world, small, machine):
    """A qemu-system-x86_64 that does `small` for the small guest with KVM, `machine` for a machine with KVM, and boots at once without KVM."""
    folder = world.folder / "bin"
    folder.mkdir(exist_ok=True)
    program = folder / "qemu-system-x86_64"
    calls = world.folder / "calls"
    calls.unlink(missing_ok=True)
    program.write_text(f"""#!/bin/sh
case "$*" in
*"-accel kvm"*isa-debug-exit*) echo small >>{calls}; {small} ;;
*"-accel kvm"*) echo kvm >>{calls}; {machine} ;;
*) echo tcg >>{calls} ;;
esac
echo Booted
exec sleep infinity
""", encoding="ascii")
    program.chmod(0o755)
    return lambda: calls.read_text(encoding="ascii").split()


@scenario("kvm-or-not", "KVM that hangs, aborts or only seems to work: the small guest finds out, or the first machine does, which is repeated without")
def kvm_or_not(world):
    expect = world.expect
    os.environ["PATH"] = f"{world.folder}/bin:{os.environ['PATH']}"
    # Something that can be opened; and less patience than a slow machine gets.
    accelerator.DEVICE, accelerator.PROBE, qemu.SILENCE = "/dev/null", 2, 2
    hangs, aborts, fails, works = "exec sleep infinity", "kill -ABRT $$", "echo no such processor >&2; exit 1", "exit 33"
    for what, small, machine, wanted in (
            ("hangs", hangs, works, ["small", "tcg", "tcg"]),
            ("aborts", aborts, works, ["small", "tcg", "tcg"]),
            ("fails", fails, works, ["small", "tcg", "tcg"]),
            ("works", works, "", ["small", "kvm", "kvm"]),
            ("hangs a machine", works, hangs, ["small", "kvm", "tcg", "tcg"]),
            ("aborts a machine", works, aborts, ["small", "kvm", "tcg", "tcg"])):
        calls = stand_in_qemu(world, small, machine)
        os.environ.pop(accelerator.VARIABLE, None)
        for _ in range(2):
            node = qemu.Machine([], world.folder)
            expect.that(node.console.wait_for("Booted", time.monotonic() + 20) is not None, f"a boot where KVM {what}", node.console.text())
            node.kill()
        expect.equal(calls(), wanted, f"what QEMU was started for, where KVM {what}")
    # Where there is no KVM, nothing is tried.
    accelerator.DEVICE = "/dev/no-such-device"
    calls = stand_in_qemu(world, works, works)
    os.environ.pop(accelerator.VARIABLE)
    expect.equal(accelerator.accelerator(), "tcg", "without KVM")


def tree_for(folder, machine):
    """A root tree with nothing but a systemd for this machine (ELF's number)."""
    program = folder / "usr/lib/systemd/systemd"
    program.parent.mkdir(parents=True)
    program.write_bytes(b"\x7fELF\x02\x01" + bytes(12) + machine.to_bytes(2, "little"))
    return folder


def without(folder, *programs):
    """A PATH that has every program of this machine but these."""
    place = folder / f"without-{programs[0]}"
    place.mkdir()
    for path in (path for part in os.environ["PATH"].split(":") if Path(part).is_dir() for path in Path(part).iterdir()):
        if path.name not in programs and not (place / path.name).is_symlink():
            (place / path.name).symlink_to(path)
    return str(place)


@scenario("wrong-input", "a tree without systemd, for another machine, without programs, or none at all; unknown names, a missing tool, two runs at once: "
          "one sentence, and nothing stays")
def wrong_input(world):
    folder = world.folder
    empty, page = folder / "empty", PROJECT / "README.md"
    empty.mkdir()
    foreign, hollow = tree_for(folder / "foreign", 22), tree_for(folder / "hollow", root_tree.number())
    packed = folder / "foreign.tar"
    subprocess.run(["tar", "--create", f"--file={packed}", f"--directory={foreign}", "."], check=True)
    before = Path("/proc/mounts").read_text(encoding="ascii")
    # Of its own, but where the run that plays this is to be met.
    own = {"CARGO_TARGET_DIR": str(folder / "target"), "SKEWGUARD_BOOT_CACHE": str(folder / "cache")}
    boot, dist, tests = ([sys.executable, str(HARNESS / "run")], [str(PROJECT / "tests/dist/run")], [str(PROJECT / "tests/run")])
    for words, more, status, said in (
            ([*boot, "--tree", str(folder / "none")], own, 2, f"{folder}/none is not there"),
            ([*boot, "--tree", str(empty)], own, 2, f"{empty} has no systemd: usr/lib/systemd/systemd is not in it"),
            ([*boot, "--tree", str(page)], own, 2, f"{page} is neither a folder nor a tar archive that can be read"),
            ([*boot, "--tree", str(foreign)], own, 2, f"{foreign} is a tree for s390x; this machine is {platform.machine()}"),
            ([*boot, "--tree", str(packed)], own, 2, f"{packed} is a tree for s390x; this machine is {platform.machine()}"),
            ([*boot, "--scenario", "tree-*"], {**own, root_tree.VARIABLE: str(foreign)}, 2, f"{foreign} is a tree for s390x; "),
            ([*boot, "--scenario", "tree-*"], {**own, root_tree.VARIABLE: str(empty)}, 2, f"{empty} has no systemd: "),
            ([*boot, "--tree", str(hollow)], own, 1, f"{hollow} lacks agetty, bash, busctl, "),
            ([*boot, "--tree", str(empty), "--scenario", "nothing"], own, 2, "no scenario called tree-nothing; --list shows all"),
            ([*boot, "--tier", "full", "--scenario", "warn"], own, 2, "none of these scenarios is in the tier full"),
            ([*boot, "--scenario", "warn"], {**own, agent.GIVEN: str(folder / "none")}, 2, f"{folder}/none: no such file\n"),
            ([*boot, "--scenario", "warn"], {**own, "PATH": without(folder, "systemd-nspawn", "ostree")}, 1,
             "missing: systemd-nspawn, ostree; apt-get install --no-install-recommends ostree systemd-container\n"),
            ([*boot, "--scenario", "warn"], {"SKEWGUARD_BOOT_CACHE": own["SKEWGUARD_BOOT_CACHE"]}, 1, "another tests/boot/run is at work in "),
            ([*dist, "nonsense"], own, 2, "tests/dist/run: no such part: nonsense; tests/dist/run --help lists them\n"),
            ([*dist, "image"], {**own, "PATH": without(folder, "buildah", "groff")}, 1, "missing: buildah (Debian: buildah); tests/setup dist installs it\n"),
            ([*tests, "nonsense"], own, 2, "tests/run: no such tier: nonsense; tests/run --help lists them\n"),
            ([*tests, "full"], own, 2, "tests/run: no such tier: full; tests/run --help lists them\n")):
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, env={**os.environ, **more})
        world.expect.equal(done.returncode, status, f"exit status of {words[-3:]}")
        world.expect.that(done.stderr.startswith(said) and done.stderr.count("\n") == 1, f"{said!r}, and no more", done.stderr)
    world.expect.equal(Path("/proc/mounts").read_text(encoding="ascii"), before, "what is mounted")
    world.expect.equal(processes_of_nodes(), [], "what runs")
    world.expect.equal(list((folder / "cache").glob("[!.]*")), [], "what is kept of a tree that was refused")

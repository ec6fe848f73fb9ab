"""The command line of the boot tests."""

import argparse
import fcntl
import fnmatch
import os
import signal
import sys

from . import agent, junit, root_tree, tools
from .bootdisk import boot_image
from .cache import Cache
from .paths import CACHE, RESULTS, TARGET
from .pool import play_all
from .progress import Step, say
from .scenario import FEW, MORE, TIERS, all_scenarios
from .stand_in import TREE
from .sysroot import sysroot
from .trees import BuildError

DESCRIPTION = """\
Boots nodes and looks at what skewguard does to them.

The boot images are built from Debian packages on the first run (about two minutes, kept in
target/boot-cache): systemd 252 and 257, an ostree layout, an aleph file, the units of an
OpenShift node under their real names and with their real ordering. Everything that decides the
outcome is real: systemd, D-Bus, journald, agetty, Ignition.

The scenarios called tree-... are played on the tree that --tree names, such as `podman export` of RHEL 8's UBI init image;
without one on Debian bullseye, with systemd 247.

  few    what tests/run plays before a pull request: sixteen of fast
  fast   Ignition against a folder, then systemd-nspawn: all scenarios, a few seconds each
  graphs the units of every release on every platform (tests/data/mco-units.tsv) as in fast, which has the ten
         releases and three platforms that matter most; and the tests of tests/kola that fast has not
  full   QEMU: kernel, Ignition in the initramfs, fw_cfg, config over HTTP, serial console, SELinux; what takes some
         minutes more only with --tier full or by name: full-power-cuts

A scenario that fails is played once more, since the machine may have been too busy. The last lines name it
either way, and say what was wrong.

With --image the same check is made on a real image: see docs/ci.md.
"""
EPILOG = """\
Exit status: 0 everything as expected; 1 something was not, or a tool is missing; 2 wrong usage.

Environment: SKEWGUARD_BOOT_BINARY  test this static binary instead of building one
             SKEWGUARD_BOOT_MIRROR  Debian mirror (http://deb.debian.org/debian)
             SKEWGUARD_BOOT_CACHE   where boot images are kept (target/boot-cache)
             SKEWGUARD_BOOT_ACCELERATOR  kvm or tcg, for QEMU (kvm where a guest really runs with it)
             SKEWGUARD_BOOT_LATENCIES  refused nodes that the scenario latency boots, of each systemd (1)
             SKEWGUARD_EL8_TREE     the tree of the scenarios tree-..., as --tree
Results:     target/boot-results/SCENARIO/: result.json, consoles, screenshots
"""


def parser():
    """The argument parser."""
    arguments = argparse.ArgumentParser(prog="tests/boot/run", description=DESCRIPTION, epilog=EPILOG,
                                        formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--tier", choices=["few", *TIERS, "all", MORE], default="all", help="which scenarios (default: all, which is fast and full)")
    arguments.add_argument("--scenario", metavar="NAME", action="append", help="only this one, or those that match (gate-*); may be repeated")
    arguments.add_argument("--list", action="store_true", help="list the scenarios and end")
    arguments.add_argument("--build", action="store_true", help="build the boot images, and end")
    arguments.add_argument("--keep", action="store_true", help="keep the nodes' disks in target/boot-results")
    arguments.add_argument("--junit", metavar="FILE", help="write the results as JUnit XML")
    arguments.add_argument("--tree", metavar="DIR|TAR", help="play the scenarios tree-... on this root tree, a folder or a tar archive; it is not changed")
    image = arguments.add_argument_group("a real image")
    image.add_argument("--image", metavar="FILE.qcow2", help="boot this RHCOS or FCOS image, packed by gzip or xz or not; it is not changed")
    image.add_argument("--ignition", metavar="FILE", help="Ignition config for it, through fw_cfg")
    image.add_argument("--expect", choices=["refused", "allowed"], default="refused",
                       help="what must happen (default: refused)")
    image.add_argument("--timeout", metavar="SECONDS", type=int, default=600, help="until then (default: 600)")
    arguments.add_argument("--worker", metavar="NAME", help=argparse.SUPPRESS)
    return arguments


def main(words=None):
    """Runs the command line; returns the exit status."""
    options = parser().parse_args(words)
    if options.worker:
        from .worker import play  # pylint: disable=import-outside-toplevel

        return 0 if play(options.worker) else 1
    # A CI job that is cancelled: what was started is stopped first.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    scenarios = all_scenarios()
    if options.list:
        for scenario in scenarios:
            print(f"{scenario.tier}  {scenario.name:34} {scenario.summary}")
        return 0
    if options.tree:
        os.environ[root_tree.VARIABLE] = os.path.abspath(options.tree)
    chosen = _choose(options, scenarios)
    if chosen is None:
        return 2
    wrong = _unfit(options, chosen)
    if wrong:
        print(wrong, file=sys.stderr)
        return 2
    lacking = tools.missing({"image"} if options.image else {scenario.tier for scenario in chosen}, options.tier == "few")
    if lacking:
        print("\n".join(lacking), file=sys.stderr)
        return 1
    alone = options.build or _alone()
    if not alone:
        print(f"another tests/boot/run is at work in {TARGET}: wait until it ends, or set CARGO_TARGET_DIR", file=sys.stderr)
        return 1
    if options.image:
        from . import realimage  # pylint: disable=import-outside-toplevel

        results = [realimage.check(options)]
    else:
        try:
            _prepare(chosen)
            if options.build:
                return 0
            with Step("building the agent"):
                agent.build(options.tier == "few")
        except BuildError as error:
            print(error, file=sys.stderr)
            return 1
        results = play_all(chosen, options.keep)
    if options.junit:
        junit.write(options.junit, "skewguard boot", results)
    return _summary(results)


def _alone():
    """The lock on TARGET, where results and binaries are, until this process ends; None where another run has it."""
    TARGET.mkdir(parents=True, exist_ok=True)
    lock = open(TARGET / ".boot.lock", "w", encoding="ascii")  # pylint: disable=consider-using-with
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return None
    return lock


def _unfit(options, chosen):
    """What is wrong with a file that a person named; None where nothing is."""
    for file in (options.image, options.ignition, os.environ.get(agent.GIVEN)):
        if file and not os.path.isfile(file):
            return f"{file}: no such file"
    if options.image:
        from . import realimage  # pylint: disable=import-outside-toplevel

        name, why = options.image, realimage.unfit(options.image)
    else:
        on_tree = any(scenario.name.startswith(TREE) for scenario in chosen)
        name = root_tree.given() if on_tree else None
        why = root_tree.unfit(name) if name else None
    return f"{name} {why}" if why else None


def _choose(options, scenarios):
    patterns = options.scenario or (FEW if options.tier == "few" and not options.tree else ["*"])
    if options.tree:
        patterns = [pattern if pattern.startswith(TREE) else TREE + pattern for pattern in patterns]
    names = [scenario.name for scenario in scenarios]
    unknown = [pattern for pattern in patterns if not fnmatch.filter(names, pattern)]
    if unknown:
        print(f"no scenario called {', '.join(unknown)}; --list shows all", file=sys.stderr)
        return None
    tiers = {"all": [*TIERS, MORE] if options.scenario else TIERS, "few": ["fast"]}.get(options.tier, [options.tier])
    # In the order of the patterns, each once.
    matching = [scenario for pattern in patterns for scenario in scenarios if fnmatch.fnmatchcase(scenario.name, pattern)]
    chosen = [scenario for scenario in dict.fromkeys(matching) if scenario.tier in tiers
              and (options.scenario or not scenario.asked or options.tier == scenario.tier)]
    if not chosen:
        print(f"none of these scenarios is in the tier {options.tier}", file=sys.stderr)
    return chosen or None


def _prepare(chosen):
    # cgroup clean-up and nspawn both want a umask that lets services read what is written.
    os.umask(0o022)
    cache = Cache(CACHE)
    on_tree = [scenario for scenario in chosen if scenario.name.startswith(TREE)]
    if len(on_tree) < len(chosen):
        sysroot(cache)
    if any(scenario.tier == "full" for scenario in chosen):
        boot_image(cache)
    if on_tree:
        say(f"tree: {root_tree.versions(root_tree.tree(cache))}")
        sysroot(cache, "rhel8-boot")


def _summary(results):
    failed = [result["name"] for result in results if result["failure"]]
    boots = sum(result["boots"] for result in results)
    checks = sum(result["checks"] for result in results)
    say(f"{len(results) - len(failed)} of {len(results)} as expected; {boots} boots, {checks} checks; "
        f"details in {RESULTS}")
    for result in results:
        wrong = result["failure"] or result.get("first")
        if wrong:
            say(f"{'FAILED' if result['failure'] else 'PASSED AT THE SECOND TRY'}: {result['name']}: {wrong[:3000]}")
    return 1 if failed else 0

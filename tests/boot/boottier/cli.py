"""The command line of the boot tests."""

import argparse
import fnmatch
import os
import signal
import sys

from . import agent, apiserver, el8, junit, tools
from .bootdisk import boot_image
from .cache import Cache
from .paths import CACHE, RESULTS
from .pool import play_all
from .progress import Step, say
from .scenario import MORE, TIERS, all_scenarios
from .stand_in import EL8
from .sysroot import qemu_disk, sysroot
from .trees import BuildError

DESCRIPTION = """\
Boots nodes and looks at what skewguard does to them.

The boot images are built from Debian packages on the first run (about two minutes, kept in
target/boot-cache): systemd 252 and 257, an ostree layout, an aleph file, the units of an
OpenShift node under their real names and with their real ordering. Everything that decides the
outcome is real: systemd, D-Bus, journald, agetty, Ignition.

Beside these el8, a RHEL 8 stand-in with systemd 239, compiled from the archives of SKEWGUARD_EL8_SOURCES: without
them its scenarios, called el8-..., are left out, and the last line says so.

  fast   Ignition against a folder, then systemd-nspawn: all scenarios, a few seconds each
  graphs the units of every release on every platform (tests/data/mco-units.tsv) as in fast, which has the ten
         releases and three platforms that matter most
  full   QEMU: kernel, Ignition in the initramfs, fw_cfg, config over HTTP, serial console, SELinux; what takes some
         minutes more only with --tier full or by name: el8, and full-power-cuts

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
             SKEWGUARD_BOOT_LATENCIES  refused nodes that the scenarios latency and el8-latency boot, of each systemd (1)
             SKEWGUARD_EL8_SOURCES  folder with the archives that el8 is compiled from (docs/dev/boot-tests.md)
             SKEWGUARD_EL8_STATE    its systemd: 8.6 (the default) or 8.0, a RHEL release
Results:     target/boot-results/SCENARIO/: result.json, consoles, screenshots
"""


def parser():
    """The argument parser."""
    arguments = argparse.ArgumentParser(prog="tests/boot/run", description=DESCRIPTION, epilog=EPILOG,
                                        formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--tier", choices=[*TIERS, "all", MORE], default="all", help="which scenarios (default: all, which is fast and full)")
    arguments.add_argument("--scenario", metavar="NAME", action="append", help="only this one, or those that match (el8-*); may be repeated")
    arguments.add_argument("--list", action="store_true", help="list the scenarios and end")
    arguments.add_argument("--build", action="store_true", help="build the boot images, and end")
    arguments.add_argument("--require-el8", action="store_true", help="fail where SKEWGUARD_EL8_SOURCES is not set")
    arguments.add_argument("--keep", action="store_true", help="keep the nodes' disks in target/boot-results")
    arguments.add_argument("--junit", metavar="FILE", help="write the results as JUnit XML")
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
    if options.require_el8 and el8.sources() is None:
        print("--require-el8: SKEWGUARD_EL8_SOURCES is not set (docs/dev/boot-tests.md)", file=sys.stderr)
        return 1
    chosen = _choose(options, scenarios)
    if chosen is None:
        return 2
    lacking = tools.missing({"image"} if options.image else {scenario.tier for scenario in chosen})
    if lacking:
        print("\n".join(lacking), file=sys.stderr)
        return 1
    for file in (options.image, options.ignition):
        if file and not os.path.isfile(file):
            print(f"{file}: no such file", file=sys.stderr)
            return 2
    if options.image:
        from . import realimage  # pylint: disable=import-outside-toplevel

        why = realimage.unfit(options.image)
        if why:
            print(f"{options.image} {why}", file=sys.stderr)
            return 2
        results = [realimage.check(options)]
    else:
        try:
            _prepare(chosen)
            if options.build:
                return 0
            with Step("building the agent"):
                agent.build()
                apiserver.build()
        except BuildError as error:
            print(error, file=sys.stderr)
            return 1
        results = play_all(chosen, options.keep)
    if options.junit:
        junit.write(options.junit, "skewguard boot", results)
    return _summary(results, without_el8=not options.image and not options.scenario and el8.sources() is None)


def _choose(options, scenarios):
    names = [scenario.name for scenario in scenarios]
    if not options.scenario:
        scenarios = [scenario for scenario in scenarios if (el8.sources() is not None or not scenario.name.startswith(EL8))
                     and (not scenario.asked or options.tier == scenario.tier)]
    patterns = options.scenario or ["*"]
    unknown = [pattern for pattern in patterns if not fnmatch.filter(names, pattern)]
    if unknown:
        print(f"no scenario called {', '.join(unknown)}; --list shows all", file=sys.stderr)
        return None
    tiers = [options.tier] if options.tier != "all" else [*TIERS, MORE] if options.scenario else TIERS
    return [scenario for scenario in scenarios if scenario.tier in tiers
            and any(fnmatch.fnmatchcase(scenario.name, pattern) for pattern in patterns)]


def _prepare(chosen):
    # cgroup clean-up and nspawn both want a umask that lets services read what is written.
    os.umask(0o022)
    cache = Cache(CACHE)
    on_el8 = {scenario.tier for scenario in chosen if scenario.name.startswith(EL8)}
    others = {scenario.tier for scenario in chosen if not scenario.name.startswith(EL8)}
    if others:
        sysroot(cache)
    if "full" in others:
        boot_image(cache)
    if on_el8:
        sysroot(cache, "rhel8-boot")
    if "full" in on_el8:
        qemu_disk(cache, "rhel8-boot")


def _summary(results, without_el8):
    failed = [result["name"] for result in results if result["failure"]]
    boots = sum(result["boots"] for result in results)
    checks = sum(result["checks"] for result in results)
    say(f"{len(results) - len(failed)} of {len(results)} as expected; {boots} boots, {checks} checks; "
        f"details in {RESULTS}")
    for result in results:
        wrong = result["failure"] or result.get("first")
        if wrong:
            say(f"{'FAILED' if result['failure'] else 'PASSED AT THE SECOND TRY'}: {result['name']}: {wrong[:3000]}")
    if without_el8:
        say("el8 (systemd 239, RHEL 8) NOT RUN: SKEWGUARD_EL8_SOURCES is not set (docs/dev/boot-tests.md)")
    return 1 if failed else 0

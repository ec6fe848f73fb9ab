"""The external tests for kola, tests/kola: their configs by the real Ignition, their test.sh on a node, as kola runs it; and what kola reads of them."""

import json
import os
import subprocess
import sys

import yaml

from .. import agent
from ..paths import PROJECT
from ..scenario import MORE, scenario

KOLA = PROJECT / "tests/kola"
# externalTestMeta of coreos-assembler's mantle/kola/harness.go, 2026-08: an unknown key, or another type, is an error there.
KEYS = {str: ("architectures", "platforms", "distros", "tags", "requiredTag", "primaryDisk", "appendKernelArgs", "appendFirstbootKernelArgs",
              "instanceType", "description", "creationDate", "bootFrom"),
        bool: ("injectContainer", "numaNodes", "exclusive", "allowConfigWarnings", "noInstanceCreds"),
        int: ("minMemory", "minDisk", "additionalNics", "timeoutMin"),
        list: ("additionalDisks", "conflicts", "bindMountHostRO", "requiredHostPorts")}
TYPES = {name: kind for kind, names in KEYS.items() for name in names}
# What kola uploads, and where its unit finds it.
DATA = "/var/opt/kola-extdata"
TEST = "/usr/local/bin/kola-runext-test.sh"


def header(expect, path):
    """The header as metadataFromTestBinary reads it: of the first 8 KiB, the lines after "## kola:" that begin with "## "."""
    lines = path.read_bytes()[:8192].decode().splitlines()
    starts = [number for number, line in enumerate(lines) if line.startswith("## kola:")]
    expect.equal(len(starts), 1, f"headers in {path}")
    expect.that(not any(line.startswith("# kola:") for line in lines), "no header of the old form")
    text = []
    for line in lines[starts[0] + 1:]:
        if not line.startswith("## "):
            break
        text.append(line[3:])
    read = yaml.safe_load("\n".join(text))
    for key, value in read.items():
        expect.that(TYPES.get(key) is type(value), f"a key and a type that kola knows: {key}", value)
    expect.that(read.get("description"), "a description")
    return read


def registered(expect, folder):
    """What registerTestDir makes of the folder: one executable called test.sh gives the test the folder's name."""
    expect.equal([path.name for path in folder.iterdir() if path.is_file() and os.access(path, os.X_OK)], ["test.sh"], f"executables of {folder.name}")
    expect.that((folder / "data").is_dir(), "its data")


def external(world, name):
    """Boots a node with the test's config as its user data, and runs its test.sh there."""
    expect = world.expect
    registered(expect, KOLA / name)
    header(expect, KOLA / name / "test.sh")
    subprocess.run([sys.executable, str(PROJECT / "tests/kola-config"), "--program", str(agent.ADMIN), "--binary", str(agent.binary(embed=True)),
                    "--out", str(world.folder)], check=True)
    node = world.node(delivery=None, whole=json.loads((world.folder / name / "config.ign").read_text(encoding="utf-8")))
    boot = node.boot().settle()
    data = node.var / DATA.removeprefix("/var/")
    data.mkdir(parents=True)
    (data / "common.sh").write_bytes((KOLA / "data/common.sh").read_bytes())
    (data / "test.sh").write_bytes((KOLA / name / "test.sh").read_bytes())
    boot.shell(f"mkdir -p {os.path.dirname(TEST)} && install -m 0755 {DATA}/test.sh {TEST}")
    # As kola's unit runs it, with its name and environment.
    done = boot.machine.run(f"systemd-run --quiet --wait --unit=kola-runext.service --setenv=KOLA_EXT_DATA={DATA} "
                            f"--setenv=KOLA_TEST=ext.skewguard.{name} {TEST}; status=$?; journalctl --sync; "
                            "journalctl --no-pager -o cat -u kola-runext.service; exit $status", 180)
    expect.that(done[0] == 0, f"test.sh of {name} to pass", done[1])
    expect.contains(done[1], ["ok "], f"what test.sh of {name} says")


@scenario("kola-refused", "tests/kola/refused, as kola runs it: held, and let through by `skewguard allow`")
def kola_refused(world):
    external(world, "refused")


@scenario("kola-allowed", "tests/kola/allowed, as kola runs it", tier=MORE)
def kola_allowed(world):
    external(world, "allowed")


@scenario("kola-warn", "tests/kola/warn, as kola runs it", tier=MORE)
def kola_warn(world):
    external(world, "warn")


@scenario("kola-broken-binary", "tests/kola/broken-binary, as kola runs it", tier=MORE)
def kola_broken(world):
    external(world, "broken-binary")

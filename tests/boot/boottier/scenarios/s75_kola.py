"""The external tests for kola, tests/kola: their configs by the real Ignition, their test.sh on a node, as kola runs it; and what kola reads of them."""

import base64
import json
import os
import subprocess
import sys

import yaml

from .. import agent
from ..paths import PROJECT
from ..scenario import MORE, scenario
from ..stand_in import EACH

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
    # Each has a machine of its own.
    expect.that(read["exclusive"] is True, "a machine of its own", read)


def registered(expect, folder):
    """What registerTestDir makes of the folder: one executable called test.sh gives the test the folder's name."""
    expect.equal([path.name for path in folder.iterdir() if path.is_file() and os.access(path, os.X_OK)], ["test.sh"], f"executables of {folder.name}")
    expect.that((folder / "data").is_dir(), "its data")


def translated(text):
    """What butane makes of the config, as far as ours has it."""
    read = yaml.safe_load(text)
    for file in read["storage"]["files"]:
        file["contents"] = {"source": "data:;base64," + base64.b64encode(file["contents"]["inline"].encode()).decode()}
    if (read.pop("variant"), read.pop("version")) != ("fcos", "1.1.0"):
        raise ValueError("another specification")
    return {"ignition": {"version": "3.1.0"}, **read}


def external(world, name, baked, **setup):
    """Boots a node with the test's config as its user data, and runs its test.sh there. `baked`: an image that has the agent, with config.bu."""
    expect = world.expect
    registered(expect, KOLA / name)
    header(expect, KOLA / name / "test.sh")
    subprocess.run([sys.executable, str(PROJECT / "tests/kola-config"), "--program", str(agent.ADMIN), "--binary", str(agent.binary(embed=True)),
                    "--out", str(world.folder), *(["--butane"] if baked else [])], check=True)
    written = (world.folder / name / ("config.bu" if baked else "config.ign")).read_text(encoding="utf-8")
    if baked:
        expect.equal((KOLA / name / "config.bu").read_text(encoding="utf-8"), written, "the committed config.bu")
    node = world.node(delivery="baked" if baked else None, whole=translated(written) if baked else json.loads(written), **setup)
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


@scenario("kola-refused", "tests/kola/refused, as kola runs it with config.bu: held, and let through by `skewguard allow`")
def kola_refused(world):
    external(world, "refused", True)


@scenario("kola-systemd-257", "tests/kola/refused and allowed, with config.bu, on systemd 257", tier=MORE)
def kola_257(world):
    image, target = EACH[-1]
    for name in ("refused", "allowed"):
        external(world, name, True, image=image.name, target=target.name)


@scenario("kola-allowed", "tests/kola/allowed, as kola runs it with config.bu", tier=MORE)
def kola_allowed(world):
    external(world, "allowed", True)


@scenario("kola-warn", "tests/kola/warn, as kola runs it with config.bu", tier=MORE)
def kola_warn(world):
    external(world, "warn", True)


@scenario("kola-broken-binary", "tests/kola/broken-binary, as kola runs it with config.bu", tier=MORE)
def kola_broken(world):
    external(world, "broken-binary", True)


@scenario("kola-no-operator", "tests/kola/no-operator, as kola runs it with config.bu: a node without the Machine Config Operator, untouched", tier=MORE)
def kola_no_operator(world):
    external(world, "no-operator", True)


@scenario("kola-delivered", "tests/kola: refused and a broken binary, with the config.ign of an image that has no agent", tier=MORE)
def kola_delivered(world):
    for name in ("refused", "broken-binary"):
        external(world, name, False)

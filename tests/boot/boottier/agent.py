"""The agent under test: built from this project, and put into a boot image or a config."""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from . import yaml
from .paths import PROJECT, TARGET
from .trees import BuildError

FULL = TARGET / "dist/skewguard"
EMBED = TARGET / "dist/skewguard-embed"


def binary(embed=False):
    """The static binary under test: SKEWGUARD_BOOT_BINARY, or what the project ships."""
    given = os.environ.get("SKEWGUARD_BOOT_BINARY")
    return Path(given) if given else EMBED if embed else FULL


def build():
    """Builds the binaries that ship, unless one is given. A binary over its size budget is for the dist tier to fail on."""
    if os.environ.get("SKEWGUARD_BOOT_BINARY"):
        return
    for kind in ("full", "embed"):
        done = subprocess.run([str(PROJECT / "dist/build"), kind], cwd=PROJECT, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0 and "over its budget" not in done.stdout:
            raise BuildError(f"dist/build {kind} ended with {done.returncode}:\n{done.stdout[-3000:]}")


def render(*arguments):
    """What `skewguard render ...` prints."""
    command = [str(binary()), "render", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BuildError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout


def install(root):
    """Bakes the agent into a boot image, as a package would: below /usr only."""
    usr = Path(root) / "usr"
    shutil.copy(binary(), usr / "bin/skewguard")
    for unit in (PROJECT / "systemd").glob("*.service"):
        shutil.copy(unit, usr / "lib/systemd/system")
    for preset in (PROJECT / "systemd").glob("*.preset"):
        shutil.copy(preset, usr / "lib/systemd/system-preset")
    (usr / "lib/systemd/catalog").mkdir(exist_ok=True)
    for catalog in (PROJECT / "dist").glob("*.catalog"):
        shutil.copy(catalog, usr / "lib/systemd/catalog")


def as_machine_config(policy):
    """The Ignition config inside what `skewguard render machineconfig` prints for this policy."""
    return yaml.load(_render_with(policy, "machineconfig", binary(embed=True)))["spec"]["config"]


def as_ignition(policy):
    """What `skewguard render ignition` prints for this policy."""
    return json.loads(_render_with(policy, "ignition", binary()))


def _render_with(policy, what, program):
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        json.dump(policy, file)
        file.flush()
        return render(what, "--policy", file.name, "--binary", str(program))

"""The agent under test: built from this project, and put into a boot image or a config."""

import os
import shutil
import subprocess
from pathlib import Path

from .paths import PROJECT, TARGET
from .trees import BuildError

FULL = TARGET / "dist/skewguard"
EMBED = TARGET / "dist/skewguard-embed"


def binary(embed=False):
    """The static binary under test: SKEWGUARD_BOOT_BINARY, or what the project ships."""
    given = os.environ.get("SKEWGUARD_BOOT_BINARY")
    return Path(given) if given else EMBED if embed else FULL


def build():
    """Builds the binaries that ship, unless one is given."""
    if not os.environ.get("SKEWGUARD_BOOT_BINARY"):
        done = subprocess.run([str(PROJECT / "dist/build")], cwd=PROJECT, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            raise BuildError(f"dist/build ended with {done.returncode}:\n{done.stdout[-3000:]}")


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

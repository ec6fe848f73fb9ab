"""The agent under test: built from this project, and put into a boot image or a config."""

import json
import os
import shutil
import subprocess
from pathlib import Path

from .paths import PROJECT, TARGET
from .trees import BuildError

TRIPLE = "x86_64-unknown-linux-musl"


def binary():
    """The static binary under test: SKEWGUARD_BOOT_BINARY, or the project's own release build."""
    given = os.environ.get("SKEWGUARD_BOOT_BINARY")
    return Path(given) if given else TARGET / TRIPLE / "release" / "skewguard"


def build():
    """Builds the static binary, unless one is given. Returns its path."""
    if not os.environ.get("SKEWGUARD_BOOT_BINARY"):
        done = subprocess.run(["cargo", "build", "--release", "--locked", "--target", TRIPLE], cwd=PROJECT,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            raise BuildError(f"cargo build --target {TRIPLE} ended with {done.returncode} "
                             f"(rustup target add {TRIPLE}; ring needs the Debian package musl-tools):\n"
                             f"{done.stdout[-3000:]}")
    return binary()


def _render(*arguments, policy=None):
    """Output of `skewguard render ...`."""
    command = [str(binary()), "render", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, input=policy)
    if done.returncode != 0:
        raise BuildError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout)


def install(root):
    """Bakes the agent into a boot image, as a package would: below /usr only."""
    usr = Path(root) / "usr"
    shutil.copy(binary(), usr / "bin/skewguard")
    for unit in (PROJECT / "systemd").glob("*.service"):
        shutil.copy(unit, usr / "lib/systemd/system")
    for preset in (PROJECT / "systemd").glob("*.preset"):
        shutil.copy(preset, usr / "lib/systemd/system-preset")
    (usr / "lib/systemd/catalog").mkdir(exist_ok=True)
    for catalog in (PROJECT / "dist").glob("**/*.catalog"):
        shutil.copy(catalog, usr / "lib/systemd/catalog")

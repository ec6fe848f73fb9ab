"""Runs the real Ignition against a node's root folder instead of in an initramfs."""

import json
import os
import subprocess

from .paths import HARNESS
from .patience import ANSWER

BINARY = "/usr/lib/dracut/modules.d/30ignition/ignition"


class IgnitionError(Exception):
    """Ignition refused the config or could not apply it."""


def apply(root, pointer, work):
    """Fetches what `pointer` refers to and writes files, units and presets below `root`."""
    config = work / "pointer.ign"
    config.write_text(json.dumps(pointer), encoding="utf-8")
    cached = work / "ignition.json"
    environment = dict(os.environ, IGNITION_CONFIG_FILE=str(config),
                       PATH=f"{HARNESS}/no-selinux/usr/sbin:{os.environ['PATH']}")
    for stage in ("fetch", "files"):
        done = subprocess.run(
            [BINARY, f"--root={root}", "--platform=file", f"--stage={stage}", "--log-to-stdout",
             f"--config-cache={cached}", "--fetch-timeout=20s"],
            env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, errors="replace", timeout=ANSWER, check=False)
        if done.returncode != 0:
            raise IgnitionError(f"ignition --stage={stage} ended with {done.returncode}:\n{done.stdout[-3000:]}")

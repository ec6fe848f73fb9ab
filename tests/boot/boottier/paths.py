"""Where things are: the project, the harness and its cache."""

import os
from pathlib import Path

HARNESS = Path(__file__).resolve().parent.parent
PROJECT = HARNESS.parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", PROJECT / "target"))
CACHE = Path(os.environ.get("SKEWGUARD_BOOT_CACHE", TARGET / "boot-cache"))
RESULTS = TARGET / "boot-results"
MIRROR = os.environ.get("SKEWGUARD_BOOT_MIRROR", "http://deb.debian.org/debian")

"""A build cache: a product is found again by the hash of everything it was made from."""

import fcntl
import hashlib
import shutil
from contextlib import contextmanager
from pathlib import Path

from .progress import Step

# Raise it when the way of building changes without the inputs changing.
FORMAT = "1"


def fingerprint(*parts):
    """SHA-256 over strings, files and folders (names, modes and content); 16 hex digits."""
    digest = hashlib.sha256(FORMAT.encode())
    for part in parts:
        if isinstance(part, Path):
            _hash_path(digest, part)
        else:
            digest.update(f"\0text\0{part}".encode())
    return digest.hexdigest()[:16]


def _hash_path(digest, path):
    if path.is_symlink():
        digest.update(f"\0link\0{path.name}\0{path.readlink()}".encode())
    elif path.is_dir():
        digest.update(f"\0dir\0{path.name}".encode())
        for child in sorted(path.iterdir()):
            if child.name != "__pycache__":
                _hash_path(digest, child)
    else:
        mode = path.stat().st_mode & 0o777
        digest.update(f"\0file\0{path.name}\0{mode:o}\0".encode())
        digest.update(path.read_bytes())


class Cache:
    """Products under one folder. Each is built once, beside its final name, and appears whole."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.used = set()

    def product(self, name, key, build):
        """The path of product `name` for `key`; `build(path)` makes it when it is not there."""
        final = self.folder / f"{name}-{key}"
        self.used.add(final.name)
        with self._locked(name):
            if not final.exists():
                partial = self.folder / f"{name}-{key}.partial"
                remove(partial)
                try:
                    with Step(f"building {name}"):
                        build(partial)
                except BaseException:
                    remove(partial)
                    raise
                partial.rename(final)
                self._forget_older(name, final)
        return final

    def _forget_older(self, name, keep):
        for other in self.folder.glob(f"{name}-????????????????"):
            if other != keep:
                remove(other)

    @contextmanager
    def _locked(self, name):
        with open(self.folder / f".{name}.lock", "w", encoding="ascii") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield


def remove(path):
    """Removes a file or folder; absent is fine. ostree marks deployments immutable, so that goes first."""
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.is_dir():
        shutil.rmtree(path)

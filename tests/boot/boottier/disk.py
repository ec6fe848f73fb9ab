"""Writing onto the ext4 disk of a powered-off machine: with debugfs, without mounting it."""

import subprocess
import tempfile

from .selinux import LABEL


def write_file(disk, path, text, label=None):
    """Writes a file, also in another's place, with an SELinux label; its folder is made if it is not there, the one above must be."""
    folder, name = path.rsplit("/", 1)
    above, last = (folder or "/").rsplit("/", 1)
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as source:
        source.write(text)
        source.flush()
        if last and "File not found" in _debugfs(disk, f"cd {folder}"):
            _debugfs(disk, f"cd {above or '/'}", f"mkdir {last}")
        _debugfs(disk, f"rm {path}")
        said = _debugfs(disk, f"cd {folder or '/'}", f"write {source.name} {name}")
    if "Allocated inode" not in said or "File not found" in said:
        raise OSError(f"{path} could not be written to {disk}: {said}")
    if label:
        _debugfs(disk, f"ea_set {path} {LABEL} {label}")


def _debugfs(disk, *requests):
    done = subprocess.run(["debugfs", "-w", "-f", "-", str(disk)], input="\n".join(requests) + "\n", text=True, check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.stdout

"""The root tree that the scenarios called "tree-..." boot: one that a person brings (`--tree`), or Debian bullseye's packages.

Bullseye has systemd 247, the oldest that Debian still publishes. A tree that is brought is played as it is: its systemd, D-Bus, agetty and curl.
"""

import os
import platform
import tarfile
from pathlib import Path

from .cache import fingerprint, remove
from .trees import BASE, ROOT_PASSWORD, BuildError, bootstrap, crypt, run

VARIABLE = "SKEWGUARD_EL8_TREE"
SUITE = "bullseye"
PACKAGES = [*BASE, "udev"]
# As on RHEL and in newer Debian releases.
MERGED_USR = 'for name in bin sbin lib lib64; do mkdir -p "$1/usr/$name" && ln -s "usr/$name" "$1/$name"; done'
SYSTEMD = "usr/lib/systemd/systemd"
# e_machine of the ELF header.
MACHINES = {62: "x86_64", 183: "aarch64", 22: "s390x", 21: "ppc64le"}
# What the stand-ins and the scenarios' questions run, and a node's own console.
PROGRAMS = ("agetty bash busctl cat cp curl diff env grep journalctl login mkdir mount mv readlink rm sed sh sleep sync systemctl systemd-notify "
            "systemd-run tail timeout touch umount").split()
EITHER = ("dbus-daemon", "dbus-broker")


def given():
    """The tree that a person brings; None where it is bullseye's."""
    name = os.environ.get(VARIABLE)
    return Path(name) if name else None


def number():
    """This machine's number in MACHINES."""
    return next((number for number, name in MACHINES.items() if name == platform.machine()), 0)


def unfit(path):
    """Why this folder or tar archive cannot be the root of a node, in words that follow its name; None where it can."""
    if not path.exists():
        return "is not there"
    try:
        header = _of_folder(path) if path.is_dir() else _of_archive(path)
    except (OSError, EOFError, tarfile.TarError):
        return "is neither a folder nor a tar archive that can be read"
    if header is None:
        return f"has no systemd: {SYSTEMD} is not in it"
    found = int.from_bytes(header[18:20], "big" if header[5:6] == b"\x02" else "little")
    if found != number():
        return f"is a tree for {MACHINES.get(found, f'another machine (ELF {found})')}; this machine is {platform.machine()}"
    return None


def _of_folder(path):
    program = path / SYSTEMD
    return program.read_bytes()[:20] if program.is_file() else None


def _of_archive(path):
    if not path.is_file():
        raise tarfile.TarError
    with tarfile.open(path) as archive:
        for member in archive:
            if member.isfile() and member.name.removeprefix("./") == SYSTEMD:
                return archive.extractfile(member).read(20)
    return None


def lacking(root):
    """The programs that an unpacked tree has not, of those that are needed."""
    def has(program):
        return any(os.path.lexists(root / folder / program) for folder in ("usr/bin", "usr/sbin"))

    absent = [program for program in PROGRAMS if not has(program)]
    return absent + ([] if any(has(program) for program in EITHER) else [" or ".join(EITHER)])


def tree(cache):
    """The unpacked tree, with a password for root. A BuildError where a scenario could not be played on it."""
    path = given()
    if path is None:
        return cache.product(f"tree-{SUITE}", fingerprint(SUITE, *PACKAGES, MERGED_USR), _bullseye)
    return cache.product("tree-brought", fingerprint(*_stamp(path)), lambda copy: _bring(path, copy))


def _bullseye(path):
    bootstrap(path, SUITE, PACKAGES, "--setup-hook=" + MERGED_USR)
    _first_boot(path)


def _bring(path, copy):
    if path.is_dir():
        run(["cp", "--archive", "--reflink=auto", str(path), str(copy)])
    else:
        copy.mkdir()
        run(["tar", "--extract", "--preserve-permissions", "--numeric-owner", f"--directory={copy}", f"--file={path}"])
    absent = lacking(copy)
    if absent:
        raise BuildError(f"{path} lacks {', '.join(absent)}: install them there")
    _first_boot(copy)
    shadow = copy / "etc/shadow"
    lines = shadow.read_text(encoding="utf-8").splitlines() if shadow.is_file() else []
    others = [line for line in lines if not line.startswith("root:")]
    shadow.write_text("\n".join([f"root:{crypt(ROOT_PASSWORD)}:19000:0:99999:7:::", *others, ""]), encoding="utf-8")


def _first_boot(root):
    # Absent, on every systemd there is, means a first boot, in which presets are applied; "uninitialized" means that only since 247.
    remove(root / "etc/machine-id")


def _stamp(path):
    """What changes with the content of a folder or a file, without reading all of it."""
    paths = sorted(path.rglob("*")) if path.is_dir() else [path]
    for one in paths:
        state = one.lstat()
        yield f"{one} {state.st_mode} {state.st_size} {state.st_mtime_ns}"


def versions(root):
    """What was booted, for people: the first line of what its programs say of themselves."""
    said = []
    for command in (["systemctl", "--version"], ["agetty", "--version"], ["curl", "--version"]):
        words = run(["chroot", str(root), *command]).splitlines()[0]
        said.append(" ".join(words.replace("agetty from ", "").split()[:2]))
    return ", ".join(said)

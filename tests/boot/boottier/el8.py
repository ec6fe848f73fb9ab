"""The stand-in for RHEL 8: systemd 239 as PID 1, agetty and login of util-linux 2.32.1, curl 7.61.1, in a Debian tree.

They are compiled from their published sources. The archives are not part of the project: the folder SKEWGUARD_EL8_SOURCES has them.
"""

import hashlib
import os
import tarfile
from pathlib import Path

from .cache import fingerprint, remove
from .paths import HARNESS
from .trees import BASE, BuildError, bootstrap, run

# NAME.tar.xz and its SHA-256; docs/dev/boot-tests.md says where they were published.
SYSTEMD_86 = "systemd-239-rhel-8.6.0"
SYSTEMD_80 = "systemd-239-rhel-8.0.0"
UTIL_LINUX = "util-linux-2.32.1"
CURL = "curl-7.61.1"
SOURCES = {
    SYSTEMD_86: "ad2377edcdfc4c0ef22f715c75af914450eb4113f0301eac3050d4fe653f6c5d",
    SYSTEMD_80: "3ecc2519914adaae9761b82c02f95c947dca7411732b8e9d4ea29f23de043ae6",
    UTIL_LINUX: "8e24c854fdde7b58719bc6ac7a98e81f39dcbbdf50ad2417e5f1106fb21295be",
    CURL: "60aa420230e0cd6a5e756d7e465e2b66ca0cdadfbd2f49b6df30dcf146196d8b",
}
STATES = {"8.6": SYSTEMD_86, "8.0": SYSTEMD_80}
# glibc 2.31, D-Bus 1.12, OpenSSL 1.1.1: of all Debian releases the nearest to RHEL 8 that still compiles all of it as it is.
SUITE = "bullseye"
COMPILER = ("gcc libc6-dev make meson gperf pkg-config autoconf automake libtool autopoint gettext bison libcap-dev libmount-dev "
            "libpam0g-dev libseccomp-dev libkmod-dev libssl-dev").split()
RUNTIME = [*BASE, "udev", "ostree", "ostree-boot"]
# As on RHEL and in newer Debian releases.
MERGED_USR = 'for name in bin sbin lib lib64; do mkdir -p "$1/usr/$name" && ln -s "usr/$name" "$1/$name"; done'
# Debian's systemd is installed for its users, groups and PAM configuration; its files make way for those of 239.
REPLACED = "systemd systemd-sysv udev libpam-systemd libsystemd0 libudev1"
REMOVE = f"""for package in {REPLACED}; do
    cat "/var/lib/dpkg/info/$package.list" "/var/lib/dpkg/info/$package:amd64.list" 2>/dev/null || true
done | while read -r file; do [ -d "$file" ] || rm -f "$file"; done"""


def sources():
    """The folder with the archives; None where el8 is not to be built."""
    folder = os.environ.get("SKEWGUARD_EL8_SOURCES")
    return Path(folder) if folder else None


def _systemd():
    state = os.environ.get("SKEWGUARD_EL8_STATE", "8.6")
    if state not in STATES:
        raise BuildError(f"SKEWGUARD_EL8_STATE={state}: there is {' and '.join(sorted(STATES))}")
    return STATES[state]


def tree(cache, kernel):
    """The unpacked tree, with the kernel and initramfs of the Debian tree `kernel`."""
    wanted = (_systemd(), UTIL_LINUX, CURL)
    script = HARNESS / "el8/build"
    key = fingerprint(SUITE, *COMPILER, script, *[SOURCES[name] for name in wanted])
    files = cache.product(f"el8-files-{wanted[0]}", key, lambda path: _compile(wanted, script, path))
    key = fingerprint(SUITE, *RUNTIME, REMOVE, files.name, kernel.name)
    return cache.product("tree-el8", key, lambda path: _assemble(files, kernel, path))


def _compile(wanted, script, path):
    build = path.with_name(path.name + ".build")
    remove(build)
    archives = [_archive(name) for name in wanted]
    bootstrap(build, SUITE, COMPILER)
    for archive in archives:
        with tarfile.open(archive) as contents:
            contents.extractall(build / "src")
    (build / "src/build").write_bytes(script.read_bytes())
    run(["chroot", str(build), "sh", "/src/build", wanted[0]])
    (build / "out").rename(path)
    remove(build)


def _archive(name):
    """The archive in the given folder. It is unpacked and run as root, so it must be the one that is known here."""
    folder = sources()
    if folder is None:
        raise BuildError(f"el8 needs the source of {name}: SKEWGUARD_EL8_SOURCES is not set (docs/dev/boot-tests.md)")
    file = folder / f"{name}.tar.xz"
    if not file.is_file():
        raise BuildError(f"{file}: no such file; el8 is built from it (docs/dev/boot-tests.md)")
    if hashlib.sha256(file.read_bytes()).hexdigest() != SOURCES[name]:
        raise BuildError(f"{file}: not the archive that tests/boot/boottier/el8.py names, its SHA-256 differs")
    return file


def _assemble(files, kernel, path):
    bootstrap(path, SUITE, RUNTIME, "--setup-hook=" + MERGED_USR)
    run(["chroot", str(path), "sh", "-c", REMOVE])
    run(["cp", "--archive", f"{files}/.", str(path)])
    run(["cp", "--archive", str(kernel / "usr/lib/modules"), str(path / "usr/lib")])
    run(["chroot", str(path), "ldconfig"])
    run(["chroot", str(path), "systemd-sysusers"])
    # What is "uninitialized" since systemd 247 is a file that is not there before.
    remove(path / "etc/machine-id")

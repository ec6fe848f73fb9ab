"""The programs a tier needs, and the Debian package each comes from."""

import os
import shutil

FAST = {
    "mmdebstrap": "mmdebstrap",
    "systemd-nspawn": "systemd-container",
    "/usr/lib/dracut/modules.d/30ignition/ignition": "ignition",
    "ostree": "ostree",
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "ip": "iproute2",
    "openssl": "openssl",
    "chattr": "e2fsprogs",
    "mkfs.ext4": "e2fsprogs",
    "rpmbuild": "rpm",
    "rpm2cpio": "rpm2cpio",
    "cpio": "cpio",
}
# The full build has C in it; that of the tier few has none.
FULL_BUILD = {"musl-gcc": "musl-tools"}
FULL = {
    "qemu-system-x86_64": "qemu-system-x86",
    "debugfs": "e2fsprogs",
    "grub-mkimage": "grub-common",
    "/usr/lib/grub/i386-pc/boot.img": "grub-pc-bin",
    "jq": "jq",
}
IMAGE = {"qemu-system-x86_64": "qemu-system-x86", "setpriv": "util-linux"}


def missing(tiers, few=False):
    """What the machine lacks for `tiers`, in a sentence each for programs and rights. Empty when nothing. `few`: the embed build alone is made."""
    wanted = {}
    if "image" in tiers:
        wanted.update(IMAGE)
    if "image" not in tiers:
        wanted.update(FAST if few else {**FAST, **FULL_BUILD})
    if "full" in tiers:
        wanted.update(FULL)
    lines = []
    absent = [program for program in wanted if not _there(program)]
    if absent:
        packages = " ".join(sorted({wanted[program] for program in absent}))
        lines.append(f"missing: {', '.join(absent)}; apt-get install --no-install-recommends {packages}")
    if os.geteuid() != 0 and "image" not in tiers:
        lines.append("root is needed: it boots containers with namespaces and mounts of their own")
    return lines


def _there(program):
    if program.startswith("/"):
        return os.path.exists(program)
    return shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin") is not None

"""Boot images from Debian packages: bookworm has systemd 252 as RHEL 9 has, trixie 257 as RHEL 10."""

import shutil
import subprocess
from dataclasses import dataclass

from .cache import fingerprint, remove
from .paths import HARNESS, MIRROR

BASE = (
    "systemd systemd-sysv dbus libpam-systemd util-linux procps login passwd kmod iproute2 curl "
    "ca-certificates xz-utils"
).split()
# What only a machine with its own kernel needs.
QEMU = "dracut-core dracut-network ignition ostree ostree-boot zstd udev selinux-policy-default policycoreutils".split()
ROOT_PASSWORD = "core"

# Unpacks the kernel package instead of installing it: installing would pull in initramfs-tools.
KERNEL_HOOK = """chroot "$1" sh -ec '
mkdir /kernel; cd /kernel
apt-get -qq download "$(apt-cache depends linux-image-cloud-amd64 | sed -n "s/.*Depends: //p" | head -n 1)"
dpkg -x ./*.deb .
release=$(ls lib/modules)
mkdir -p /usr/lib/modules
mv "lib/modules/$release" /usr/lib/modules/
cp "boot/vmlinuz-$release" "/usr/lib/modules/$release/vmlinuz"
cd /; rm -r /kernel
depmod "$release"
'"""


@dataclass(frozen=True)
class Suite:
    """One Debian release as a boot image."""

    name: str
    systemd: str
    packages: tuple
    kernel: bool


SUITES = {
    "bookworm": Suite("bookworm", "252", tuple(BASE + QEMU), True),
    "trixie": Suite("trixie", "257", tuple(BASE + ["login.defs"]), False),
}


def suite_tree(cache, suite):
    """An unpacked Debian tree, with a kernel and an initramfs with Ignition where QEMU needs them."""
    initramfs = HARNESS / "initramfs"
    key = fingerprint(suite, MIRROR, KERNEL_HOOK, initramfs)
    return cache.product(f"tree-{suite.name}", key, lambda path: _build(suite, path))


def _build(suite, path):
    bootstrap(path, suite.name, suite.packages, *(["--customize-hook=" + KERNEL_HOOK] if suite.kernel else []))
    # A first boot for systemd: presets are applied (an empty file would not do).
    (path / "etc/machine-id").write_text("uninitialized\n", encoding="ascii")
    if suite.kernel:
        _initramfs(path)


def bootstrap(path, release, packages, *options):
    """Unpacks a Debian release with these packages, and a password for root."""
    run(["mmdebstrap", "--quiet", "--variant=apt", "--format=directory", "--include=" + ",".join(packages), *options,
         release, str(path), MIRROR])
    for place in ("var/cache/apt", "var/lib/apt", "usr/share/doc", "usr/share/man", "usr/share/locale"):
        remove(path / place)
    (path / "var/cache/apt").mkdir(parents=True)
    run(["chroot", str(path), "usermod", "--password", crypt(ROOT_PASSWORD), "root"])


def crypt(password):
    """The password as /etc/shadow has it."""
    done = subprocess.run(["openssl", "passwd", "-6", "-stdin"], input=password, text=True,
                          check=True, capture_output=True)
    return done.stdout.strip()


def _initramfs(tree):
    """Builds the initramfs inside the tree, with Debian's own dracut module of Ignition."""
    shutil.copytree(HARNESS / "initramfs", tree / "usr/lib/dracut/modules.d", dirs_exist_ok=True)
    release = next((tree / "usr/lib/modules").iterdir()).name
    run(["chroot", str(tree), "dracut", "--quiet", "--no-hostonly", "--no-early-microcode", "--force",
         "--compress", "zstd -1 -T0", "--add", "stand-in", "--omit", OMIT, "--drivers", DRIVERS,
         "--kver", release, f"/usr/lib/modules/{release}/initramfs.img"])


DRIVERS = "virtio_pci virtio_blk virtio_net qemu_fw_cfg ext4 virtio_console"
OMIT = ("network-legacy ifcfg i18n drm plymouth crypt lvm mdraid dm dmraid "
        "btrfs multipath nvdimm qemu-net memstrack biosdevname modsign resume terminfo")


def run(command, **options):
    """Runs a build command; its output is shown only when it fails."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", check=False, **options)
    if done.returncode != 0:
        raise BuildError(f"{' '.join(command[:4])} ... ended with {done.returncode}:\n{done.stdout[-4000:]}")
    return done.stdout


class BuildError(Exception):
    """A boot image could not be built."""

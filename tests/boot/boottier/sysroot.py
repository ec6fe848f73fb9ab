"""The disk of a node: a real ostree sysroot with the deployments a first boot knows.

Two boot images, one with the systemd of RHEL 9 and one with that of RHEL 10, and for each the
image the cluster runs, so that a rebase has somewhere to go. The tree of root_tree.py is on a disk of its own.
"""

import hashlib
import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from . import root_tree, selinux
from .cache import fingerprint, remove
from .paths import HARNESS
from .trees import SUITES, run, suite_tree


@dataclass(frozen=True)
class Image:
    """An OS image: what it is made of, and what it says it is."""

    name: str
    suite: str
    version: str
    rhel: str
    os_release: str

    @property
    def ocp(self):
        """The OCP release in a version like 413.92.202305021736-0."""
        release = self.version.split(".")[0]
        return f"{release[0]}.{release[1:]}"

    @property
    def digest(self):
        return "sha256:" + hashlib.sha256(self.name.encode()).hexdigest()

    @property
    def own_words(self):
        """Its os-release."""
        return self.os_release.format(version=self.version, rhel=self.rhel, ocp=self.ocp)

    @property
    def pullspec(self):
        return f"registry.example.com/openshift/release@{self.digest}"


# As on RHCOS up to 4.18, and as on boot images from 4.19 on.
OS_RELEASE_OLD = """NAME="Red Hat Enterprise Linux CoreOS"
ID="rhcos"
ID_LIKE="rhel fedora"
VERSION="{version}"
VERSION_ID="{ocp}"
VARIANT_ID=coreos
PRETTY_NAME="Red Hat Enterprise Linux CoreOS {version} (Plow)"
RHEL_VERSION="{rhel}"
OPENSHIFT_VERSION="{ocp}"
OSTREE_VERSION="{version}"
"""
OS_RELEASE_NEW = """NAME="Red Hat Enterprise Linux"
ID="rhel"
ID_LIKE="fedora"
VERSION="{version} (Plow)"
VERSION_ID="{rhel}"
VARIANT="CoreOS"
VARIANT_ID=coreos
PRETTY_NAME="Red Hat Enterprise Linux CoreOS {version}"
OSTREE_VERSION='{version}'
"""

IMAGES = {
    image.name: image
    for image in (
        Image("rhel8-boot", "tree", "411.86.202308081056-0", "8.6", OS_RELEASE_OLD),
        Image("rhel8-target", "tree", "412.86.202402272018-0", "8.6", OS_RELEASE_OLD),
        Image("rhel9-boot", "bookworm", "413.92.202305021736-0", "9.2", OS_RELEASE_OLD),
        Image("rhel9-target", "bookworm", "9.6.20260504-0", "9.6", OS_RELEASE_NEW),
        Image("rhel10-boot", "trixie", "10.2.20260423-0", "10.2", OS_RELEASE_NEW),
        Image("rhel10-target", "trixie", "10.2.20260714-0", "10.2", OS_RELEASE_NEW),
    )
}
# What the RHEL 9 boot image of a machine in QEMU may say it is, by `Setup.named`: of OpenShift 4.12, which 4.22 refuses.
OLD_NAME = Image("named-4.12", "bookworm", "412.86.202303211731-0", "8.6", OS_RELEASE_OLD)
STATEROOT = "ostree/deploy/rhcos"
# As CoreOS has them: what is writable lives in /var.
LINKS = {"home": "var/home", "root": "var/roothome", "opt": "var/opt", "srv": "var/srv",
         "mnt": "var/mnt", "media": "run/media", "usr/local": "../var/usrlocal",
         "ostree": "sysroot/ostree"}


def sysroot(cache, boot="rhel9-boot"):
    """The folder that is the root of the disk of a node with the boot image `boot`, with a deployment of every image that it may need."""
    if IMAGES[boot].suite == "tree":
        trees, name = {"tree": root_tree.tree(cache)}, "disk-tree"
    else:
        name = "disk"
        with ThreadPoolExecutor() as pool:
            trees = dict(zip(SUITES, pool.map(lambda suite: suite_tree(cache, suite), SUITES.values())))
    key = fingerprint(*[tree.name for tree in trees.values()], repr(sorted(IMAGES)),
                      HARNESS / "image", HARNESS / "no-selinux", Path(__file__), Path(selinux.__file__))
    return cache.product(name, key, lambda path: _build(trees, path))


def _build(trees, path):
    path.mkdir()
    run(["ostree", "admin", "init-fs", "--modern", str(path)])
    run(["ostree", "admin", "os-init", "rhcos", f"--sysroot={path}"])
    run(["ostree", "config", f"--repo={path}/ostree/repo", "set", "core.fsync", "false"])
    work = path.with_name(path.name + ".stage")
    for number, (name, tree) in enumerate(trees.items()):
        remove(work)
        run(["cp", "--archive", "--reflink=auto", str(tree), str(work)])
        _make_image(work)
        if number == 0:
            remove(path / STATEROOT / "var")
            (work / "var").rename(path / STATEROOT / "var")
        remove(work / "var")
        (work / "var").mkdir()
        for image in IMAGES.values():
            if image.suite == name:
                (work / "usr/lib/os-release").write_text(image.own_words, encoding="ascii")
                _deploy(path, work, image)
    remove(work)
    selinux.label_outside(path)


def _make_image(tree):
    """Turns a Debian tree into the tree of an ostree commit that looks like a CoreOS."""
    shutil.copytree(HARNESS / "image", tree, symlinks=True, dirs_exist_ok=True)
    for place in ("dev", "proc", "sys", "run", "tmp", "boot"):
        remove(tree / place)
        (tree / place).mkdir()
    (tree / "tmp").chmod(0o1777)
    var = tree / "var"
    for name in ("home", "opt", "srv", "mnt", "usrlocal/bin", "usrlocal/sbin", "usrlocal/lib"):
        (var / name).mkdir(parents=True, exist_ok=True)
    remove(var / "roothome")
    (tree / "root").rename(var / "roothome")
    for place, target in LINKS.items():
        remove(tree / place)
        (tree / place).symlink_to(target)
    (tree / "sysroot").mkdir(exist_ok=True)
    etc = tree / "etc"
    for leftover in ("resolv.conf", "hostname", "apt", "dracut.conf.d", "systemd/system", "motd"):
        remove(etc / leftover)
    (etc / "systemd/system").mkdir()
    (etc / "systemd/system/default.target").symlink_to("/usr/lib/systemd/system/multi-user.target")
    # The first asks questions on the console, the second waits for what NetworkManager-wait-online waits for.
    for unit in ("systemd-firstboot.service", "systemd-networkd-wait-online.service"):
        (etc / "systemd/system" / unit).symlink_to("/dev/null")
    # Generators run at every daemon-reload. These are for things that the stand-in has not; on an emulated CPU they cost seconds.
    (etc / "systemd/system-generators").mkdir(exist_ok=True)
    for generator in ("cryptsetup", "gpt-auto", "hibernate-resume", "integritysetup", "rc-local", "ssh", "sysv", "tpm2",
                      "veritysetup"):
        (etc / f"systemd/system-generators/systemd-{generator}-generator").symlink_to("/dev/null")
    (etc / "systemd/system-generators/selinux-autorelabel-generator.sh").symlink_to("/dev/null")
    # As on RHCOS: a link into the read-only /usr.
    (tree / "usr/lib/issue").write_text("\\S \\S{VERSION_ID}\n", encoding="ascii")
    remove(etc / "issue")
    (etc / "issue").symlink_to("../usr/lib/issue")
    selinux.furnish(tree)
    etc.rename(tree / "usr/etc")
    modules = tree / "usr/lib/modules"
    if not modules.exists():
        # ostree deploys nothing without a kernel; these images are booted in containers only.
        (modules / "0.container").mkdir(parents=True)
        (modules / "0.container/vmlinuz").write_text("no kernel\n", encoding="ascii")
        (modules / "0.container/initramfs.img").write_text("no initramfs\n", encoding="ascii")


def _deploy(path, tree, image):
    repo = f"--repo={path}/ostree/repo"
    run(["ostree", "commit", repo, f"--branch={image.name}", f"--tree=dir={tree}",
         f"--subject={image.name}", f"--add-metadata-string=version={image.version}"])
    origin = path.with_name(path.name + ".origin")
    origin.write_text(f"[origin]\ncontainer-image-reference=ostree-unverified-registry:{image.pullspec}\n",
                      encoding="ascii")
    run(["ostree", "admin", "deploy", f"--sysroot={path}", "--os=rhcos", "--retain", "--no-merge", "--karg=root=/dev/vda",
         "--karg=rw", f"--origin-file={origin}", image.name])
    origin.unlink()
    commit = run(["ostree", "rev-parse", repo, image.name]).strip()
    # Deployments are immutable folders; a copy of the sysroot must be able to hold mount points.
    run(["chattr", "-i", f"{path}/{STATEROOT}/deploy/{commit}.0"])
    # Where the kernel has SELinux, ostree labels what it makes in a deployment.
    selinux.label(path / STATEROOT / f"deploy/{commit}.0", "/etc", "/var")


@dataclass(frozen=True)
class BootEntry:
    """One boot loader entry of a sysroot (Boot Loader Specification, type 1)."""

    version: int
    options: str
    linux: str
    initrd: str

    @property
    def ostree(self):
        words = [word for word in self.options.split() if word.startswith("ostree=")]
        return words[0].removeprefix("ostree=")


def parse_entry(text):
    """Reads one loader entry."""
    fields = dict(line.split(None, 1) for line in text.splitlines() if " " in line)
    return BootEntry(int(fields["version"]), fields["options"], fields["linux"], fields.get("initrd", ""))


def boot_entries(path):
    """The loader entries of a sysroot, the one that is booted first."""
    entries = [parse_entry(file.read_text(encoding="ascii"))
               for file in (path / "boot/loader/entries").glob("*.conf")]
    return sorted(entries, key=lambda entry: -entry.version)


def deployment(path, entry):
    """The folder of the deployment that `entry` boots."""
    link = path / entry.ostree.lstrip("/")
    return Path(os.path.realpath(link))


def image_entry(path, image):
    """The loader entry that boots `image`."""
    for entry in boot_entries(path):
        origin = deployment(path, entry)
        text = origin.with_name(origin.name + ".origin").read_text(encoding="ascii")
        if image.digest in text:
            return entry
    raise LookupError(f"no deployment of {image.name} in {path}")


def choose_image(path, image):
    """Makes `image` the one that the next boot takes, as an installer does."""
    entry = image_entry(path, image)
    text = (f"title {image.name}\nversion 8\noptions {entry.options}\nlinux {entry.linux}\n"
            + (f"initrd {entry.initrd}\n" if entry.initrd else ""))
    (path / "boot/loader/entries/chosen.conf").write_text(text, encoding="ascii")


def qemu_disk(cache):
    """A folder: the sysroot as an ext4 disk, beside it the kernel and initramfs of the boot image."""
    source = sysroot(cache)
    key = fingerprint(source.name, "ext4")

    def build(path):
        path.mkdir()
        entry = image_entry(source, IMAGES["rhel9-boot"])
        shutil.copy(source / "boot" / entry.linux.lstrip("/"), path / "vmlinuz")
        shutil.copy(source / "boot" / entry.initrd.lstrip("/"), path / "initramfs.img")
        make_disk(source, path / "disk.ext4")

    return cache.product("qemu-disk", key, build)


def make_disk(source, disk):
    """Makes a sysroot an ext4 disk."""
    with open(disk, "wb") as handle:
        handle.truncate(2 << 30)
    run(["mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=1,nodiscard", "-O", "^metadata_csum_seed", "-d", str(source), str(disk)])


def disk_boot_entry(disk):
    """The loader entry that a powered-off QEMU disk boots next, read without mounting it."""
    listing = _debugfs(disk, "ls -p /boot/loader/entries")
    names = [line.split("/")[5] for line in listing.splitlines() if line.count("/") > 5]
    entries = [parse_entry(_debugfs(disk, f"cat /boot/loader/entries/{name}"))
               for name in names if name.endswith(".conf")]
    return max(entries, key=lambda entry: entry.version)


def _debugfs(disk, request):
    done = subprocess.run(["debugfs", "-R", request, str(disk)], capture_output=True, text=True,
                          errors="replace", check=True)
    return done.stdout

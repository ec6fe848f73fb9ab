"""SELinux on the RHEL 9 boot image: Debian's policy, and labels as `setfiles` gives them.

In a container nothing of it counts: the kernel is the host's. QEMU machines boot with it, enforcing.
"""

import os
import shutil

from .cache import remove
from .paths import HARNESS
from .trees import run

KERNEL = "security=selinux selinux=1 enforcing=1"
OFF = "audit=0 selinux=0"
CONFIG = "SELINUX=enforcing\nSELINUXTYPE=default\n"
CONTEXTS = "etc/selinux/default/contexts/files/file_contexts"
# What Debian's policy does not know of CoreOS: where homes are, the links at the top, that a generator of ostree's mounts /var; nor that a service
# may run systemd-notify, as the stand-ins do.
PLACES = "/var/roothome /root\n/var/home /home\n"
OWN_CONTEXTS = ((r"/(home|media|mnt|opt|ostree|root|srv|usr/local)", "-l", "root_t"),
                ("/usr/bin/systemd-notify", "--", "bin_t"),
                ("/usr/lib/systemd/system-generators/ostree-system-generator", "--", "bin_t"))
LABEL = "security.selinux"
# What is outside of the deployments, as RHEL's policy has it.
OUTSIDE = {"boot": "boot_t", "ostree": "usr_t"}


def context(kind):
    """The label of a file of this type."""
    return f"system_u:object_r:{kind}:s0"


def furnish(tree):
    """Gives a tree what it is to have of SELinux, and its files their labels. It still has its /etc."""
    if not has_policy(tree):
        shutil.copytree(HARNESS / "no-selinux", tree, symlinks=True, dirs_exist_ok=True)
        return
    # What the policy was linked from.
    for source in ("var/lib/selinux", "usr/share/selinux"):
        remove(tree / source)
    (tree / "etc/selinux/config").write_text(CONFIG, encoding="ascii")
    with open(tree / f"{CONTEXTS}.subs_dist", "a", encoding="ascii") as places:
        places.write("\n" + PLACES)
    (tree / f"{CONTEXTS}.local").write_text("".join(f"{path} {kind} {context(of)}\n" for path, kind, of in OWN_CONTEXTS), encoding="ascii")
    # Compiled already: an emulated CPU takes seconds for it, in every program that labels.
    for compiled in (tree / CONTEXTS).parent.glob("*.bin"):
        compiled.replace(compiled.with_suffix(""))
    label(tree, "/")


def has_policy(tree):
    """Whether a tree or a deployment has a policy."""
    return (tree / CONTEXTS).exists()


def label(tree, *paths):
    """Has the tree's own setfiles label these paths, and what is below them; without a policy nothing is labelled."""
    if not has_policy(tree):
        return
    run(["unshare", "--mount", "sh", "-ec", 'mount --bind /proc "$1/proc"; exec chroot "$@"', "sh", str(tree),
         "setfiles", "-F", "-e", "/proc", f"/{CONTEXTS}", *paths])


def label_outside(sysroot):
    """Labels what is beside the deployments; they have theirs from their commits, and /var what it had in the tree."""
    for folder, folders, files in os.walk(sysroot):
        for path in (os.path.join(folder, name) for name in [".", *folders, *files]):
            top = os.path.relpath(path, sysroot).split("/")[0]
            if LABEL not in os.listxattr(path, follow_symlinks=False):
                os.setxattr(path, LABEL, context(OUTSIDE.get(top, "root_t")).encode(), follow_symlinks=False)
        folders[:] = [name for name in folders if name not in ("objects", "var") and not name.endswith(".0")]

"""A node whose disk is a file, booted with QEMU: Ignition runs in its initramfs, as on real hardware."""

import json
import shutil
import subprocess
import time

from . import agent, selinux
from .accelerator import accelerator
from .boot import Boot
from .disk import write_file
from .mcs import MachineConfigServer
from .patience import QEMU_BOOT
from .qemu import HOST, Machine
from .sysroot import IMAGES, boot_entries, deployment, disk_boot_entry, image_entry, make_disk, qemu_disk, sysroot

# mitigations, nokaslr, init_on_alloc: an emulated CPU is slow enough. net.ifnames: the initramfs knows one name. loglevel: on a busy machine the kernel
# complains about its clock, in the middle of whatever is on the console.
KERNEL = ("console=tty0 console=ttyS0,115200n8 ignition.platform.id=qemu net.ifnames=0 mitigations=off nokaslr "
          "init_on_alloc=0 apparmor=0 systemd.show_status=yes loglevel=4")


class QemuNode:
    """Built like nspawn's Node, and used like it."""

    def __init__(self, cache, work, setup, log):
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        self.setup = setup
        self.log = log
        self.work = work
        self.boots = []
        self._built = qemu_disk(cache)
        self._base = sysroot(cache)
        self.disk = work / "disk.ext4"
        if setup.delivery == "baked":
            self._bake()
        else:
            subprocess.run(["cp", "--sparse=always", str(self._built / "disk.ext4"), str(self.disk)], check=True)
        write_file(self.disk, "/boot/loader/entries/chosen.conf", self._chosen(), selinux.context("boot_t"))
        aleph = setup.aleph_text()
        if aleph is not None:
            write_file(self.disk, "/.coreos-aleph-version.json", aleph, selinux.context("etc_runtime_t"))
        if setup.named is not None:
            root = deployment(self._base, self._entry()).relative_to(self._base.resolve())
            write_file(self.disk, f"/{root}/usr/lib/os-release", setup.named.own_words, selinux.context("lib_t"))
        self.server = MachineConfigServer(setup.served())
        pointer = setup.user_data(self.server.url(HOST))
        (work / "pointer.ign").write_text(json.dumps(pointer), encoding="utf-8")

    def _bake(self):
        """A disk of its own, from the sysroot with the agent in its boot image."""
        folders = [self.work / name for name in ("upper", "overlay", "sysroot")]
        for folder in folders:
            folder.mkdir()
        upper, overlay, whole = folders
        subprocess.run(["mount", "-t", "overlay", "skewguard-boot", "-o", f"lowerdir={self._base},upperdir={upper},workdir={overlay}", str(whole)],
                       check=True)
        try:
            root = deployment(whole, self._entry())
            selinux.label(root, *agent.install(root))
            make_disk(whole, self.disk)
        finally:
            subprocess.run(["umount", str(whole)], check=True)

    def _entry(self):
        return image_entry(self._base, IMAGES[self.setup.image])

    def _chosen(self):
        entry = self._entry()
        highest = boot_entries(self._base)[0].version
        return f"title chosen\nversion {highest + 1}\noptions {entry.options}\nlinux {entry.linux}\ninitrd {entry.initrd}\n"

    def boot(self, kernel_arguments="", timeout=QEMU_BOOT, clock=None):
        """Powers the machine on, with its clock at now or at `clock`. Only the first boot has ignition.firstboot, as GRUB's stamp file does it."""
        entry = disk_boot_entry(self.disk)
        first = "" if self.boots else "ignition.firstboot"
        arguments = " ".join(f"{entry.options} {KERNEL} {selinux.KERNEL} {first} {kernel_arguments}".split())
        machine = Machine([
            "-kernel", str(self._built / "vmlinuz"), "-initrd", str(self._built / "initramfs.img"),
            "-append", arguments,
            "-drive", f"file={self.disk},format=raw,if=virtio,cache=unsafe",
            "-fw_cfg", f"name=opt/com.coreos/config,file={self.work / 'pointer.ign'}",
            *(["-rtc", f"base={clock}"] if clock else [])], self.work)
        boot = Boot(machine, len(self.boots) + 1, time.monotonic() + timeout)
        self.boots.append(boot)
        self.log(f"boot {boot.number} ({accelerator()}): {first} {kernel_arguments}".rstrip(": "))
        return boot

    def close(self):
        """Takes the power away from whatever still runs."""
        for boot in self.boots:
            boot.machine.kill()
        self.server.close()

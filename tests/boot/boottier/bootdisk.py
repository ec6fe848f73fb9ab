"""A whole boot image in one qcow2 file, which a machine starts by itself: BIOS, GRUB, the first-boot stamp, an ostree sysroot.

It stands in for an RHCOS image with --image. Everything is done to plain files: no mount, no loop device.
"""

import json
import struct
import subprocess
from pathlib import Path

from . import qemunode, selinux
from .cache import fingerprint, remove
from .disk import write_file
from .sysroot import IMAGES, image_entry, qemu_disk, sysroot
from .trees import BuildError, run

GRUB = Path("/usr/lib/grub/i386-pc")
MODULES = "biosdisk part_msdos ext2 normal test linux boot"
SECTOR = 512
# Where the partition begins, in sectors; GRUB's core goes into the gap before it.
START = 2048
LINUX = 0x83
# CoreOS's way: Ignition runs while the stamp is there (grub.cfg of coreos-assembler).
CONFIG = """set ignition_firstboot=""
if [ -f /boot/ignition.firstboot ]; then
    set ignition_firstboot="ignition.firstboot"
fi
linux /boot{linux} {options} $ignition_firstboot
initrd /boot{initrd}
boot
"""
# On a user's image nothing but the check writes to the second serial port.
NO_SHELL = "systemd.mask=harness-shell@ttyS1.service"


def boot_image(cache):
    """The file: the RHEL 9 boot image, without skewguard."""
    disk = qemu_disk(cache)
    key = fingerprint(disk.name, Path(__file__), qemunode.KERNEL, selinux.OFF)
    return cache.product("boot-image", key, lambda path: _build(disk, sysroot(cache), path)) / "rhcos.qcow2"


def _build(disk, source, path):
    path.mkdir()
    root, raw = path / "root.ext4", path / "disk.raw"
    run(["cp", "--sparse=always", str(disk / "disk.ext4"), str(root)])
    image = IMAGES["rhel9-boot"]
    entry = image_entry(source, image)
    options = f"{entry.options.replace('root=/dev/vda ', 'root=/dev/vda1 ')} {qemunode.KERNEL} {selinux.OFF} {NO_SHELL}"
    write_file(root, "/boot/grub/grub.cfg", CONFIG.format(linux=entry.linux, initrd=entry.initrd, options=options))
    write_file(root, "/boot/ignition.firstboot", "")
    write_file(root, "/.coreos-aleph-version.json", json.dumps({"build": image.version, "imgid": "rhcos-qemu.x86_64.qcow2"}))
    run(["dd", f"if={root}", f"of={raw}", "bs=1M", f"seek={START * SECTOR >> 20}", "conv=sparse", "status=none"])
    core = path / "core.img"
    run(["grub-mkimage", "--format=i386-pc", f"--directory={GRUB}", f"--output={core}",
         "--prefix=(hd0,msdos1)/boot/grub", *MODULES.split()])
    with open(raw, "r+b") as handle:
        handle.write(_first_sectors(core.read_bytes(), root.stat().st_size // SECTOR))
    _to_qcow2(raw, path / "rhcos.qcow2")
    for file in (root, raw, core):
        remove(file)


def _first_sectors(core, size):
    """The master boot record with GRUB's boot code and one partition, and behind it GRUB's core."""
    record = bytearray((GRUB / "boot.img").read_bytes())
    core = bytearray(core)
    if len(record) != SECTOR or len(core) > (START - 1) * SECTOR:
        raise BuildError("GRUB does not fit before the first partition")
    # As grub-bios-setup does it: where boot.img finds the first sector of the core, and that one the rest.
    struct.pack_into("<Q", record, 0x5C, 1)
    struct.pack_into("<Q", core, SECTOR - 12, 2)
    # The partition table, where boot.img has code for floppies: active, no cylinders and heads, type, first sector, number of sectors.
    struct.pack_into("<B3sB3sII48x", record, 0x1BE, 0x80, b"\xfe\xff\xff", LINUX, b"\xfe\xff\xff", START, size)
    return bytes(record + core)


def _to_qcow2(raw, image):
    """Converts without qemu-img: its Debian package cannot be installed beside every qemu-system-x86."""
    commands = [("qmp_capabilities", {}),
                ("drive-backup", {"device": "raw", "target": str(image), "format": "qcow2", "sync": "full", "job-id": "convert"})]
    with subprocess.Popen(
            ["qemu-system-x86_64", "-machine", "none", "-nodefaults", "-display", "none", "-S", "-qmp", "stdio",
             "-blockdev", f"driver=raw,node-name=raw,file.driver=file,file.filename={raw}"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as qemu:
        for name, arguments in commands:
            qemu.stdin.write(json.dumps({"execute": name, "arguments": arguments}) + "\n")
        qemu.stdin.flush()
        answers = []
        for line in qemu.stdout:
            answers.append(line)
            if '"BLOCK_JOB_COMPLETED"' in line or '"error"' in line:
                break
        qemu.kill()
    if not answers or '"error"' in answers[-1] or '"BLOCK_JOB_COMPLETED"' not in answers[-1]:
        raise BuildError(f"QEMU made no qcow2 image:\n{''.join(answers)[-2000:]}")

"""What runs a virtual machine: the processor itself (KVM), or an emulation of one (TCG).

A /dev/kvm with which QEMU starts says little. Under some hypervisors every instruction of a guest is emulated by the kernel: firmware runs, but a
kernel would take hours to unpack. So a small guest is tried first, and a machine that shows nothing is started once more without KVM.
"""

import os
import subprocess
import tempfile
from pathlib import Path

from .patience import PROBE
from .progress import say

VARIABLE = "SKEWGUARD_BOOT_ACCELERATOR"
# How many processors a machine has; for child processes.
PROCESSORS = "SKEWGUARD_BOOT_PROCESSORS"
DEVICE = "/dev/kvm"
# A boot sector. In real mode it asks the BIOS for EDD, as kernels do, until its timer has ticked 18 times (1 s); in protected mode it counts
# to 2^28; then it writes 0x10 to port 0xf4, which ends QEMU with status 33. Emulation (TCG) takes 2.4 s for all of it, working KVM 1.5 s.
GUEST = bytes.fromhex(
    "31c08ed88ed0bc007cfb"              # xor ax,ax; mov ds,ax; mov ss,ax; mov sp,0x7c00; sti
    "8b3e6c04"                          # mov di,[0x46c]
    "b441bbaa55b280cd13"                # again: mov ah,0x41; mov bx,0x55aa; mov dl,0x80; int 0x13
    "a16c0429f883f81272ed"              # mov ax,[0x46c]; sub ax,di; cmp ax,18; jb again
    "fa0f0116587c0f20c00c010f22c0"      # cli; lgdt [gdtr]; mov eax,cr0; or al,1; mov cr0,eax
    "ea347c0800"                        # jmp 8:protected
    "b9000000104975fd"                  # protected: mov ecx,0x10000000; count: dec ecx; jnz count
    "b010e6f4f4ebfd"                    # mov al,0x10; out 0xf4,al; end: hlt; jmp end
    "8d742600900000000000000000"        # padding; gdt: nothing
    "ffff0000009bcf00"                  # code, all memory, 32 bits
    "0f00487c0000")                     # gdtr
RAN = 33


def accelerator():
    """"kvm" where a guest really runs with it, else "tcg". Tried once; the environment has the answer, also for child processes."""
    if os.environ.get(VARIABLE) not in ("kvm", "tcg"):
        os.environ[VARIABLE] = "kvm" if _runs() else "tcg"
    return os.environ[VARIABLE]


def arguments(processor):
    """QEMU's arguments for it; `processor` is the one that is emulated."""
    chosen = ["-accel", "kvm", "-cpu", "host"] if accelerator() == "kvm" else ["-accel", "tcg", "-cpu", processor]
    return [*chosen, "-smp", os.environ.get(PROCESSORS, "2")]


def without_kvm(why):
    """From here on machines are emulated."""
    say(f"*** NO KVM FROM HERE ON: {why}; machines are emulated instead (TCG), which takes minutes where KVM takes seconds ***")
    os.environ[VARIABLE] = "tcg"


def _runs():
    """Whether the small guest comes to its end with KVM."""
    if not os.access(DEVICE, os.R_OK | os.W_OK):
        return False
    with tempfile.TemporaryDirectory(prefix="skewguard-boot-") as folder:
        disk = Path(folder, "disk")
        disk.write_bytes((GUEST.ljust(510, b"\0") + b"\x55\xaa").ljust(1 << 20, b"\0"))
        try:
            done = subprocess.run(
                ["qemu-system-x86_64", "-machine", "q35", "-accel", "kvm", "-cpu", "host", "-m", "64", "-nodefaults", "-display", "none",
                 "-no-reboot", "-device", "isa-debug-exit,iobase=0xf4,iosize=1", "-drive", f"file={disk},format=raw,if=virtio"],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PROBE, check=False)
            why = f"QEMU ended with {done.returncode}: {done.stdout.strip()[-300:]}"
        except subprocess.TimeoutExpired:
            why = f"a guest of 90 bytes is not through after {PROBE} s"
        else:
            if done.returncode == RAN:
                return True
    without_kvm(f"{DEVICE} is there, but {why}")
    return False

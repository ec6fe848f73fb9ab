#!/bin/bash
# dracut module: what CoreOS adds to the initramfs around Ignition and Debian does not have.

check() {
    return 0
}

depends() {
    echo ignition ostree
}

installkernel() {
    instmods virtio_pci virtio_blk virtio_net qemu_fw_cfg ext4
}

install() {
    inst_multiple ip modprobe ostree setfiles useradd groupadd usermod id pgrep
    for unit in network-up.service var-up.service; do
        inst_simple "$moddir/$unit" "$systemdsystemunitdir/$unit"
        mkdir -p "$initdir$systemdsystemunitdir/ignition-complete.target.requires"
        ln_r "$systemdsystemunitdir/$unit" "$systemdsystemunitdir/ignition-complete.target.requires/$unit"
    done
}

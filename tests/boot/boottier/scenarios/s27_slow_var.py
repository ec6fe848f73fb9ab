"""A first run that runs out of its time because /var is slow: it is held by then, and every later boot is, too. On every systemd there is."""

import shutil

from ..looks import policy
from ..paths import PROJECT
from ..scenario import scenario
from ..stand_in import EACH
from .s20_gate import AGENT, REAL, there
from .s25_trouble import refused_whole
from .s26_half_done import HANGS, hanging

OURS = "/var/lib/skewguard"
CERTIFICATE = "lib/kubelet/pki/kubelet-client-current.pem"
OLD = PROJECT / "tests/data/certificates/kubelet.pem"  # of 2026-11-21


def out_of_time(world, node):
    """The first boot: /var takes nothing from when the decision begins until its 50 s are over and it is killed."""
    program = node.root / AGENT
    shutil.copy(program, node.root / REAL[1:])
    program.write_text(f'#!/bin/sh\ncase "$*" in *enforce)\n{HANGS};;\nesac\nexec {REAL} "$@"\n', encoding="ascii")
    program.chmod(0o755)
    boot = node.boot(timeout=400)
    with hanging(world, boot, OURS):
        there(boot, "test -e /run/skewguard/refused")
        there(boot, "journalctl --sync; journalctl -b -u skewguard.service -o cat | grep -q 'sending signal KILL'")
        world.expect.that(not boot.exists(f"{OURS}/verdict.json"), "nothing in /var when the time is over")
    boot.settle()
    refused_whole(world, boot, "on the first boot")
    boot.power_off()
    shutil.copy(node.root / REAL[1:], program)


def stays_held(world, node):
    """Boots 2 and 3."""
    for number in (2, 3):
        boot = node.boot().settle()
        refused_whole(world, boot, f"on boot {number}")
        boot.power_off()
    node.close()


@scenario("slow-kept-var", "a certificate of an earlier installation, and a /var so slow that the first run is killed after its stamp: held on boots 1, 2 and 3", timeout=1200)
def slow_kept_var(world):
    for image, target in EACH:
        node = world.node(image=image.name, target=target.name, policy=policy(rhelMajors=[11]))
        certificate = node.var / CERTIFICATE
        certificate.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(OLD, certificate)
        out_of_time(world, node)
        stays_held(world, node)


@scenario("slow-boot-space", "refused for the space in /boot, and killed after its stamp because /var is slow: the next boots know what there was", timeout=1200)
def slow_boot_space(world):
    for image, target in EACH:
        node = world.node(image=image.name, target=target.name, policy=policy(minimumBootFreeMiB=100), files={"/etc/fstab": "tmpfs /boot tmpfs size=64m 0 0\n"})
        out_of_time(world, node)
        stays_held(world, node)

"""Whole machines: own kernel, Ignition in the initramfs, serial console and screen."""

import time

from ..looks import ALLOWING, goes_on, journal_entry, policy, refused
from ..qemu import HOST
from ..scenario import scenario
from ..stand_in import BOOT
from .s10_verdicts import FACTS, TOO_OLD
from .s40_report import api_server, reported


def machine(world, **setup):
    """A machine that gets its config as a cloud machine does: pointer in fw_cfg, the rest over HTTP."""
    return world.qemu(kernel_arguments="", **setup)


@scenario("full-refused", "QEMU: refused and reported, with a picture of its screen; let through (on el8 by `allow`) it updates in two steps", tier="full",
          el8=True, alone=True)
def full_refused(world):
    expect = world.expect
    server = api_server(world, host=HOST)
    node = machine(world, delivery="machineconfig", policy=policy(), kubeconfig=server.kubeconfig,
                   files={"/etc/hostname": "worker-0\n", "/etc/stand-in/two-step": ""})
    boot = node.boot().settle()
    refused(world, node, boot, message=TOO_OLD, **FACTS)
    reported(world, server, boot)
    # The screen has a getty of its own, which draws when it likes; nothing but the picture depends on this pause.
    time.sleep(5)
    boot.machine.picture(world.folder / "screen.png")
    asked = [request for request in node.server.requests if request["agent"].startswith("Ignition")]
    expect.equal([request["path"] for request in asked], ["/config/worker"], "what Ignition fetched")
    (world.folder / "critical-chain.txt").write_text(
        boot.shell("systemd-analyze; systemd-analyze critical-chain; systemd-analyze blame"), encoding="utf-8")
    # The ways through: with ssh, and on the same node again, the one that needs none.
    if BOOT.suite == "el8":
        boot.shell("/run/skewguard/bin/skewguard allow")
    else:
        boot.power_off()
        boot = node.boot("skewguard=off")
    last = goes_on(world, node, boot)
    # It has the served config still, and is not blocked.
    expect.contains(" ".join(last.ran()), ["rebase-not-needed", "crio.service", "kubelet.service"], "what ran in the last boot")
    expect.equal(last.journal("_SYSTEMD_UNIT=skewguard.service", "SKEWGUARD_ACTION=Block"), [], "blocks in the last boot")


@scenario("full-allowed", "QEMU: allowed, delivered by render ignition, with a clock that begins in 1970; rebase, reboot, kubelet", tier="full", el8=True)
def full_allowed(world):
    node = machine(world, delivery="ignition", wiring="a", policy=ALLOWING)
    second = goes_on(world, node, node.boot(clock="1970-01-01T00:00:00"))
    # systemd sets such a clock to the day when it was built itself.
    began = float(second.shell("journalctl -b -1 -o short-unix -q --no-pager | head -n 1").split()[0])
    world.expect.that(began < time.time() - 30 * 24 * 3600, "a first boot in the past", began)
    journal_entry(world.expect, second, "Allowed", "Proceed", "WithinLimits", before=True, **FACTS)
    (world.folder / "critical-chain.txt").write_text(
        second.shell("systemd-analyze; systemd-analyze critical-chain; systemd-analyze blame"), encoding="utf-8")
    second.power_off()

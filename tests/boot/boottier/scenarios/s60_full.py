"""Whole machines: own kernel, Ignition in the initramfs, serial console and screen; with SELinux, which enforces."""

import time

from ..denials import concern_us, denials
from ..looks import ALLOWING, goes_on, joined, journal_entry, policy, refused
from ..nspawn import BootError
from ..qemu import HOST
from ..scenario import scenario
from ..sysroot import OLD_NAME
from .s10_verdicts import FACTS
from .s25_trouble import refused_whole
from .s30_letting_through import allow_on_console
from .s40_report import api_server, reported

UNPACKED = "/run/skewguard/bin/skewguard"
REFUSED = "skewguard: NODE REFUSED"
MESSAGE = "/etc/issue.d/skewguard.issue"
# README's first picture: 4.22 by the limits of `policy init`, which are enforced.
RELEASE = "4.22.3"
STARTING = {**policy(), "limits": [{"deniedVersions": []}, {"release": "4.22", "minimumOCPVersion": "4.13.0", "minimumRHCOSVersion": "9.2"}]}
STARTING_FACTS = {"SKEWGUARD_BOOT_IMAGE": OLD_NAME.version, "SKEWGUARD_RHEL": OLD_NAME.rhel, "SKEWGUARD_OCP": OLD_NAME.ocp, "SKEWGUARD_RELEASE": RELEASE}
PICTURED = ["NODE REFUSED: ITS BOOT IMAGE IS TOO OLD FOR THIS CLUSTER", f"boot image {OLD_NAME.version} (RHEL 8.6, OCP 4.12)",
            "OCP 4.13.0 or newer", "RHCOS 9.2 or newer", "limit 4.22, cluster 4.22.3", "Ask #platform on chat."]


def machine(world, **setup):
    """A machine that gets its config as a cloud machine does: pointer in fw_cfg, the rest over HTTP."""
    return world.qemu(kernel_arguments="", **setup)


def labelled(world, boot):
    """SELinux enforces, and what Ignition and the agent wrote has the labels that the policy has for it."""
    world.expect.equal(boot.read("/sys/fs/selinux/enforce"), "1", "SELinux enforcing")
    written = "/etc/skewguard /etc/systemd/system /etc/issue /etc/issue.d /etc/motd.d /etc/kubernetes /var/lib/skewguard"
    world.expect.equal(boot.shell(f"restorecon -Rniv {written}"), "", "what restorecon would change")


def nothing_denied(world, boot, number=0):
    """SELinux denied nothing that has to do with us, in this boot or in the one before it (-1)."""
    world.expect.equal(concern_us(denials(boot, number)), [], f"denials in boot {boot.number + number}")


@scenario("full-refused", "QEMU (SELinux enforcing): refused and reported, with a picture of its screen; `allow` on its console, and it updates in two steps",
          tier="full", alone=True)
def full_refused(world):
    expect = world.expect
    server = api_server(world, host=HOST)
    node = machine(world, delivery="machineconfig", policy=STARTING, release=RELEASE, named=OLD_NAME, kubeconfig=server.kubeconfig,
                   files={"/etc/hostname": "worker-0\n", "/etc/stand-in/two-step": ""})
    boot = node.boot().settle()
    refused(world, node, boot, message=PICTURED, **STARTING_FACTS)
    reported(world, server, boot, image=OLD_NAME.version, release=RELEASE)
    # The screen has a getty of its own, which draws when it likes; nothing but the picture depends on this pause.
    time.sleep(5)
    boot.machine.picture(world.folder / "screen.png")
    asked = [request for request in node.server.requests if request["agent"].startswith("Ignition")]
    expect.equal([request["path"] for request in asked], ["/config/worker"], "what Ignition fetched")
    (world.folder / "critical-chain.txt").write_text(
        boot.shell("systemd-analyze; systemd-analyze critical-chain; systemd-analyze blame"), encoding="utf-8")
    labelled(world, boot)
    allow_on_console(expect, boot, UNPACKED)
    last = goes_on(world, node, boot)
    # It has the served config still, and is not blocked.
    expect.contains(" ".join(last.ran()), ["rebase-not-needed", "crio.service", "kubelet.service"], "what ran in the last boot")
    expect.equal(last.journal("_SYSTEMD_UNIT=skewguard.service", "SKEWGUARD_ACTION=Block"), [], "blocks in the last boot")
    nothing_denied(world, last, -1)
    nothing_denied(world, last)
    # And a denial is found where there is one: agetty may not read a message that is labelled wrongly.
    last.shell(f"mkdir -p /etc/issue.d; touch {MESSAGE}; chcon -t default_t {MESSAGE}; systemctl restart getty@tty1.service")
    last.shell("until journalctl -b | grep -q 'avc: *denied.*skewguard'; do sleep 1; done")
    expect.equal(concern_us(denials(last)), ["getty_t read default_t file, comm=agetty, name=skewguard.issue"], "denials of what is labelled wrongly")


@scenario("full-allowed", "QEMU (SELinux enforcing): allowed, baked into the image, with a clock that begins in 1970; rebase, reboot, kubelet",
          tier="full")
def full_allowed(world):
    node = machine(world, delivery="baked", wiring="a", policy=ALLOWING)
    # An argument that changes nothing here, but is read from a real kernel command line.
    second = goes_on(world, node, node.boot("skewguard=enforce", clock="1970-01-01T00:00:00"))
    # systemd sets such a clock to the day when it was built itself.
    began = float(second.shell("journalctl -b -1 -o short-unix -q --no-pager | head -n 1").split()[0])
    world.expect.that(began < time.time() - 30 * 24 * 3600, "a first boot in the past", began)
    journal_entry(world.expect, second, "Allowed", "Proceed", "WithinLimits", before=True, SKEWGUARD_OVERRIDE="enforce", **FACTS)
    (world.folder / "critical-chain.txt").write_text(
        second.shell("systemd-analyze; systemd-analyze critical-chain; systemd-analyze blame"), encoding="utf-8")
    nothing_denied(world, second, -1)
    nothing_denied(world, second)
    second.power_off()


@scenario("full-power-cuts", "QEMU (SELinux enforcing): the power fails in the decision, after it, and in `allow`, and what was not synced is lost: refused, "
          "or goes on whole", tier="full", asked=True)
def power_cuts(world):
    expect = world.expect
    node = machine(world, delivery="machineconfig", policy=policy())
    boot = node.boot()
    # What Ignition wrote is on the disk: on a CoreOS it would run again otherwise.
    boot.shell("sync")
    boot.shell("until [ -e /etc/skewguard/boot-image.json ]; do sleep 0.02; done", boot.deadline - time.monotonic())
    boot.machine.kill()

    boot = node.boot()
    if boot.console.wait_for(REFUSED, boot.deadline) is None:
        raise BootError("no refusal on the console")
    boot.shell("echo synced >/var/synced; sync; echo lost >/var/lost")
    boot.machine.kill()

    boot = node.boot().settle()
    expect.equal((boot.read("/var/synced"), boot.read("/var/lost") or ""), ("synced\n", ""), "what was lost in a power cut")
    refused_whole(world, boot, "after two power cuts")
    boot.log_in()
    boot.console.send(f"{UNPACKED} allow\n")
    if boot.console.wait_for("This node goes on", boot.deadline) is None:
        raise BootError("skewguard allow did not come to its end")
    boot.machine.kill()

    boot = node.boot().settle()
    if boot.exists("/run/skewguard/refused"):
        refused_whole(world, boot, "after a power cut in allow")
        boot.shell(f"{UNPACKED} allow")
        boot = goes_on(world, node, boot)
    else:
        joined(world, node, boot)
    nothing_denied(world, boot)

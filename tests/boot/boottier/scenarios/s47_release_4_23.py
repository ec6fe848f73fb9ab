"""First boots into OpenShift 4.23: a boot image of RHEL 8, for which there is no daemon any more, and the firstboot unit that mounts over a file."""

import time

from ..looks import CONFIG, goes_on, policy, refused
from ..patience import ANSWER
from ..scenario import scenario
from .s30_letting_through import allow_on_console
from .s40_report import api_server
from .s45_stalled import FIRSTBOOT, QUICK, TOLD, after_an_earlier_boot, begun, told

UNITS = {"release": "4.23.0", "wiring": "4.23/baremetal/worker"}
RHEL8 = "412.86.202303211731-0"
# What the loader of RHEL 8 says of a program of RHEL 9.
LOADER = ("/run/bin/machine-config-daemon: /lib64/libc.so.6: version `GLIBC_2.34' not found (required by "
          "/run/bin/machine-config-daemon)\n")
DROP_IN = f"/etc/systemd/system/{FIRSTBOOT[0]}.d/50-scenario.conf"
# machine-config-operator#6130: the daemon of the release is executed in place, and ends at once.
NO_DAEMON = {DROP_IN: "[Service]\nExecStartPre=\nExecStart=\nExecStart=/bin/sh -c 'cat /etc/stand-in/loader >&2; exit 1'\n",
             "/etc/stand-in/loader": LOADER}
IMAGE_257 = {"image": "rhel10-boot", "target": "rhel10-target"}
REFUSING, ALLOWING = policy(rhelMajors=[9, 10]), policy(rhelMajors=[8, 9, 10])
# machine-config-operator#6122: ostree does not sync, by a mount over its configuration.
REPOSITORY = "/sysroot/ostree/repo/config"
NOTES = "/var/log/mounts"
IS_MOUNTED = f"grep -q \" {REPOSITORY} \" /proc/self/mountinfo"
FSYNC_OFF = {DROP_IN: f"""[Service]
ExecStartPre=-/bin/sh -c 'cp {REPOSITORY} /run/repository && echo "[core]" >>/run/repository && echo "fsync = no" >>/run/repository'
ExecStartPre=-/bin/sh -c 'mount --bind /run/repository {REPOSITORY}; {IS_MOUNTED} && echo mounted >>{NOTES}'
ExecStopPost=-/usr/bin/umount {REPOSITORY}
ExecStopPost=-/bin/sh -c '{IS_MOUNTED} && echo left >>{NOTES} || echo gone >>{NOTES}'
"""}


def old(world, setup, **more):
    """A node of a boot image of RHEL 8."""
    return world.node(aleph={"build": RHEL8, "imgid": f"rhcos-{RHEL8}-metal.x86_64.raw"}, os_release=RHEL8, files={**NO_DAEMON, **more.pop("files", {})},
                      **UNITS, **setup, **more)


def no_daemon_refused(world, setup=None):
    """It is held, though nothing makes the kubelet wait for the daemon; and `allow` lets nothing but the daemon go first."""
    expect = world.expect
    node = old(world, setup or {}, policy=REFUSING)
    boot = node.boot().settle()
    looks = {"reason": "RHELMajorUnsupported", "message": ["NODE REFUSED", RHEL8], "SKEWGUARD_BOOT_IMAGE": RHEL8}
    refused(world, node, boot, **looks)
    expect.equal(boot.property(FIRSTBOOT[0], "ActiveState"), "inactive", "the firstboot unit")
    expect.that("GLIBC_2.34" not in boot.journal_text("-u", FIRSTBOOT[0]), "no start of the daemon")
    boot.power_off()
    # It stays so, also for a kubelet that is asked for.
    boot = node.boot().settle()
    expect.that(not boot.succeeds("systemctl start kubelet.service"), "the start of the kubelet to fail")
    refused(world, node, boot, attempts=True, **looks)
    # Let through, the node does what it would have done, but the kubelet does not go before the rebase.
    boot.shell("PATH=$PATH:/usr/local/bin:/run/skewguard/bin skewguard allow", timeout=2 * ANSWER)
    until = time.monotonic() + 2 * ANSWER
    while boot.property(FIRSTBOOT[0], "ActiveState") != "failed" and time.monotonic() < until:
        time.sleep(1)
    boot.wait_started()
    expect.equal(boot.property(FIRSTBOOT[0], "ActiveState"), "failed", "the firstboot unit after allow")
    expect.that("kubelet.service" not in boot.ran(), "no kubelet on the old OS after allow", boot.ran())
    expect.that(boot.exists(CONFIG), "the first boot not finished")


def no_daemon_allowed(world, setup=None):
    """Nothing of ours is in the way of what it does without us; and why it hangs is told."""
    expect = world.expect
    server = api_server(world)
    # Without an identity for its kubelet.
    node = old(world, setup or {}, policy={**ALLOWING, "stalledAfterMinutes": QUICK["stalledAfterMinutes"]}, delivery="machineconfig",
               kubeconfig=server.kubeconfig)
    boot = node.boot().settle()
    ran = boot.ran()
    expect.that("kubelet.service" in ran and "crio.service" in ran, "the boot image's own kubelet", ran)
    expect.that("rebase" not in ran, "no rebase", ran)
    expect.equal(boot.failed(), [FIRSTBOOT[0]], "systemctl --failed")
    expect.that(boot.exists(CONFIG) and not boot.exists("/run/skewguard/refused"), "a first boot that is not held")
    boot.power_off()
    after_an_earlier_boot(node)
    told(world, server, begun(world, node.boot(timeout=2 * TOLD)), "Rebase", FIRSTBOOT[0], "BootImageToolTooOld", ["GLIBC_2.34"], state="failed")


def fsync_off(world, setup=None):
    """Refused nothing is mounted; let through the rebase has its mount, and the reboot takes it away."""
    expect = world.expect
    node = world.node(policy=policy(rhelMajors=[11]), files=FSYNC_OFF, **UNITS, **(setup or {}))
    first = node.boot().settle()
    refused(world, node, first, reason="RHELMajorUnsupported", message=["NODE REFUSED"])
    expect.that(not first.succeeds(IS_MOUNTED) and not first.exists(NOTES), "no mount on a refused node")
    before = first.read(REPOSITORY)
    allow_on_console(expect, first)
    second = goes_on(world, node, first)
    expect.equal((second.read(NOTES) or "").split(), ["mounted", "gone"], "the mount, by the firstboot unit")
    expect.that(not second.succeeds(IS_MOUNTED), "no mount after the reboot")
    expect.equal(second.read(REPOSITORY), before, "ostree's configuration on the disk")


@scenario("release-4.23-rhel8-refused", "4.23 has no daemon for RHEL 8, and its kubelet waits for none: refused it is held, and allow starts no kubelet on the old OS")
def rhel8_refused(world):
    no_daemon_refused(world)


@scenario("release-4.23-rhel8-refused-systemd-257", "the same as release-4.23-rhel8-refused, with systemd 257")
def rhel8_refused_257(world):
    no_daemon_refused(world, IMAGE_257)


@scenario("release-4.23-rhel8-allowed", "4.23 has no daemon for RHEL 8: let in, the boot image's own kubelet starts, and the rebase that failed is told")
def rhel8_allowed(world):
    no_daemon_allowed(world)


@scenario("release-4.23-rhel8-allowed-systemd-257", "the same as release-4.23-rhel8-allowed, with systemd 257")
def rhel8_allowed_257(world):
    no_daemon_allowed(world, IMAGE_257)


@scenario("release-4.23-fsync-off", "the firstboot unit of 4.23 mounts over ostree's configuration: refused, let through, rebased, and the mount is gone")
def fsync(world):
    fsync_off(world)


@scenario("release-4.23-fsync-off-systemd-257", "the same as release-4.23-fsync-off, on a RHEL 10 boot image")
def fsync_257(world):
    fsync_off(world, IMAGE_257)

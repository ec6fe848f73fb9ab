"""Every verdict, on a node that really boots."""

import json

from ..looks import ALLOWING, ISSUE_LINK, goes_on, journal_entry, policy, refused, silent
from ..paths import PROJECT
from ..scenario import scenario
from ..stand_in import BOOT, NEXT

OLD = BOOT.version
CERTIFICATE = PROJECT / "tests/data/certificates/kubelet.pem"
FACTS = {"SKEWGUARD_RHEL": BOOT.rhel, "SKEWGUARD_OCP": BOOT.ocp, "SKEWGUARD_RELEASE": "4.21.3"}
TOO_OLD = ["NODE REFUSED: ITS BOOT IMAGE IS TOO OLD FOR THIS CLUSTER", f"boot image {OLD} (RHEL {BOOT.rhel}, OCP {BOOT.ocp})",
           "/sysroot/.coreos-aleph-version.json", "OCP 4.14.0 or newer", "RHCOS 9.4 or newer",
           "/etc/skewguard/policy.json", "skewguard allow", "skewguard=off", "Ask #platform on chat."]
CUSTOM = {"aleph": {"version": "custom-build-7"}, "os_release": "custom-build-7"}


@scenario("refused-wiring-a", "refused, wiring A (4.11): held, said, nothing else broken")
def refused_a(world):
    node = world.node(wiring="a", policy=policy())
    refused(world, node, node.boot().settle(), message=TOO_OLD, **FACTS)


@scenario("refused-wiring-b", "refused, wiring B (4.14 and later): the network is left alone as well")
def refused_b(world):
    node = world.node(wiring="b", policy=policy())
    refused(world, node, node.boot().settle(), message=TOO_OLD, **FACTS)


@scenario("refused-systemd-257", "refused on a RHEL 10 boot image, systemd 257: the RHEL major")
def refused_257(world):
    node = world.node(image="rhel10-boot", target="rhel9-target", release="4.20.1",
                      policy=policy(rhelMajors=[9], minimumRHCOSVersion="9.2"))
    boot = node.boot().settle()
    world.expect.contains(boot.shell("systemctl --version"), ["systemd 257"], "the node's systemd")
    refused(world, node, boot, reason="RHELMajorUnsupported", SKEWGUARD_RHEL="10.2", SKEWGUARD_RELEASE="4.20.1",
            message=["NODE REFUSED: ITS BOOT IMAGE HAS THE WRONG RHEL MAJOR", "10.2.20260423-0"])


@scenario("refused-ovs-recovery", "refused where ovs-kubelet-recovery starts the kubelet again and again")
def refused_recovery(world):
    node = world.node(wiring="b-recovery", policy=policy())
    boot = node.boot().settle()
    # The attempts to start it run the check again, each with its entry.
    refused(world, node, boot, message=TOO_OLD, attempts=True, **FACTS)
    world.expect.equal(boot.shell("systemctl start ovs-kubelet-recovery.service 2>&1; echo $?").split()[-1], "1",
                       "starting the recovery by hand")
    refused(world, node, boot, message=TOO_OLD, attempts=True, **FACTS)


def admitted(world, node, verdict, reason, **fields):
    """The first boot goes on without a word, and the node joins."""
    first = node.boot()
    second = goes_on(world, node, first)
    silent(world.expect, first)
    journal_entry(world.expect, second, verdict, "Proceed", reason, before=True, **fields)
    return second


@scenario("allowed-wiring-a", "allowed, wiring A: rebase, reboot, kubelet, as without skewguard")
def allowed_a(world):
    admitted(world, world.node(wiring="a", policy=ALLOWING), "Allowed", "WithinLimits", **FACTS)


@scenario("allowed-wiring-b", "allowed, wiring B, rebase into the next RHEL: systemd 252 to 257")
def allowed_b(world):
    admitted(world, world.node(target=NEXT.name, policy=ALLOWING), "Allowed", "WithinLimits",
             SKEWGUARD_BOOT_IMAGE=OLD, **FACTS)


@scenario("allowed-systemd-257", "allowed on a RHEL 10 boot image, systemd 257, without a release annotation")
def allowed_257(world):
    admitted(world, world.node(image="rhel10-boot", target="rhel10-target", release=None,
                               policy=policy(minimumRHCOSVersion="9.2")), "Allowed", "WithinLimits")


@scenario("warn", "mode Warn: says what it would have refused, and lets the node go on")
def warn(world):
    node = world.node(policy=policy(mode="Warn"))
    first = node.boot()
    second = goes_on(world, node, first)
    journal_entry(world.expect, second, "Refused", "Proceed", "BelowMinimumOCPVersion", before=True, **FACTS)
    world.expect.contains(first.console.text(), [
        "skewguard: WARNING: THE BOOT IMAGE OF THIS NODE IS TOO OLD FOR THIS CLUSTER", OLD], "the console")


@scenario("warn-joins-at-once", "mode Warn and nothing to rebase: the kubelet starts in this boot, on an untouched /etc/issue")
def warn_at_once(world):
    nothing_to_do = ("[Service]\nExecStart=\nExecStart=/usr/libexec/stand-in rebase-not-needed\n"
                     "ExecStart=/usr/bin/rm /etc/ignition-machine-config-encapsulated.json\n")
    node = world.node(policy=policy(mode="Warn"), files={
        "/etc/systemd/system/machine-config-daemon-firstboot.service.d/50-nothing-to-do.conf": nothing_to_do})
    boot = node.boot().settle()
    expect = world.expect
    expect.contains(" ".join(boot.ran()), ["rebase-not-needed", "crio.service", "kubelet.service"], "what ran")
    expect.equal(boot.failed(), [], "systemctl --failed")
    # A MachineConfig may own it, and its daemon compares it as soon as the kubelet runs.
    expect.equal(boot.shell("readlink /etc/issue || true").strip(), ISSUE_LINK, "/etc/issue as it was, a link")
    expect.contains(boot.console.text(), ["WARNING: THE BOOT IMAGE OF THIS NODE IS TOO OLD FOR THIS CLUSTER", OLD], "the console")
    boot.power_off()
    second = node.boot().settle()
    expect.equal(second.shell("ls -d /etc/issue.d/zz-skewguard.issue /etc/motd.d/skewguard 2>/dev/null || true").strip(), "",
                 "messages in the next boot")
    silent(expect, second)


@scenario("reinstalled", "refused, on a /var that an earlier installation left: neither its label nor its certificate lets the node in")
def reinstalled(world):
    node = world.node(policy=policy())
    kept = {"lib/skewguard/report-state.json": json.dumps({
                "apiVersion": "skewguard.dev/v1alpha1", "kind": "ReportState", "installation": "an earlier one", "nodePatch": "00"}),
            "lib/kubelet/kubeconfig": "", "lib/kubelet/pki/kubelet-client-current.pem": CERTIFICATE.read_text(encoding="ascii")}
    for path, text in kept.items():
        path = node.var / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="ascii")
    for _ in range(2):
        boot = node.boot().settle()
        refused(world, node, boot, **FACTS)
        boot.power_off()


@scenario("minimum-boot-space", "minimumBootFreeMiB: a node whose /boot has 64 MiB is refused for 100 and let in for 50")
def minimum_boot_space(world):
    small = {"/etc/fstab": "tmpfs /boot tmpfs size=64m 0 0\n"}
    node = world.node(policy=policy(minimumBootFreeMiB=100), files=small)
    boot = node.boot().settle()
    refused(world, node, boot, reason="BootSpaceBelowMinimum", message=["NODE REFUSED", "100 MiB"])
    world.expect.equal(boot.verdict()["machine"].get("bootFreeMiB"), 64, "what the verdict says of /boot")
    boot.power_off()
    admitted(world, world.node(policy=policy(minimumBootFreeMiB=50), files=small), "Allowed", "WithinLimits")

"""First boots that are let in and do not finish: what they wait for is told everywhere, and so is that they go on."""

import json
import time

from ..looks import ALLOWING
from ..patience import ANSWER
from ..scenario import scenario
from ..stand_in import BOOT
from ..sysroot import IMAGES
from .s40_report import api_server, checked, created

MESSAGE_ID = "6f0d1f0a8a5c4bd39a4c1f2e7b90d5c3"
NOTE = "/run/issue.d/skewguard-first-boot.issue"
MOTD = "/run/motd.d/skewguard-first-boot"
STATE = "lib/skewguard/report-state.json"
LOGIN = r"(?m)^\S+ login: "
# The node looks once a minute, and sends within some seconds.
TOLD = 150
# The shortest wait that a policy can ask for, less 20 seconds: what an earlier boot of the same installation left behind.
SECONDS = 280
QUICK = {**ALLOWING, "stalledAfterMinutes": 5}
DIGEST = "sha256:0f4a8bd2a3f6c1d2e3f40516273849506172839405162738495061728394a5b6"
# What podman says, with a credential in it (tests/data/stall-lines.tsv has where such lines were seen).
REFUSED = (f"Error: initializing source docker://quay.io/openshift-release-dev/ocp-v4.0-art-dev@{DIGEST}: reading manifest: "
           "unauthorized: access to the requested resource is not authorized\n"
           "WARN[0001] auth=cm9ib3Q6c3VwZXJzZWNyZXRwYXNzd29yZA== was refused\n")
UNREACHABLE = ("Error: pinging container registry mirror.example.com:5000: Get \"https://robot:hunter2@mirror.example.com:5000/v2/\": "
               "dial tcp 192.0.2.7:5000: connect: no route to host\n")
REBASE = "error: failed to update OS: error running rpm-ostree rebase: error: Timeout was reached\nSleeping 1 minute for retry\n"
KUBELET = "certificate_manager.go:378] Certificate request was not signed: timed out waiting for the condition, token=abcdefghijklmnop\n"


LOOP = "while [ -e /etc/stand-in/broken ]; do cat /etc/stand-in/broken >&2; sleep 2; done\n"


def looping(unit, script, loop=LOOP):
    """Files that make `unit` run `loop` until the file with what is printed is gone, and then `script`."""
    name = unit.removesuffix(".service")
    return {f"/etc/systemd/system/{unit}.d/50-loop.conf": f"[Service]\nExecStart=\nExecStart=/bin/sh /etc/stand-in/{name}\n",
            f"/etc/stand-in/{name}": f"{loop}{script}\n"}


# As InplaceUpdateViaNewContainer does it: podman runs in a transient unit, and its words are in that unit's journal.
TRANSIENT = "machine-config-daemon-update-rpmostree-via-container"
SYSTEMD_RUN = f"systemd-run --unit {TRANSIENT} --collect --wait -- /bin/sh -c 'cat /etc/stand-in/broken >&2; exit 125'"
VIA_CONTAINER = f"""while [ -e /etc/stand-in/broken ]; do
    echo "I0711 05:41:02.100000    1712 update.go:2371] Running: systemd-run --unit {TRANSIENT} --collect --wait -- podman pull quay.io/a" >&2
    if ! said=$({SYSTEMD_RUN} 2>&1); then
        echo "W0711 05:41:03.100000    1712 firstboot_complete_machineconfig.go:65] error: failed to update OS to quay.io/a : error running systemd-run --unit {TRANSIENT} --collect --wait -- podman pull quay.io/a: $said" >&2
        echo ": exit status 125" >&2
    fi
    echo "I0711 05:41:03.200000    1712 firstboot_complete_machineconfig.go:66] Sleeping 1 minute for retry" >&2
    sleep 2
done
"""
PULL = ("machine-config-daemon-pull.service", "exec /usr/libexec/stand-in machine-config-daemon-pull.service")
FIRSTBOOT = ("machine-config-daemon-firstboot.service", "exec /usr/libexec/stand-in-rebase")
JOIN = ("kubelet.service", "exec /usr/libexec/stand-in-kubelet")
WIPE = ("crio-wipe.service", "exec /usr/libexec/stand-in crio-wipe.service")
# A job that runs as long, and keeps nothing waiting.
BESIDE = {"/etc/systemd/system/beside.service": "[Service]\nType=oneshot\nExecStart=/bin/sleep infinity\n",
          "/etc/systemd/system/skewguard-report.service.d/50-beside.conf": "[Unit]\nWants=beside.service\n"}


def stalling(world, unit, broken, image=None, more=None, **setup):
    """A node that is let in, whose `unit` says `broken` again and again; and its API server."""
    server = api_server(world)
    files = {**looping(*unit), **server.joined_files(), **(more or {}), "/etc/stand-in/broken": broken}
    if image is not None:
        setup.update(image=image, target=image.replace("boot", "target"))
    policy = {**QUICK, "limits": [{"minimumRHCOSVersion": IMAGES[image].rhel if image else BOOT.rhel}]}
    return server, world.node(policy=policy, delivery="machineconfig", kubeconfig=server.kubeconfig, files=files, **setup)


def begun(world, boot):
    """The node asks for a login. Its boot is not over: something in it hangs."""
    world.expect.that(boot.console.wait_for(LOGIN, boot.deadline) is not None, "a login prompt", boot.console.text()[-1500:])
    return boot


def after_an_earlier_boot(node):
    """What the agent of an earlier boot has counted."""
    record = json.loads((node.root / "etc/skewguard/boot-image.json").read_text(encoding="utf-8"))
    state = {"apiVersion": "skewguard.dev/v1alpha1", "kind": "ReportState", "installation": record["bootID"],
             "firstBoot": {"total": SECONDS, "waited": SECONDS}}
    path = node.var / STATE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(state), encoding="utf-8")


def event(server, reason, report):
    """Waits for the Event with this reason about this report."""
    return server.wait_for(lambda request: created(request, "/events") and request["body"]["reason"] == reason
                           and request["body"]["regarding"]["name"] == report, time.monotonic() + TOLD)


def told(world, server, boot, phase, unit, cause, secrets, state="activating", command=None):
    """The stall is in a report, an Event, on console and motd, and in the journal. Returns the report."""
    expect = world.expect
    report = server.wait_for(lambda request: created(request, "/bootimagereports"), time.monotonic() + TOLD)
    if not expect.that(report is not None, "a BootImageReport about the stall", boot.journal_text("-u", "skewguard-report.service")):
        return None
    progress, name = report["body"]["report"].get("progress") or {}, report["body"]["metadata"]["name"]
    expect.equal(report["body"]["report"]["verdict"]["verdict"], "Allowed", "the verdict in the report")
    expect.equal((progress.get("phase"), progress.get("unit"), progress.get("activeState")), (phase, unit or None, state), "progress")
    expect.that(5 <= progress.get("minutes", 0) < 30, "the minutes of the first boot, over its reboots", progress)
    expect.equal((progress.get("cause"), "lines" in progress), (cause, False), "the cause by name, and no line")
    stalled = event(server, "FirstBootStalled", name)
    if expect.that(stalled is not None, "an Event FirstBootStalled about it", server.requests()):
        expect.equal(stalled["body"]["type"], "Warning", "the Event's type")
        where = ("before the pull" if phase == "Other" else f"in the phase {phase}") + (f": {unit}" if unit else "")
        expect.contains(stalled["body"]["note"], [f"it waits {where}" + (f" is {state}" if state else ""), f"; cause {cause}: "],
                        "the Event's note")
    note = boot.read(NOTE) or ""
    expect.contains(note, ["*** FIRST BOOT NOT FINISHED ***", unit, f"\nCause: {cause}: ", command or f"journalctl -b -u {unit}"], NOTE)
    expect.that(all(len(text) <= 80 for text in note.splitlines()), "the note in 80 columns", note)
    expect.equal(boot.read(MOTD), note, MOTD)
    expect.that(boot.console.wait_for(r"FIRST BOOT NOT FINISHED", time.monotonic() + ANSWER) is not None,
                "the note at the login prompt", boot.console.text()[-1500:])
    entries = boot.journal("MESSAGE_ID=" + MESSAGE_ID)
    if expect.equal(len(entries), 1, "journal entries about the stall"):
        expect.equal([entries[0].get(field) for field in ("SKEWGUARD_PHASE", "SKEWGUARD_UNIT", "SKEWGUARD_CAUSE", "PRIORITY", "_SYSTEMD_UNIT")],
                     [phase, unit or None, cause, "4", "skewguard-report.service"], "the journal entry")
    status = boot.shell("PATH=$PATH:/usr/local/bin:/run/skewguard/bin skewguard status")
    expect.contains(status, ["Not held: this node goes on, but its first boot does not finish\n", f"phase {phase}, cause {cause}: "], "skewguard status")
    everywhere = json.dumps(server.requests()) + note + status + boot.journal_text("-u", "skewguard-report.service")
    expect.equal([secret for secret in secrets if secret in everywhere], [], "credentials that were told")
    checked(expect, server)
    return name


def went_on(world, server, boot, name):
    """That it goes on is told; the node joins, labels itself, and the report ends well."""
    expect = world.expect
    went = event(server, "FirstBootWentOn", name)
    if expect.that(went is not None, "an Event FirstBootWentOn about the same report", boot.journal_text("-u", "skewguard-report.service")):
        expect.equal(went["body"]["type"], "Normal", "its type")
    patch = server.wait_for(lambda request: request["method"] == "PATCH" and request["status"] == 200, time.monotonic() + TOLD)
    expect.that(patch is not None, "the label of the Node", server.requests())
    until = time.monotonic() + ANSWER
    while boot.property("skewguard-report.service", "ActiveState") != "inactive" and time.monotonic() < until:
        time.sleep(1)
    states = [boot.property("skewguard-report.service", name) for name in ("ActiveState", "Result", "ExecMainStatus")]
    expect.equal(states, ["inactive", "success", "0"], "the end of skewguard-report.service")
    expect.equal((boot.exists(NOTE), boot.exists(MOTD)), (False, False), "the notes taken away")
    expect.that(boot.succeeds("! test -L /etc/issue.d/skewguard-first-boot.issue"), "the link to it taken away")
    expect.equal(len([request for request in server.requests() if created(request, "/bootimagereports")]), 1, "reports, one for the phase")
    expect.that("kubelet.service" in boot.ran(), "the node joined", boot.ran())
    checked(expect, server)


def before_the_rebase(world, server, node, phase, unit, cause, secrets, also=None, **more):
    """Two boots in which it hangs, the second past its time; then it goes on, rebases and joins in a third."""
    begun(world, node.boot()).power_off()
    after_an_earlier_boot(node)
    boot = begun(world, node.boot(timeout=3 * TOLD))
    name = told(world, server, boot, phase, unit, cause, secrets, **more)
    if also is not None:
        also(boot)
    boot.shell("rm /etc/stand-in/broken")
    boot.wait_reboot()
    went_on(world, server, begun(world, node.boot()), name)


def pull_refused(world, image=None):
    server, node = stalling(world, PULL, REFUSED, image)
    before_the_rebase(world, server, node, "Pull", PULL[0], "Unauthorized", ["cm9ib3Q6", DIGEST])


def rebase_fails(world, image=None):
    server, node = stalling(world, FIRSTBOOT, REBASE, image, wiring="a")
    before_the_rebase(world, server, node, "Rebase", FIRSTBOOT[0], "RPMOSTreeUnavailable", ["Timeout was reached"])


def no_certificate(world, image=None):
    server, node = stalling(world, JOIN, KUBELET, image)
    node.boot().wait_reboot()
    after_an_earlier_boot(node)
    boot = begun(world, node.boot(timeout=2 * TOLD))
    name = told(world, server, boot, "Join", JOIN[0], "CertificateNotSigned", ["abcdefghijklmnop"])
    boot.shell("rm /etc/stand-in/broken")
    went_on(world, server, boot, name)


@scenario("stalled-not-finalized", "the staged rebase is not finalized at the shutdown, and nobody joins: told as Rebase, cause NotFinalized")
def stalled_not_finalized(world):
    fails = "[Service]\nExecStop=\nExecStop=/bin/sh -c 'echo error: Finalizing deployment: Child process exited with code 1 >&2; exit 1'\n"
    server, node = stalling(world, JOIN, KUBELET, more={"/etc/systemd/system/ostree-finalize-staged.service.d/50-fails.conf": fails})
    # The disk of the stand-in has an entry for each image. That of a node has the booted one alone.
    for entry in (node.disk / "boot/loader/entries").glob("ostree-*.conf"):
        entry.unlink()
    node.boot().wait_reboot()
    after_an_earlier_boot(node)
    boot = begun(world, node.boot(timeout=2 * TOLD))
    name = told(world, server, boot, "Rebase", "ostree-finalize-staged.service", "NotFinalized", ["abcdefghijklmnop", "exited with code"],
                state=None, command="journalctl -b -1 -u ostree-finalize-staged")
    boot.shell("rm /etc/stand-in/broken")
    went_on(world, server, boot, name)


@scenario("stalled-not-booted", "the rebase is in the boot menu, and the old entry is booted: told as Rebase, cause NotBooted")
def stalled_not_booted(world):
    # A node has a disk for /boot, or ostree mounts the sysroot's.
    menu = {"/etc/systemd/system/boot.mount": "[Mount]\nWhat=/sysroot/boot\nWhere=/boot\nType=none\nOptions=bind\n",
            "/etc/systemd/system/skewguard-report.service.d/50-menu.conf": "[Unit]\nWants=boot.mount\nAfter=boot.mount\n"}
    server, node = stalling(world, JOIN, KUBELET, more=menu)
    node.boot().wait_reboot()
    after_an_earlier_boot(node)
    # As somebody who chooses the old entry: the new one stays in the menu.
    (node.disk / "boot/loader/entries/rebased.conf").unlink()
    boot = begun(world, node.boot(timeout=2 * TOLD))
    name = told(world, server, boot, "Rebase", "", "NotBooted", ["abcdefghijklmnop"], state=None, command="journalctl -b -1\n")
    boot.shell("rm /etc/stand-in/broken")
    went_on(world, server, boot, name)


@scenario("stalled-other", "a unit before the pull hangs, and another job runs beside it: told as Other, by the unit that the pull waits for")
def stalled_other(world):
    server, node = stalling(world, WIPE, "wipe: no space left on device, token=abcdefghijklmnop\n", more=BESIDE)
    before_the_rebase(world, server, node, "Other", WIPE[0], "NoSpace", ["abcdefghijklmnop"], state=None)


@scenario("stalled-pull", "the registry refuses the pull again and again: told as Pull; mended, the node goes on, which is told, too")
def stalled_pull(world):
    pull_refused(world)


@scenario("stalled-rebase", "the rebase fails again and again, wiring A: told as Rebase, then that it goes on")
def stalled_rebase(world):
    rebase_fails(world)


def rebase_via_container(world, image=None):
    server, node = stalling(world, (*FIRSTBOOT, VIA_CONTAINER), REFUSED, image)

    def shown(boot):
        lines = boot.shell(f"journalctl -b -u {TRANSIENT} -o cat")
        world.expect.contains(lines, ["reading manifest: unauthorized: "], "what the command in the remedy shows")

    before_the_rebase(world, server, node, "Rebase", FIRSTBOOT[0], "Unauthorized", ["cm9ib3Q6", DIGEST], command=TRANSIENT, also=shown)


@scenario("stalled-rebase-via-container", "a pull in a real transient unit (systemd-run --collect --wait): the cause is in that unit's journal alone, and so is the remedy's command")
def stalled_rebase_via_container(world):
    rebase_via_container(world)


@scenario("stalled-rebase-via-container-systemd-257", "the same as stalled-rebase-via-container, on a RHEL 10 boot image")
def stalled_rebase_via_container_257(world):
    rebase_via_container(world, "rhel10-boot")


@scenario("stalled-join", "rebased, then the kubelet never gets its certificate: told as Join, with the time since before the reboot")
def stalled_join(world):
    no_certificate(world)


@scenario("stalled-pull-systemd-257", "the same as stalled-pull, on a RHEL 10 boot image")
def stalled_pull_257(world):
    pull_refused(world, "rhel10-boot")

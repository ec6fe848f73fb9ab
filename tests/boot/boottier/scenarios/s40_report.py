"""What arrives at the cluster's API server, from a node that never joined and from one that did."""

import time

from ..apiserver import ApiServer
from ..looks import ALLOWING, goes_on, policy, refused
from ..patience import ANSWER
from ..scenario import scenario
from .s10_verdicts import FACTS, OLD, TOO_OLD

HOST = "192.0.2.10"
REPORT = "skewguard-report.service"
REPORTS = "/apis/skewguard.dev/v1alpha1/namespaces/skewguard/bootimagereports"


def api_server(world, *options, host=HOST):
    """An API server beside the node, which knows it as `host`; stopped with the scenario."""
    server = ApiServer(world.folder / "api", host, *options)
    world.cleanup.append(server.close)
    return server


def created(request, path):
    """Whether this request created something below `path`."""
    return request["method"] == "POST" and request["path"].split("?")[0].endswith(path) and request["status"] == 201


def checked(expect, server):
    """No request was anything but a well-formed one of the node."""
    for request in server.requests():
        expect.equal(request["remarks"], [], f"remarks on {request['method']} {request['path']}")


def reported(world, server, boot, patience=ANSWER, image=OLD, release="4.21.3"):
    """The refusal reached the cluster: a BootImageReport and an Event, and the console says so."""
    expect = world.expect
    deadline = time.monotonic() + patience
    report = server.wait_for(lambda request: created(request, "/bootimagereports"), deadline)
    if expect.that(report is not None, "a BootImageReport at the API server", server.requests()):
        body = str(report["body"])
        for part in ("Refused", image, release, "worker-0"):
            expect.that(part in body, f"{part!r} in the BootImageReport", body[:2000])
        expect.that("system:serviceaccount:openshift-machine-config-operator:node-bootstrapper" in report["user"],
                    "reported as the bootstrap identity", report["user"])
    event = server.wait_for(lambda request: created(request, "/events"), deadline)
    expect.that(event is not None, "an Event at the API server", server.requests())
    checked(expect, server)
    if report is not None:
        name = report["body"]["metadata"]["name"]
        until = time.monotonic() + ANSWER
        while name not in (boot.read("/etc/issue") or "") and time.monotonic() < until:
            time.sleep(0.3)
        expect.contains(boot.read("/etc/issue") or "", ["NODE REFUSED", "Cluster ", name], "/etc/issue afterwards")
        expect.that(boot.console.wait_for(name, time.monotonic() + ANSWER) is not None,
                    "the login prompt drawn again with the report's name", boot.console.text()[-1500:])


@scenario("report-refused", "a refused node reports itself: BootImageReport and Event, and the console follows")
def report_refused(world):
    server = api_server(world)
    node = world.node(policy=policy(), kubeconfig=server.kubeconfig)
    boot = node.boot().settle()
    refused(world, node, boot, message=TOO_OLD, **FACTS)
    reported(world, server, boot)


@scenario("report-api-server-late", "API server down for the first 60 s: the refusal is the same, the report follows")
def report_late(world):
    server = api_server(world, "--refuse-for", "60")
    node = world.node(policy=policy(), kubeconfig=server.kubeconfig)
    boot = node.boot().settle()
    refused(world, node, boot, message=TOO_OLD, **FACTS)
    # The pauses between the tries double, up to five minutes.
    reported(world, server, boot, 400)
    world.expect.contains(boot.journal_text("-u", "skewguard-report.service"),
                          ["report not delivered", "connection refused", "report delivered"], "the journal of the report")


@scenario("report-joined", "a node that joined labels its own Node, with the kubelet's identity")
def report_joined(world):
    expect = world.expect
    server = api_server(world)
    node = world.node(policy=ALLOWING, delivery="machineconfig", kubeconfig=server.kubeconfig,
                      files=server.joined_files())
    boot = goes_on(world, node, node.boot())
    patch = server.wait_for(lambda request: request["method"] == "PATCH" and request["status"] == 200
                            and request["path"].split("?")[0].endswith("/nodes/worker-0"), time.monotonic() + ANSWER)
    if expect.that(patch is not None, "a patch of the node's own Node", server.requests()):
        expect.contains(str(patch["body"]), ["skewguard.dev/boot-image", OLD], "the label")
        expect.equal(patch["user"], "system:node:worker-0", "who patched")
    checked(expect, server)
    expect.equal(boot.failed(), [], "systemctl --failed")
    since = boot.shell("date +%s").strip()
    boot.shell("systemctl restart kubelet.service")
    ours = boot.shell(f"journalctl --sync; journalctl -b -q -o cat --since @{since} -u skewguard.service -u skewguard-report.service")
    expect.equal(ours, "", "lines of ours when the kubelet of a joined node starts again")


@scenario("report-killed", "the report of a refused node is killed six times, and sent a SIGTERM: it is started again, and the hold is watched")
def report_killed(world):
    quick = {"/etc/systemd/system/skewguard-report.service.d/50-quick.conf": "[Service]\nRestartSec=1\n"}
    node = world.node(policy=policy(), files=quick)
    boot = node.boot().settle()
    for signal in [*["KILL"] * 6, "TERM"]:
        before = boot.property(REPORT, "MainPID")
        boot.shell(f"kill -s {signal} {before}")
        until = time.monotonic() + ANSWER
        while boot.property(REPORT, "MainPID") in ("0", before) and time.monotonic() < until:
            time.sleep(0.5)
        world.expect.equal(boot.property(REPORT, "ActiveState"), "active", f"{REPORT} after SIG{signal}")
    boot.shell(f"systemctl stop {REPORT}; sleep 2")
    world.expect.equal(boot.property(REPORT, "ActiveState"), "inactive", f"{REPORT} when an admin stops it")

"""How soon people learn of a refusal: at the console, and in the cluster. Figures of docs/dev/benchmarks.md."""

import json
import math
import os
import time

from ..apiserver import ApiServer
from ..looks import policy
from ..patience import ANSWER, LATENCY, SCENARIO
from ..scenario import scenario
from ..stand_in import EACH
from .s40_report import HOST, created

BOOTS = int(os.environ.get("SKEWGUARD_BOOT_LATENCIES", "1"))


@scenario("latency", f"from the start of the check to the message on the console, and from the network to the report: boots of each systemd {BOOTS}",
          asked=True, timeout=SCENARIO + LATENCY * BOOTS * len(EACH))
def latency(world):
    measured = {}
    for image, target in EACH:
        systemd = None
        boots = []
        for number in range(BOOTS):
            server = ApiServer(world.folder / f"api{number}", HOST)
            node = world.node(image=image.name, target=target.name, policy=policy(rhelMajors=[11]), kubeconfig=server.kubeconfig)
            try:
                boot = node.boot()
                boots.append(_of_one_boot(world.expect, server, boot))
                systemd = systemd or boot.shell("systemctl --version").split()[1]
            finally:
                node.close()
                server.close()
        measured[f"systemd {systemd}"] = boots
        for name in boots[0]:
            world.log(f"systemd {systemd}, {name}: {_spread([boot[name] for boot in boots])}")
    (world.folder / "latency.json").write_text(json.dumps(measured, indent=1), encoding="utf-8")


def _of_one_boot(expect, server, boot):
    """Seconds that a refused node took, by what lies between."""
    boot.settle()
    report = server.wait_for(lambda request: created(request, "/bootimagereports"), time.monotonic() + ANSWER)
    heading = (boot.read("/etc/issue") or "").splitlines()[0]
    shown = boot.console.first_shown(heading)
    expect.that("NODE REFUSED" in heading and shown is not None, "the message on the console", boot.console.text()[-1500:])
    expect.that(report is not None, "a BootImageReport at the API server", server.requests())
    clocks = time.time() - time.monotonic()
    check = _monotonic(boot, "skewguard.service", "InactiveExit")
    return {"skewguard.service to the message on the console": shown - check,
            "skewguard.service to the end of the check": _monotonic(boot, "skewguard.service", "InactiveEnter") - check,
            "network-online to the report in the cluster":
                report["time"] - clocks - _monotonic(boot, "network-online.target", "ActiveEnter")}


def _monotonic(boot, unit, what):
    """Seconds of CLOCK_MONOTONIC, which a container shares with this process."""
    return int(boot.property(unit, f"{what}TimestampMonotonic")) / 1e6


def _spread(seconds):
    """Median, 99th percentile (nearest rank) and the largest."""
    ranked = sorted(seconds)
    median, p99 = (ranked[math.ceil(part * len(ranked)) - 1] for part in (0.5, 0.99))
    return f"median {median:.3f} s, p99 {p99:.3f} s, largest {ranked[-1]:.3f} s of {len(ranked)}"

"""The units that every release really serves (tests/data/mco-units.tsv): what skewguard changes of what runs, and when.

Per graph: a node without skewguard, an allowed one, and one that is refused and then let through by `skewguard allow`.
"""

import re
from typing import NamedTuple

from .. import graph
from ..looks import policy
from ..scenario import MORE, scenario

# Those of the default run: each of these on bare metal, and what differs from that on the other platforms of these. 4.6 to 4.11 are wiring A, and 4.8
# has an ordering cycle of its own.
RELEASES = ["4.6", "4.8", "4.11", "4.12", "4.14", "4.16", "4.18", "4.20", "4.22", "main"]
EVERYWHERE = ["4.11", "4.18", "main"]
PLATFORMS = ["baremetal", "aws", "vsphere"]
CYCLE = re.compile(r"Found (?:ordering cycle|dependency) on (\S+)/|Job (\S+)/\S+ deleted to break ordering cycle")
# The MCO's own, 4.7 to 4.9.
OWN_CYCLE = "etc-NetworkManager-systemConnectionsMerged.mount"


class Ran(NamedTuple):
    """What ran before the rebase began, in all of the boot that ends with it (nothing that waits for its end), and in the boot after it."""

    before: set
    first: set
    second: set


def images(release):
    """Boot image and target, and the policies that refuse and allow the one for the other."""
    if release == "main":
        return "rhel10-boot", "rhel10-target", policy(rhelMajors=[9]), policy(rhelMajors=[10])
    target = "rhel10-target" if graph.RELEASES.index(release) >= graph.RELEASES.index("4.22") else "rhel9-target"
    return "rhel9-boot", target, policy(), policy(rhelMajors=[9])


def before_rebase(ran):
    """The units that ran before the rebase began; all where it did not."""
    return set(ran[:ran.index("rebase")] if "rebase" in ran else ran)


def cycles(boot, number):
    """Units of ordering cycles that systemd found in a boot."""
    return {name for pair in CYCLE.findall(boot.journal_text("_PID=1", boot=number)) for name in pair if name}


def in_order(expect, ran, orderings, what):
    """What ran did so in the order that the units ask for."""
    place = {name: number for number, name in reversed(list(enumerate(ran)))}
    wrong = [f"{first} before {second}" for first, second in orderings if first in place and second in place and place[first] > place[second]]
    expect.equal(wrong, [], f"not kept in {what}")


def alike(expect, got, wanted, what):
    """Two nodes ran the same. What does not wait for the rebase may run beside it, and on a busy machine only in the boot after it."""
    expect.equal(sorted(got.before - wanted.first), [], f"{what}, before the rebase: more than without skewguard")
    expect.equal(sorted(wanted.before - got.first - got.second), [], f"{what}: less than without skewguard")
    expect.equal((sorted(got.second - wanted.second), sorted(wanted.second - got.second)), ([], []), f"{what}, after the rebase: more, and less")


def to_the_end(world, first, node, orderings, what):
    """From the first boot, which rebases, to the second, which joins. Returns what ran in each, and the second boot."""
    first.wait_reboot()
    second = node.boot().settle()
    ran = second.ran_before(), second.ran()
    world.expect.that("rebase" in ran[0] and "kubelet.service" not in ran[0], f"{what}: a rebase, and no kubelet before", ran[0])
    world.expect.that("kubelet.service" in ran[1] and "rebase" not in ran[1], f"{what}: a kubelet after the rebase", ran[1])
    world.expect.equal(second.failed(), [], f"{what}: systemctl --failed")
    found = cycles(second, -1) | cycles(second, 0)
    world.expect.that(not any("skewguard" in name for name in found) and (not found or OWN_CYCLE in found), f"{what}: no ordering cycle", found)
    for boot in ran:
        in_order(world.expect, boot, orderings, what)
    second.machine.kill()
    return Ran(before_rebase(ran[0]), set(ran[0]), set(ran[1]))


def play(world, release, platform, role):
    """All of it, for one graph."""
    expect = world.expect
    image, target, refusing, allowing = images(release)
    common = {"wiring": f"{release}/{platform}/{role}", "image": image, "target": target, "pool": role,
              "release": "4.24.0" if release == "main" else f"{release}.9"}
    orderings = graph.orderings(release, platform, role)

    node = world.node(delivery=None, **common)
    without = to_the_end(world, node.boot(), node, orderings, "without skewguard")
    node = world.node(policy=allowing, **common)
    allowed = to_the_end(world, node.boot(), node, orderings, "allowed")
    alike(expect, allowed, without, "allowed")

    node = world.node(policy=refusing, **common)
    boot = node.boot().settle()
    ran = boot.ran()
    expect.equal(sorted(set(ran) - without.first), [], "on a refused node: what a healthy one starts only after its rebase began")
    expect.that("sshd.service" in ran and "NetworkManager.service" in ran, "the way in by ssh open", ran)
    expect.equal(boot.failed(), ["skewguard.service"], "on a refused node: systemctl --failed")
    expect.equal((boot.verdict() or {}).get("gate", {}).get("held"), True, "gate.held in the verdict")
    in_order(expect, ran, orderings, "refused")
    boot.machine.run("/usr/bin/skewguard allow")
    after = to_the_end(world, boot, node, orderings, "refused, then allowed")
    alike(expect, after, without, "after `skewguard allow`")


def register(release, platform, role, others, tier):
    """One graph as a scenario."""
    name = f"graph-{release}-{platform}" + ("" if role == "worker" else f"-{role}")
    also = ", ".join("/".join(other) for other in others)
    summary = f"the units of {release} on {platform}, {role}" + (f" (the same: {also})" if also else "")
    scenario(name, summary, tier)(lambda world: play(world, release, platform, role))


CHOSEN = set()
for one, others in [*graph.distinct(RELEASES, PLATFORMS[:1]), *graph.distinct(EVERYWHERE, PLATFORMS)]:
    if not CHOSEN & {one, *others}:
        register(*one, others, "fast")
        CHOSEN |= {one, *others}
for one, others in graph.distinct(graph.RELEASES, graph.platforms()):
    if not CHOSEN & {one, *others}:
        register(*one, others, MORE)

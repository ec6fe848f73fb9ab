"""The stand-in node itself: without skewguard it does what a node does today."""

from ..scenario import scenario


def without_agent(world, wiring, image, target):
    """The first boot rebases and reboots, the second starts the kubelet."""
    expect = world.expect
    node = world.node(delivery=None, wiring=wiring, image=image, target=target)
    first = node.boot()
    first.wait_reboot()
    second = node.boot().settle()
    notes = [line.split() for line in second.read("/var/log/stand-ins").splitlines()]
    first_ran = [note[2] for note in notes if note[0] == notes[0][0]]
    expect.contains(" ".join(first_ran), ["machine-config-daemon-pull.service", "rebase"], "the first boot")
    expect.that("kubelet.service" not in first_ran, "no kubelet in the first boot", first_ran)
    expect.contains(" ".join(second.ran()), ["nodeip-configuration.service", "crio.service", "kubelet.service"],
                    "the second boot")
    expect.that("rebase" not in second.ran(), "one rebase", second.ran())
    expect.that("ovs-configuration.service" in second.ran(), "the network set up", second.ran())
    expect.equal(second.failed(), [], "failed units of the second boot")


@scenario("node-wiring-a", "the stand-in node, wiring A, without skewguard")
def wiring_a(world):
    without_agent(world, "a", "rhel9-boot", "rhel9-target")


@scenario("node-wiring-b", "the stand-in node, wiring B, without skewguard, from systemd 252 to 257")
def wiring_b(world):
    without_agent(world, "b", "rhel9-boot", "rhel10-target")

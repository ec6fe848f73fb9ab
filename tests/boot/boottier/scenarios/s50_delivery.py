"""The three ways onto a node. Baked into the image is what the other scenarios use."""

from ..looks import ALLOWING, goes_on, journal_entry, policy, refused
from ..scenario import scenario
from .s10_verdicts import FACTS, TOO_OLD


def both_ways(world, delivery, wiring):
    """Refused and allowed, delivered this way."""
    node = world.node(delivery=delivery, wiring=wiring, policy=policy())
    message = [part.replace("skewguard allow", "/skewguard allow") for part in TOO_OLD]
    boot = node.boot().settle()
    refused(world, node, boot, message=message, **FACTS)
    # The command that the message gives is there under that name.
    command = next(line.split("sudo ")[1] for line in boot.read("/etc/issue").splitlines() if "sudo " in line)
    world.expect.that(boot.succeeds(f"{command} --help"), f"the command of the message to exist: {command}")
    boot.power_off()
    node = world.node(delivery=delivery, wiring=wiring, policy=ALLOWING)
    second = goes_on(world, node, node.boot())
    journal_entry(world.expect, second, "Allowed", "Proceed", "WithinLimits", before=True, **FACTS)


@scenario("delivered-machineconfig-a", "delivered by `render machineconfig`, wiring A: refused, and allowed")
def machineconfig_a(world):
    both_ways(world, "machineconfig", "a")


@scenario("delivered-machineconfig-b", "delivered by `render machineconfig`, wiring B: refused, and allowed")
def machineconfig_b(world):
    both_ways(world, "machineconfig", "b")


@scenario("delivered-ignition", "delivered by `render ignition` in the user data: refused, and allowed")
def by_ignition(world):
    both_ways(world, "ignition", "b")

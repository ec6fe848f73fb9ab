"""The list of scenarios: what they are called, which tier they belong to, what they show."""

import importlib
import pkgutil
from dataclasses import dataclass
from typing import Callable

from .patience import QEMU_SCENARIO, SCENARIO

TIERS = ("fast", "full")
# Only where it is asked for: every graph of the table, half an hour.
MORE = "graphs"
_ALL = {}


@dataclass(frozen=True)
class Scenario:
    """One story of a node, from its boot image to what a person sees."""

    name: str
    tier: str
    summary: str
    timeout: int
    play: Callable


def scenario(name, summary, tier="fast"):
    """Registers a function `play(world)` as a scenario."""
    timeout = QEMU_SCENARIO if tier == "full" else SCENARIO

    def register(play):
        if name in _ALL:
            raise ValueError(f"two scenarios are called {name}")
        _ALL[name] = Scenario(name, tier, summary, timeout, play)
        return play

    return register


def all_scenarios():
    """Every scenario, in the order of the files and of their lines."""
    package = importlib.import_module("boottier.scenarios")
    for module in sorted(info.name for info in pkgutil.iter_modules(package.__path__)):
        importlib.import_module(f"boottier.scenarios.{module}")
    return list(_ALL.values())

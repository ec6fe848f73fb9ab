"""The list of scenarios: what they are called, which tier they belong to, what they show."""

import importlib
import pkgutil
from dataclasses import dataclass
from typing import Callable

from .patience import QEMU_SCENARIO, SCENARIO
from .stand_in import EL8

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
    alone: bool
    # Left out, unless its tier or its name is asked for.
    asked: bool
    play: Callable


def scenario(name, summary, tier="fast", el8=None, alone=False, asked=False, timeout=None):
    """Registers a function `play(world)` as a scenario, and again for el8: a fast one unless `el8` says no, a full one if it says so;
    in another tier if it names one. `alone`: nothing else runs meanwhile. A machine that is emulated beside another one may be too slow to be held
    within the time that the unit has. `asked`: only where its tier or its name is asked for, as what runs on el8 in QEMU. `timeout`: instead of the tier's."""
    timeout = timeout or (QEMU_SCENARIO if tier == "full" else SCENARIO)

    def register(play):
        if name in _ALL:
            raise ValueError(f"two scenarios are called {name}")
        _ALL[name] = Scenario(name, tier, summary, timeout, alone, asked, play)
        if el8 or (el8 is None and tier == "fast"):
            _ALL[EL8 + name] = Scenario(EL8 + name, el8 if el8 in (*TIERS, MORE) else tier, f"on el8: {summary}", timeout, alone, tier == "full", play)
        return play

    return register


def all_scenarios():
    """Every scenario, in the order of the files and of their lines, those of el8 last."""
    package = importlib.import_module("boottier.scenarios")
    for module in sorted(info.name for info in pkgutil.iter_modules(package.__path__)):
        importlib.import_module(f"boottier.scenarios.{module}")
    return sorted(_ALL.values(), key=lambda item: item.name.startswith(EL8))

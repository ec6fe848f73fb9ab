"""The list of scenarios: what they are called, which tier they belong to, what they show."""

import importlib
import pkgutil
from dataclasses import dataclass
from typing import Callable

from .patience import QEMU_SCENARIO, SCENARIO
from .stand_in import TREE

TIERS = ("fast", "full")
# Only where it is asked for: every graph of the table, half an hour.
MORE = "graphs"
# Before a pull request (tests/run), the longest first: each wiring, each systemd, each way on, and what must not hold a node.
FEW = ("stalled-pull", "gate-hang", "delivered-machineconfig-b", "refused-wiring-a", "refused-wiring-b", "refused-systemd-257", "allowed-wiring-a",
       "allowed-wiring-b", "allowed-systemd-257", "warn", "gate-abort", "gate-no-dbus", "gate-killed-before-stamp", "allow-wiring-b",
       "report-refused", "report-joined")
# Played once more on the tree of root_tree.py: what depends on systemd, D-Bus, agetty or curl.
ON_TREE = {"refused-wiring-a", "refused-wiring-b", "allowed-wiring-a", "allowed-wiring-b", "warn", "allow-wiring-a", "allow-wiring-b",
           "allow-beside-reexec", "gate-abort", "gate-missing", "gate-hang", "gate-killed-before-stamp", "gate-no-dbus", "gate-hung-dbus", "gate-reexec",
           "gate-reload-denied", "trouble-revert", "report-refused", "report-joined", "stalled-pull", "delivered-machineconfig-b"}
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


def scenario(name, summary, tier="fast", alone=False, asked=False, timeout=None):
    """Registers a function `play(world)` as a scenario, and again for the tree if it is of ON_TREE. `alone`: nothing else runs meanwhile. A machine
    that is emulated beside another one may be too slow to be held within the time that the unit has. `asked`: only where its tier or its name is
    asked for. `timeout`: instead of the tier's."""
    timeout = timeout or (QEMU_SCENARIO if tier == "full" else SCENARIO)

    def register(play):
        if name in _ALL:
            raise ValueError(f"two scenarios are called {name}")
        _ALL[name] = Scenario(name, tier, summary, timeout, alone, asked, play)
        if name in ON_TREE:
            _ALL[TREE + name] = Scenario(TREE + name, tier, f"on a tree: {summary}", timeout, alone, False, play)
        return play

    return register


def all_scenarios():
    """Every scenario, in the order of the files and of their lines, those on a tree last."""
    package = importlib.import_module("boottier.scenarios")
    for module in sorted(info.name for info in pkgutil.iter_modules(package.__path__)):
        importlib.import_module(f"boottier.scenarios.{module}")
    unknown = [name for name in (*FEW, *ON_TREE) if name not in _ALL]
    if unknown:
        raise ValueError(f"no scenario is called {', '.join(unknown)}")
    return sorted(_ALL.values(), key=lambda item: item.name.startswith(TREE))

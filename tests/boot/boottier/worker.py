"""Plays one scenario, inside the place that isolate.py made for it."""

import json
import os
import time
import traceback

from . import accelerator, isolate, stand_in
from .cache import Cache
from .expect import Expect
from .node import Node, Setup
from .paths import CACHE, RESULTS
from .scenario import all_scenarios
from .sysroot import IMAGES, sysroot


class World:
    """What a scenario has at hand: nodes, expectations, a folder, a log."""

    def __init__(self, name):
        self.expect = Expect()
        self.folder = RESULTS / name
        self.folder.mkdir(parents=True, exist_ok=True)
        self.nodes = []
        self.cleanup = []

    def log(self, message):
        """A progress line."""
        print(message, flush=True)

    def node(self, **setup):
        """A node to boot with systemd-nspawn."""
        setup = self._setup(setup)
        node = Node(sysroot(Cache(CACHE), setup.image), self.folder / f"node{len(self.nodes)}", setup, self.log)
        self.nodes.append(node)
        return node

    def qemu(self, **setup):
        """A node to boot with QEMU."""
        from .qemunode import QemuNode  # pylint: disable=import-outside-toplevel

        node = QemuNode(Cache(CACHE), self.folder / f"node{len(self.nodes)}", self._setup(setup), self.log)
        self.nodes.append(node)
        return node

    @staticmethod
    def _setup(setup):
        own = {"image": stand_in.BOOT.name, "target": stand_in.TARGET.name}
        setup = {**own, **setup}
        # A scenario that goes through several boot images plays the tree in the place of each.
        if stand_in.BOOT.suite == "tree" and IMAGES[setup["image"]].suite != "tree":
            setup.update(own)
        return Setup(**setup)

    def evidence(self):
        """Console and journal of the last boot of every node."""
        return "\n".join(node.boots[-1].evidence() for node in self.nodes if node.boots)

    def close(self):
        """Stops what still runs. The namespaces would end it too, but less orderly."""
        for node in self.nodes:
            node.close()
        for action in reversed(self.cleanup):
            action()


def play(name):
    """Plays the scenario and writes RESULTS/name/result.json. True when it went as expected."""
    stand_in.choose(name)
    chosen = next(item for item in all_scenarios() if item.name == name)
    isolate.furnish()
    world = World(name)
    began = time.monotonic()
    failure = evidence = ""
    try:
        chosen.play(world)
        world.expect.finish()
    except Exception as error:  # pylint: disable=broad-except
        wrong = [item for item in world.expect.wrong if item not in str(error)]
        failure = "\n".join([f"{type(error).__name__}: {error}", *wrong])
        if not failure.startswith(("Unexpected", "BootError")):
            failure += "\n" + "".join(traceback.format_tb(error.__traceback__)[-3:])
        evidence = world.evidence()
    try:
        world.close()
    except Exception as error:  # pylint: disable=broad-except
        failure = "\n".join([*filter(None, [failure]), f"at the end {type(error).__name__}: {error}"])
    for boot in (boot for node in world.nodes for boot in node.boots):
        console = boot.console.text()
        (world.folder / f"console-boot{boot.number}.txt").write_text(console, encoding="utf-8")
    result = {"name": name, "seconds": round(time.monotonic() - began, 1), "checks": world.expect.checked,
              "boots": sum(len(node.boots) for node in world.nodes), "failure": failure, "evidence": evidence,
              "accelerator": os.environ.get(accelerator.VARIABLE)}
    (world.folder / "result.json").write_text(json.dumps(result, indent=1), encoding="utf-8")
    return not failure

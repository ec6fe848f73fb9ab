"""Plays many scenarios side by side: first those in containers, then those in QEMU; last those that need the machine alone."""

import json
import os
import shutil
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from . import accelerator
from .isolate import Cgroup, run_isolated, stop_all
from .paths import HARNESS, RESULTS
from .progress import say
from .scenario import MORE

# Tier, whether a scenario of it needs the machine alone, how many are played at a time: a container mostly waits, an emulated machine computes.
STAGES = (("fast", False, 6), (MORE, False, 4), ("full", False, 2), ("full", True, 1))


def play_all(chosen, keep=False):
    """Plays `chosen` and returns their results in the same order."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    Cgroup.remove_left()
    results = {}
    for tier, alone, at_a_time in STAGES:
        mine = [scenario for scenario in chosen if (scenario.tier, scenario.alone) == (tier, alone)]
        # Two emulated machines of two processors each would mostly wait for each other's.
        os.environ[accelerator.PROCESSORS] = "2" if alone else "1"
        if tier == "full" and mine:
            accelerator.accelerator()
        with ThreadPoolExecutor(at_a_time) as pool:
            try:
                for result in pool.map(lambda scenario: _play_twice(scenario, keep), mine):
                    results[result["name"]] = result
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                stop_all()
                raise
    return [results[scenario.name] for scenario in chosen]


def _play_twice(scenario, keep):
    """Plays a scenario; once more where it failed, because the machine may have been too busy. The summary names it either way."""
    first = _play(scenario, keep)
    if not first["failure"]:
        return first
    say(f"*** {scenario.name}: failed, is played once more ***")
    return {**_play(scenario, keep), "first": first["failure"]}


def _play(scenario, keep):
    folder = RESULTS / scenario.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    say(f"{scenario.name}: starts")
    began = time.monotonic()
    lines = []

    def output(line):
        lines.append(line)
        say(f"{scenario.name}: {line}")

    status = run_isolated(scenario.name, [sys.executable, str(HARNESS / "run"), "--worker", scenario.name],
                          scenario.timeout, output)
    try:
        result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        why = f"not over after {scenario.timeout} s" if status is None else f"its process ended with {status}"
        result = {"name": scenario.name, "seconds": time.monotonic() - began, "checks": 0, "boots": 0,
                  "failure": why, "evidence": "\n".join(lines[-60:])}
    # KVM may have turned out to be no use; then the next scenario need not find out again.
    if scenario.tier == "full" and result.get("accelerator"):
        os.environ[accelerator.VARIABLE] = result["accelerator"]
    state = "FAILED" if result["failure"] else "ok"
    say(f"{scenario.name}: {state}, {result['boots']} boots, {result['checks']} checks, {result['seconds']:.1f} s")
    if result["failure"]:
        say(f"{scenario.name}: {result['failure']}\n{result['evidence']}")
    if not keep:
        for node in folder.glob("node*"):
            shutil.rmtree(node, ignore_errors=True)
    return result

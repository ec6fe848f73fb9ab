"""`tests/boot/run --image`, as a user of docs/ci.md runs it: another process, a qcow2 file that boots by itself, the recipe's config."""

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as xml

from .. import agent
from ..bootdisk import boot_image
from ..cache import Cache
from ..cluster import ignition_file, merge, wiring_units
from ..expect import Expect
from ..looks import ALLOWING, policy
from ..paths import CACHE, HARNESS, PROJECT
from ..realimage import FIRST_BOOT, judge
from ..scenario import scenario
from ..sysroot import IMAGES

GUIDE = PROJECT / "docs/ci.md"


def recipe(world, chosen):
    """The config that the commands of docs/ci.md make of this policy."""
    commands = re.search(r"```\n(cat >target\.json.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)[1]
    (world.folder / "policy.json").write_text(json.dumps(chosen), encoding="utf-8")
    programs = world.folder / "bin"
    programs.mkdir()
    # With the build of a MachineConfig beside it, as in a release.
    plugin = programs / "oc"
    plugin.write_text(f'#!/bin/sh\nshift\nexec {agent.PACKAGE}/prebuilt/kubectl-skewguard "$@"\n', encoding="ascii")
    plugin.chmod(0o755)
    # A checkout, as the page has it.
    (world.folder / "tests").symlink_to(PROJECT / "tests")
    subprocess.run(["bash", "-euc", commands], cwd=world.folder, check=True,
                   env=dict(os.environ, PATH=f"{programs}:{os.environ['PATH']}"))
    return world.folder / "test.ign"


def run(world, config, wanted, status, said):
    """Runs the command; its exit status, what it printed and its JUnit file must be as expected."""
    expect = world.expect
    report = world.folder / "image.xml"
    command = [sys.executable, str(HARNESS / "run"), "--image", str(boot_image(Cache(CACHE))), "--ignition", str(config),
               "--expect", wanted, "--junit", str(report), "--timeout", "1200"]
    world.log(" ".join(["tests/boot/run", *command[2:]]))
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          env=dict(os.environ, CARGO_TARGET_DIR=str(world.folder / "target")))
    (world.folder / "output.txt").write_text(done.stdout, encoding="utf-8")
    if done.returncode != status:
        world.log(done.stdout)
    expect.equal(done.returncode, status, "exit status")
    expect.contains(done.stdout, said, "what it printed")
    case = xml.parse(report).find("testcase")
    expect.equal((case.get("name"), case.find("failure") is None), (f"rhcos.qcow2 {wanted}", status == 0), "the case in the JUnit file")
    kept = world.folder / "target/boot-results/image"
    expect.that("login: " in (kept / "console.txt").read_text(encoding="utf-8") or wanted == "allowed", "the console kept")
    return kept


@scenario("image-refused", "--image: the recipe of docs/ci.md, refused as expected; it would be an error where allowed was", tier="full", alone=True)
def image_refused(world):
    kept = run(world, recipe(world, policy()), "refused", 0,
               ["verdict: Refused (BelowMinimumOCPVersion), Block", "1 of 1 as expected"])
    world.expect.that((kept / "screen.png").read_bytes().startswith(b"\x89PNG"), "a picture of the screen")
    verdict = json.loads((kept / "verdict.json").read_text(encoding="utf-8"))
    units = json.loads((kept / "units.json").read_text(encoding="utf-8"))
    for name in FIRST_BOOT:
        world.expect.equal((units[name]["LoadState"], units[name]["ActiveState"]), ("loaded", "inactive"), f"{name} in the evidence")
    console = (kept / "console.txt").read_text(encoding="utf-8")
    otherwise = Expect()
    judge(otherwise, "allowed", "login", console, verdict, units)
    world.expect.contains("\n".join(otherwise.wrong), ["expected: the verdict: 'Allowed'", "but: 'Refused'", "expected: no refusal on the console"],
                          "what is wrong where allowed was expected")
    # The same boot with nothing to hold, or one of which nobody said what there was.
    for seen, wrong in (({}, "machine-config-daemon-pull.service in the config (docs/ci.md); without it nothing is proven"),
                        ({**units, "kubelet.service": {"LoadState": "loaded", "ActiveState": "active"}}, "kubelet.service held"),
                        (None, "nobody said it")):
        hollow = Expect()
        judge(hollow, "refused", "login", console, verdict, seen)
        world.expect.contains("\n".join(hollow.wrong), [wrong], "what is wrong where a refusal proves nothing")


@scenario("image-allowed", "--image: allowed, with the units of a node: its rebase begins", tier="full")
def image_allowed(world):
    config = recipe(world, ALLOWING)
    given = json.loads(config.read_text(encoding="utf-8"))
    target = json.loads((world.folder / "target.json").read_text(encoding="utf-8"))
    target["spec"]["osImageURL"] = IMAGES["rhel9-target"].pullspec
    units = {"systemd": {"units": wiring_units("b")}, "storage": {"files": [
        ignition_file("/etc/ignition-machine-config-encapsulated.json", json.dumps(target), 0o600)]}}
    config.write_text(json.dumps(merge(given, units)), encoding="utf-8")
    kept = run(world, config, "allowed", 0, ["verdict: Allowed (WithinLimits), Proceed", "1 of 1 as expected"])
    # The rebase ends in a reboot, before or after the first login prompt: whichever comes first ends the test.
    console = (kept / "console.txt").read_text(encoding="utf-8")
    world.expect.that(re.search("Starting .*Machine Config Daemon Firstboot", console), "the rebase to begin", console[-1500:])


@scenario("image-without-skewguard", "--image: allowed expected of an image on which skewguard never ran: exit status 1", tier="full")
def image_without(world):
    config = world.folder / "plain.ign"
    config.write_text(json.dumps({"ignition": {"version": "3.2.0"}}), encoding="utf-8")
    run(world, config, "allowed", 1, ["skewguard left no verdict", "expected: the verdict: 'Allowed'", "but: None", "FAILED"])

"""What a node looks like that was refused, or let go on: the expectations most scenarios share."""

from .stand_in import BOOT
from .sysroot import IMAGES

# docs/reference.md. A stable interface, so it is written down here once more.
MESSAGE_IDS = {
    "Disabled": "1a6421be7e294ec2bf486f3ee1ed4279",
    "NoPolicy": "acd1bc3f13794fcfaf0b39c1665ba25d",
    "Allowed": "d66dfe623dc747c2b3bb5cc0b03e8cad",
    "Refused": "73553485504e4bb4bb2c904d59b78fdc",
    "Undetermined": "b328e1d9eb554f989c3bfaf674832ca6",
}
# syslog priorities: an error where the node is held back, and where it should have been; a warning where it is let through.
PRIORITIES = {("Refused", "Block"): "3", ("Refused", "Proceed"): "4",
              ("Undetermined", "Block"): "3", ("Undetermined", "Proceed"): "4"}
# None of these may run on a refused node. In wiring A ovs-configuration skips itself until the first boot is finished, and
# nodeip-configuration, which only writes files for the kubelet, is not part of the gate.
HELD = ["machine-config-daemon-pull.service", "rebase", "rebase-not-needed", "crio.service", "kubelet.service",
        "ovs-configuration.service"]
HELD_B = [*HELD, "nodeip-configuration.service", "nmstate-configuration.service", "wait-for-br-ex-up.service", "node-valid-hostname.service"]
# As on RHCOS, where /etc/issue is a link into /usr.
ISSUE_LINK = "../usr/lib/issue"
# What makes a boot a first one; the MCO renames it when it has staged its OS.
CONFIG = "/etc/ignition-machine-config-encapsulated.json"


def policy(mode="Enforce", **limit):
    """A policy with one limit, by default one that neither the RHEL 8 nor the RHEL 9 boot image meets."""
    return {"apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageSkewPolicy", "mode": mode,
            "limits": [limit or {"minimumOCPVersion": "4.14.0", "minimumRHCOSVersion": "9.4"}],
            "help": {"text": "Ask #platform on chat.", "url": "https://wiki.example.com/boot-images"}}


ALLOWING = policy(minimumOCPVersion=f"{BOOT.ocp}.0", minimumRHCOSVersion=BOOT.rhel)


def journal_entry(expect, boot, verdict, action, reason, before=False, attempts=False, **fields):
    """One entry carries the MESSAGE_ID of `verdict`, with its fields, and none that of another verdict.

    `before`: in the boot before this one. `attempts`: there may be more than one.
    """
    number = -1 if before else 0
    entries = boot.journal("MESSAGE_ID=" + MESSAGE_IDS[verdict], boot=number)
    if not expect.that(len(entries) == 1 or (entries and attempts), f"one journal entry with the MESSAGE_ID of {verdict}",
                       f"{len(entries)}: " + boot.journal_text("-u", "skewguard.service", boot=number)[-3000:]):
        return
    entry = entries[0]
    wanted = {"SKEWGUARD_VERDICT": verdict, "SKEWGUARD_ACTION": action, "SKEWGUARD_REASON": reason,
              "PRIORITY": PRIORITIES.get((verdict, action), "5"), "SYSLOG_IDENTIFIER": "skewguard", **fields}
    for name, value in wanted.items():
        expect.equal(entry.get(name), value, f"journal field {name}")
    others = [name for name in MESSAGE_IDS if name != verdict
              and boot.journal("MESSAGE_ID=" + MESSAGE_IDS[name], boot=number)]
    expect.equal(others, [], "other verdicts in the same boot")


def refused(world, node, boot, reason="BelowMinimumOCPVersion", verdict="Refused", message=(), attempts=False, forgotten=False,
            **fields):
    """The node is held back, and says so everywhere. `attempts`: somebody tried to start what is held since. `forgotten`: systemd was made to
    forget what has failed."""
    expect = world.expect
    image = IMAGES[node.setup.image]
    ran = boot.ran()
    for name in HELD if node.setup.wiring == "a" else HELD_B:
        expect.that(name not in ran, f"{name} held back", ran)
    expect.that("sshd.service" in ran, "the way in by ssh open", ran)
    expect.that("kubelet.service" not in boot.active(), "no kubelet running", boot.active())
    expect.equal(boot.failed(), [] if forgotten else ["skewguard.service"], "systemctl --failed")
    expect.equal(boot.property("multi-user.target", "ActiveState"), "active", "multi-user.target")
    expect.that(boot.exists(CONFIG), "the first boot not finished")
    stopped = [line for line in boot.journal_text().splitlines() if "Dependency failed for" in line]
    for unit in ("Kubernetes Kubelet", "Machine Config Daemon Firstboot"):
        expect.that(any(unit in line for line in stopped), f"'Dependency failed for {unit}'", "\n".join(stopped))
    fields = {"SKEWGUARD_BOOT_IMAGE": image.version, "SKEWGUARD_POOL": node.setup.pool, **fields}
    journal_entry(expect, boot, verdict, "Block", reason, attempts=attempts, **fields)
    written = boot.verdict() or {}
    expect.equal((written.get("verdict"), written.get("action"), written.get("reason")),
                 (verdict, "Block", reason), "/run/skewguard/verdict.json")
    expect.equal((written.get("gate") or {}).get("held"), True, "gate.held in the verdict")
    screen(expect, boot, message or ["NODE REFUSED", image.version])


def screen(expect, boot, parts):
    """The whole message is on /etc/issue and was shown above the first login prompt. Of that a screen of 25 lines still has the headline."""
    issue = boot.read("/etc/issue") or ""
    expect.contains(issue, parts, "/etc/issue")
    expect.that(issue.endswith("\\S \\S{VERSION_ID}\n"), "what was on /etc/issue before below the message", issue)
    lines = issue.splitlines()
    headline = lines[0] if lines else ""
    expect.that(len(lines) <= 22 and all(len(line) <= 79 for line in lines),
                "/etc/issue and a prompt to fit on 80x24", issue)
    above = boot.above_login()
    last = above.rfind(headline)
    left = "\n".join(above.splitlines()[-24:])
    expect.that(headline and headline in left, "the headline in what 25 lines show, with the prompt", left)
    below = above.rfind("Ignition: wrote ssh authorized keys")
    expect.that(0 <= below < last, "the headline below what else is shown", above[-2500:])
    top = above.rfind(headline, 0, last)
    if expect.that(top >= 0, "the message above the first login prompt", above[-2500:]):
        shown = above[top:].splitlines()
        # The node's address, and whether the cluster knows, may have been learnt since the prompt was drawn.
        at = {label: number for number, line in enumerate(lines) for label in ("Let in ", "More ", "Cluster ") if line.startswith(label)}
        still = lines[:at.get("Let in ", at["More "])] + lines[at["More "]:at["Cluster "]]
        for line in (line for line in still if line.strip()):
            expect.that(line in shown, f"on the console: {line!r}", "\n".join(shown))
        if "Let in " in at:
            expect.contains("\n".join(shown), ["\nLet in  ssh core@", "skewguard allow", "skewguard=off", "\nMore "], "on the console")
        # systemd may have more to say between the message and the prompt, but not in the middle of the message.
        end = max((number for number, line in enumerate(shown) if line in still and line.strip()), default=0)
        for line in shown[:end]:
            expect.that("Starting " not in line and "OK  ]" not in line, "the message not torn apart", line)


def goes_on(world, node, first):
    """The node was let go on in `first`: it rebases and reboots; the second boot starts the kubelet. Returns it."""
    expect = world.expect
    first.wait_reboot()
    second = node.boot().settle()
    ran = second.ran_before()
    expect.contains(" ".join(ran), ["machine-config-daemon-pull.service", "rebase"], "the first boot")
    expect.that("kubelet.service" not in ran, "no kubelet in the first boot", ran)
    joined(world, node, second)
    return second


def joined(world, node, boot, image=None):
    """The node is on the cluster's OS image, or on `image`, and its kubelet runs."""
    expect = world.expect
    ran = boot.ran()
    expect.contains(" ".join(ran), ["nodeip-configuration.service", "crio.service", "kubelet.service"],
                    "what ran in the boot that joins")
    expect.that("ovs-configuration.service" in ran, "the network set up", ran)
    expect.that("rebase" not in ran, "one rebase only", ran)
    expect.equal(boot.failed(), [], "systemctl --failed")
    expect.that("kubelet.service" in boot.active(), "the kubelet running", boot.active())
    expect.that(not boot.exists(CONFIG), "the first boot finished")
    expect.contains(boot.read("/etc/os-release") or "", [IMAGES[image or node.setup.target].version], "the booted OS")
    expect.equal(boot.shell("readlink /etc/issue || true").strip(), ISSUE_LINK, "/etc/issue as it was, a link")
    expect.that("NODE REFUSED" not in boot.console.text(), "no refusal on the console", boot.console.text()[-1500:])


def silent(expect, boot):
    """The console of `boot` shows nothing of the agent."""
    text = boot.console.text()
    for word in ("NODE REFUSED", "BOOT IMAGE OF THIS NODE", "skewguard:"):
        expect.that(word not in text, f"no {word!r} on the console of boot {boot.number}", text[-2000:])

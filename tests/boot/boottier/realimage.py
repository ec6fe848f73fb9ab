"""The same check on a real RHCOS or FCOS image that the user has: its own units, its own everything."""

import json
import re
import shutil
import tempfile
import time
from pathlib import Path

from .accelerator import accelerator
from .expect import Expect, Unexpected
from .looks import MESSAGE_IDS
from .nspawn import BootError
from .paths import RESULTS
from .patience import ANSWER
from .progress import say
from .qemu import Machine

REFUSED = "NODE REFUSED"
LOGIN = r"(?m)^\S+ login: "
# What systemd says of skewguard.service when it let the boot go on, by name or by description.
WENT_ON = re.compile(r"(Finished|Started) (skewguard\.service|Check the boot image against)")

# Put beside what the user's config has: after the verdict, before whatever the verdict holds and before the login prompt.
SHOW = {"name": "skewguard-boot-test.service", "enabled": True, "contents": """[Unit]
Description=Show the verdict of skewguard to the boot test
After=skewguard.service
Before=machine-config-daemon-pull.service machine-config-daemon-firstboot.service systemd-user-sessions.service

[Service]
Type=oneshot
ExecStart=/bin/sh -c '{ echo verdict-begins; cat /run/skewguard/verdict.json || echo {}; echo verdict-ends; } >/dev/ttyS1'

[Install]
WantedBy=multi-user.target
"""}


def with_show(text):
    """The Ignition config with our unit in it; None for what is no config of spec 2 or 3, and goes to the machine as it is."""
    try:
        config = json.loads(text)
        if config["ignition"]["version"].split(".")[0] not in ("2", "3"):
            return None
        systemd = config.get("systemd") or {}
        return json.dumps({**config, "systemd": {**systemd, "units": [*(systemd.get("units") or []), SHOW]}})
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def check(options):
    """Boots the image with the Ignition config through fw_cfg; returns a result as for a scenario."""
    began = time.monotonic()
    folder = RESULTS / "image"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    expect = Expect()
    failure = evidence = text = ""
    image = Path(options.image).resolve()
    with tempfile.TemporaryDirectory(prefix="skewguard-boot-") as work:
        work = Path(work)
        arguments = ["-drive", f"file={_escaped(image)},if=virtio,snapshot=on"]
        if options.ignition:
            config = Path(options.ignition).resolve()
            shown = with_show(config.read_text(encoding="utf-8", errors="replace"))
            if shown is not None:
                config = work / "config.ign"
                config.write_text(shown, encoding="utf-8")
            arguments += ["-fw_cfg", f"name=opt/com.coreos/config,file={_escaped(config)}"]
        say(f"booting {image.name} ({accelerator()}), up to {options.timeout} s")
        # RHEL 10 needs what few emulated processors have (x86-64-v3).
        machine = Machine(arguments, work, memory=4096, second="file,path=verdict", processor="max,la57=off")
        try:
            end = _end(machine, began + options.timeout)
            text = machine.console.text()
            verdict = _verdict(work / "verdict")
            (folder / "verdict.json").write_text(json.dumps(verdict), encoding="utf-8")
            judge(expect, options.expect, end, text, verdict)
            expect.finish()
        except (BootError, Unexpected, OSError) as error:
            failure = str(error)
        finally:
            _picture(machine, folder / "screen.png")
            machine.kill()
            text = machine.console.text()
            (folder / "console.txt").write_text(text, encoding="utf-8")
    if failure:
        evidence = "--- console, last lines\n" + text[-6000:]
        say(f"{failure}\n{evidence}")
    return {"name": f"{image.name} {options.expect}", "seconds": round(time.monotonic() - began, 1), "boots": 1,
            "checks": expect.checked, "failure": failure, "evidence": evidence}


def _escaped(path):
    """A comma ends a value on QEMU's command line."""
    return str(path).replace(",", ",,")


def _picture(machine, path):
    """A picture where there is a screen still; it is no part of the check."""
    try:
        if not machine.ended():
            machine.picture(path)
    except (BootError, OSError, ValueError) as error:
        say(f"no picture of the screen: {error}")


def _end(machine, deadline):
    """What the boot came to: "login", "reboot" or "off". An allowed node may reboot into its new OS before it shows a login prompt."""
    if machine.console.wait_for(LOGIN, deadline) is not None:
        return "login"
    if not machine.console.closed():
        raise BootError("neither a login prompt nor a reboot within the time that --timeout gives")
    return machine.wait_end(time.monotonic() + ANSWER)


def _verdict(file):
    """What our unit wrote to the second serial port: the verdict, an empty one, or None when there was no such unit."""
    try:
        found = re.search(r"verdict-begins(.*)verdict-ends", file.read_text(encoding="utf-8", errors="replace"), re.DOTALL)
        verdict = json.loads(found[1]) if found else None
        return verdict if isinstance(verdict, dict) else None
    except (OSError, ValueError):
        return None


def judge(expect, wanted, end, text, verdict):
    """Whether a boot that came to `end`, with this console and verdict, is as `wanted`."""
    if verdict:
        say(f"verdict: {verdict.get('verdict')} ({verdict.get('reason')}), {verdict.get('action')}")
    elif verdict is not None:
        say("skewguard left no verdict; is /etc/ignition-machine-config-encapsulated.json in the config?")
    if wanted == "refused":
        if verdict is not None:
            expect.equal(_words(verdict), "Block, held", "what skewguard did")
        expect.equal(end, "login", "where the boot ended")
        place = re.search(LOGIN, text)
        above = text[:place.end()] if place else text
        expect.contains(above, ["*** " + REFUSED, "Found ", "Needed ", "skewguard allow"], "the console above the login prompt")
        say(f"look for its journal entry with MESSAGE_ID={MESSAGE_IDS['Refused']}")
        return
    # Silence alone proves nothing: an image on which skewguard never ran is as silent.
    if verdict is not None:
        expect.equal(verdict.get("verdict"), "Allowed", "the verdict")
        expect.equal(_words(verdict), "Proceed", "what skewguard did")
    else:
        expect.that(WENT_ON.search(text), "a sign that skewguard ran: its verdict on the second serial port, or the line of "
                    "skewguard.service on the console", "there is neither")
    expect.that(end in ("login", "reboot"), "a login prompt, or a reboot into the new OS", "the machine ended before")
    expect.that(REFUSED not in text, "no refusal on the console", text[-1500:])


def _words(verdict):
    held = (verdict.get("gate") or {}).get("held")
    return f"{verdict.get('action')}" + ("" if held is None else ", held" if held else ", not held")

"""The same check on a real RHCOS or FCOS image that the user has: its own units, its own everything."""

import shutil
import tempfile
import time
from pathlib import Path

from .looks import MESSAGE_IDS
from .paths import RESULTS
from .progress import say
from .qemu import Machine, accelerator

REFUSED = "NODE REFUSED"
# How a boot that goes on shows itself on the console.
LOGIN = r"(?m)^\S+ login: "


def check(options):
    """Boots the image with the Ignition config through fw_cfg; returns a result as for a scenario."""
    began = time.monotonic()
    folder = RESULTS / "image"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    failure = evidence = ""
    checks = 0
    image = Path(options.image).resolve()
    with tempfile.TemporaryDirectory(prefix="skewguard-boot-") as work:
        arguments = ["-drive", f"file={_escaped(image)},if=virtio,snapshot=on"]
        if options.ignition:
            config = Path(options.ignition).resolve()
            arguments += ["-fw_cfg", f"name=opt/com.coreos/config,file={_escaped(config)}"]
        say(f"booting {image.name} ({accelerator()}), up to {options.timeout} s")
        machine = Machine(arguments, Path(work), memory=4096)
        try:
            failure, checks = _look(machine, options, began)
            if not machine.ended():
                machine.picture(folder / "screen.png")
        except Exception as error:  # pylint: disable=broad-except
            failure = failure or f"{type(error).__name__}: {error}"
        finally:
            text = machine.console.text()
            machine.kill()
    (folder / "console.txt").write_text(text, encoding="utf-8")
    if failure:
        evidence = "--- console, last lines\n" + text[-6000:]
        say(f"{failure}\n{evidence}")
    return {"name": f"{image.name} {options.expect}", "seconds": round(time.monotonic() - began, 1), "boots": 1,
            "checks": checks, "failure": failure, "evidence": evidence}


def _escaped(path):
    """A comma ends a value on QEMU's command line."""
    return str(path).replace(",", ",,")


def _look(machine, options, began):
    """Waits for the login prompt; an allowed node may reboot into its new OS before it."""
    deadline = began + options.timeout
    place = machine.console.wait_for(LOGIN, deadline)
    text = machine.console.text()
    if place is None and machine.ended() and "reboot: Restarting system" not in text:
        return "the machine ended before it had a login prompt", 1
    if options.expect == "allowed":
        if REFUSED in text:
            return "expected allowed, but the console says that the node is refused", 2
        rebooted = machine.ended() and "reboot: Restarting system" in text
        if place is None and not rebooted:
            return f"no login prompt and no reboot within {options.timeout} s", 2
        return "", 2
    if place is None:
        return f"no login prompt within {options.timeout} s", 1
    above = text[:place]
    wanted = ["*** " + REFUSED, "Found ", "Needed ", "skewguard allow"]
    missing = [part for part in wanted if part not in above]
    if missing:
        return f"expected refused, but above the login prompt there is no {', '.join(missing)}", len(wanted)
    if "reboot: Restarting system" in text:
        return "expected refused, but the machine rebooted", len(wanted) + 1
    say(f"refused, as expected; its journal entry: MESSAGE_ID={MESSAGE_IDS['Refused']}")
    return "", len(wanted) + 1

"""The same check on a real RHCOS or FCOS image that the user has: its own units, its own everything."""

import gzip
import json
import lzma
import re
import shutil
import tempfile
import time
import zlib
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

# What a refusal has to hold. An image or a config that lacks one of them proves nothing: what is not there does not start.
FIRST_BOOT = ("machine-config-daemon-pull.service", "machine-config-daemon-firstboot.service", "kubelet.service")


def _shows(name, description, order, *commands):
    """A unit that writes what these commands print to the second serial port."""
    return {"name": name, "enabled": True, "contents": f"""[Unit]
Description={description}
{order}
[Service]
Type=oneshot
ExecStart=/bin/sh -c '{{ {"; ".join(commands)}; }} >/dev/ttyS1'

[Install]
WantedBy=multi-user.target
"""}


def _states(word):
    return f"echo units-{word}-begin; systemctl show -p Id,LoadState,ActiveState,Result {' '.join(FIRST_BOOT)}; echo units-{word}-end"


# Put beside what the user's config has: one after the verdict, before whatever the verdict holds and before the login prompt; one after that, when
# none of what is held is waiting to start any more. It is not ordered after that: a refusal also holds what waits for the rebase.
NO_JOBS = "for i in $$(seq 60); do systemctl list-jobs --no-legend | grep -q -e machine-config-daemon -e kubelet || break; sleep 1; done"
SHOW = [
    _shows("skewguard-boot-test.service", "Show the verdict of skewguard to the boot test",
           f"After=skewguard.service\nBefore={' '.join(FIRST_BOOT)} systemd-user-sessions.service\n",
           "echo verdict-begins; cat /run/skewguard/verdict.json || echo {}; echo verdict-ends", _states("first")),
    _shows("skewguard-boot-test-units.service", "Show what became of the units of the first boot to the boot test",
           "After=skewguard.service skewguard-boot-test.service\n", NO_JOBS, _states("last")),
]
# The first bytes of what people have instead of a qcow2 file, and what to do.
PACKED = {b"\x1f\x8b": gzip.open, b"\xfd7zXZ\x00": lzma.open}
OTHERS = ((0, b"\x28\xb5\x2f\xfd", "is packed with zstd: zstd -d unpacks it"), (0, b"BZh", "is packed with bzip2: bunzip2 unpacks it"),
          (0, b"PK\x03\x04", "is a ZIP archive: unzip it"), (257, b"ustar", "is a tar archive, or an OVA, which is one: unpack it"),
          (0, b"KDMV", "is a VMDK file: qemu-img convert -O qcow2 makes a qcow2 file of it"),
          (0, b"# Disk DescriptorFile", "is a VMDK description: qemu-img convert -O qcow2 makes a qcow2 file of it"),
          (0, b"conectix", "is a VHD file: qemu-img convert -O qcow2 makes a qcow2 file of it"),
          (32769, b"CD001", "is an ISO image: it installs a node, and is none; take the qcow2 file of the same release"))
QCOW2 = b"QFI\xfb"
# Bytes. An image has 16 GiB.
MOST = 64 << 30


def unfit(path):
    """Why QEMU would show nothing of this file for as long as one lets it; None for what it may be given."""
    with open(path, "rb") as file:
        head = file.read(1 << 16)
    if head.startswith((QCOW2, *PACKED)):
        return None
    for place, magic, why in OTHERS:
        if head[place:place + len(magic)] == magic:
            return why
    # A disk as it is, with a boot sector.
    return None if head[510:512] == b"\x55\xaa" else "is no disk image: its first bytes are those of nothing that is known"


def _unpacked(image, folder):
    """The image itself, or unpacked where it is packed."""
    with open(image, "rb") as file:
        head = file.read(8)
    unpack = next((unpack for magic, unpack in PACKED.items() if head.startswith(magic)), None)
    if unpack is None:
        return image
    say(f"unpacking {image.name}")
    whole = folder / "disk.qcow2"
    try:
        with unpack(image, "rb") as packed, open(whole, "wb") as file:
            while block := packed.read(1 << 20):
                file.write(block)
                if file.tell() > MOST:
                    raise BootError(f"{image.name} has more than {MOST >> 30} GiB unpacked")
    except (EOFError, lzma.LZMAError, gzip.BadGzipFile, zlib.error) as error:
        raise BootError(f"{image.name} is damaged: {error}") from None
    why = unfit(whole)
    if why:
        raise BootError(f"what is in {image.name} {why}")
    return whole


def with_show(text):
    """The Ignition config with our units in it; None for what is no config of spec 2 or 3, and goes to the machine as it is."""
    try:
        config = json.loads(text)
        if config["ignition"]["version"].split(".")[0] not in ("2", "3"):
            return None
        systemd = config.get("systemd") or {}
        return json.dumps({**config, "systemd": {**systemd, "units": [*(systemd.get("units") or []), *SHOW]}})
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
        arguments = []
        shown = None
        if options.ignition:
            config = Path(options.ignition).resolve()
            shown = with_show(config.read_text(encoding="utf-8", errors="replace"))
            if shown is not None:
                config = work / "config.ign"
                config.write_text(shown, encoding="utf-8")
            arguments += ["-fw_cfg", f"name=opt/com.coreos/config,file={_escaped(config)}"]
        machine = None
        try:
            arguments += ["-drive", f"file={_escaped(_unpacked(image, folder))},if=virtio,snapshot=on"]
            say(f"booting {image.name} ({accelerator()}), up to {options.timeout} s")
            # RHEL 10 needs what few emulated processors have (x86-64-v3).
            machine = Machine(arguments, work, memory=4096, second="file,path=verdict", processor="max,la57=off")
            end = _end(machine, time.monotonic() + options.timeout)
            text = machine.console.text()
            verdict = _verdict(work / "verdict")
            units = _units(work / "verdict", options.expect == "refused" and shown is not None)
            (folder / "verdict.json").write_text(json.dumps(verdict), encoding="utf-8")
            (folder / "units.json").write_text(json.dumps(units), encoding="utf-8")
            judge(expect, options.expect, end, text, verdict, units)
            expect.finish()
        except (BootError, Unexpected, OSError) as error:
            failure = str(error)
        finally:
            if machine:
                _picture(machine, folder / "screen.png")
                machine.kill()
                text = machine.console.text()
            if (work / "verdict").exists():
                shutil.copy(work / "verdict", folder / "second-port.txt")
            (folder / "console.txt").write_text(text, encoding="utf-8")
            (folder / "disk.qcow2").unlink(missing_ok=True)
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


def _units(file, last):
    """What the units of the first boot are, by name: right after the verdict, or when none is waiting to start. None where nobody said it."""
    word = "last" if last else "first"
    deadline = time.monotonic() + 2 * ANSWER
    while True:
        text = file.read_text(encoding="utf-8", errors="replace").replace("\r", "") if file.exists() else ""
        found = re.search(f"units-{word}-begin\n(.*?)units-{word}-end", text, re.DOTALL)
        if found:
            return {unit.pop("Id"): unit for unit in map(_properties, found[1].strip().split("\n\n")) if "Id" in unit}
        if not last or time.monotonic() > deadline:
            return None
        time.sleep(0.5)


def _properties(text):
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def _judge_units(expect, refused, verdict, units):
    """Whether there was something to hold, and it was held."""
    if units is None:
        expect.that(False, "to be told of the units of the first boot", "nobody said it: give --ignition a config of spec 2 or 3 that is not replaced by another")
        return
    for unit in FIRST_BOOT:
        state = units.get(unit) or {}
        say(f"{unit}: " + " ".join(f"{name}={value}" for name, value in sorted(state.items())))
        expect.equal(state.get("LoadState"), "loaded", f"{unit} in the config (docs/ci.md); without it nothing is proven")
        if refused:
            expect.that(state.get("ActiveState") in ("inactive", "failed"), f"{unit} held", state)
            expect.that(unit in ((verdict or {}).get("gate") or {}).get("units", ()), f"{unit} among what the verdict says is held", verdict)


def judge(expect, wanted, end, text, verdict, units=None):
    """Whether a boot that came to `end`, with this console, verdict and units, is as `wanted`."""
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
        _judge_units(expect, True, verdict, units)
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
    _judge_units(expect, False, verdict, units)


def _words(verdict):
    held = (verdict.get("gate") or {}).get("held")
    return f"{verdict.get('action')}" + ("" if held is None else ", held" if held else ", not held")

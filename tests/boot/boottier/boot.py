"""One boot of a node, and what can be seen of it: console, journal, units, files, what ran."""

import json
import re
import shlex
import time

from .nspawn import BootError
from .patience import ANSWER, END
from .trees import ROOT_PASSWORD

LOGIN = r"(?m)^\S+ login: "
PROMPT = re.compile(r"root@\S+:\S*# $")
# What `systemctl is-system-running --wait` does, which came with systemd 240. "unknown": systemd executes itself anew in this moment.
STARTED = "until systemctl is-system-running 2>/dev/null | grep -v -e initializing -e starting -e unknown; do sleep 0.3; done"
BOOT_ID = "/proc/sys/kernel/random/boot_id"


class Boot:
    """A running machine. Every question is answered by the node's own tools."""

    def __init__(self, machine, number, deadline):
        self.machine = machine
        self.number = number
        self.deadline = deadline
        self._boot_id = None

    @property
    def console(self):
        """The machine's console."""
        return self.machine.console

    def settle(self):
        """Waits for the login prompt and until no job is left, as a person would before looking."""
        if self.console.wait_for(LOGIN, self.deadline) is None:
            raise BootError(f"no login prompt on the console of boot {self.number}")
        state = self.wait_started()
        if state not in ("running", "degraded"):
            raise BootError(f"boot {self.number} settled as {state!r}")
        return self

    def wait_started(self):
        """Waits until the node is no longer starting; what it is then."""
        return self.shell(STARTED, timeout=self._left()).strip()

    def wait_reboot(self):
        """Waits until the node reboots by itself."""
        how = self.machine.wait_end(self.deadline)
        if how != "reboot":
            raise BootError(f"boot {self.number}: the node powered off instead of rebooting")

    def power_off(self):
        """Shuts the node down."""
        self.machine.power_off(time.monotonic() + END)

    def _left(self):
        return max(1.0, self.deadline - time.monotonic())

    def shell(self, command, timeout=ANSWER):
        """Output of a command that must succeed."""
        status, output = self.machine.run(command, timeout)
        if status != 0:
            raise BootError(f"{command!r} on the node ended with {status}:\n{output[-2000:]}")
        return output

    def succeeds(self, command, timeout=ANSWER):
        """Whether a command ends with 0."""
        return self.machine.run(command, timeout)[0] == 0

    def read(self, path):
        """Content of a file of the node; None where there is none."""
        status, output = self.machine.run(f"cat -- {shlex.quote(path)}")
        return output if status == 0 else None

    def exists(self, path):
        """Whether the node has this file."""
        return self.succeeds(f"test -e {shlex.quote(path)}")

    def ran(self):
        """Names of the stand-ins that ran in this boot, in order."""
        self._boot_id = self._boot_id or self.shell(f"cat {BOOT_ID}").strip()
        notes = self.read("/var/log/stand-ins") or ""
        return [line.split()[2] for line in notes.splitlines() if line.startswith(self._boot_id)]

    def ran_before(self):
        """Names of the stand-ins that ran in the boot before this one, in order."""
        self.ran()
        notes = [line.split() for line in (self.read("/var/log/stand-ins") or "").splitlines()]
        boots = list(dict.fromkeys(note[0] for note in notes))
        wanted = boots[boots.index(self._boot_id) - 1] if self._boot_id in boots else boots[-1]
        return [note[2] for note in notes if note[0] == wanted]

    def failed(self):
        """Names of the units that `systemctl --failed` lists."""
        output = self.shell("systemctl --failed --plain --no-legend --no-pager")
        return sorted(line.split()[0] for line in output.splitlines() if line.strip())

    def active(self):
        """Names of the services that run now."""
        output = self.shell("systemctl list-units --type=service --state=running --plain --no-legend --no-pager")
        return [line.split()[0] for line in output.splitlines() if line.strip()]

    def property(self, unit, name):
        """One property of a unit."""
        return self.shell(f"systemctl show --value -p {name} {unit}").strip()

    def journal(self, *matches, boot=0):
        """Entries that match, as objects; `boot` -1 is the boot before this one."""
        words = " ".join(shlex.quote(match) for match in matches)
        output = self.shell(f"journalctl --sync; journalctl -b {boot} -o json --no-pager --all {words}")
        return [json.loads(line) for line in output.splitlines() if line.startswith("{")]

    def journal_text(self, *options, boot=0):
        """The journal as text."""
        words = " ".join(shlex.quote(option) for option in options)
        return self.shell(f"journalctl --sync; journalctl -b {boot} -o short-monotonic --no-pager {words}")

    def log_in(self):
        """Logs in as root on the console. Returns the place on the console behind the shell prompt."""
        answered = None
        while time.monotonic() < self.deadline and not self.machine.ended():
            text = self.console.text()
            if PROMPT.search(text):
                return len(text)
            # agetty drops what was typed when it shows a changed message; a person waits until nothing moves, and types again.
            time.sleep(1)
            if text == answered or text != self.console.text():
                continue
            if text.endswith(" login: "):
                self.console.send("root\n")
            elif text.endswith("Password: "):
                self.console.send(ROOT_PASSWORD + "\n")
            else:
                continue
            answered = text
        raise BootError(f"boot {self.number}: no login on the console")

    def verdict(self):
        """/run/skewguard/verdict.json, or None."""
        text = self.read("/run/skewguard/verdict.json")
        return json.loads(text) if text else None

    def above_login(self):
        """What the console showed before the first login prompt."""
        text = self.console.text()
        end = self.console.wait_for(LOGIN, self.deadline)
        return text if end is None else self.console.text()[:end]

    def evidence(self):
        """What a person needs who looks at a failure: the console's tail and the journal."""
        parts = [f"--- console of boot {self.number}, last lines",
                 "\n".join(line for line in self.console.text().splitlines() if line.strip())[-6000:], self.machine.said()]
        if not self.machine.ended():
            for title, command in (
                    ("journal", "journalctl -b --no-pager -o short-monotonic | tail -n 150"),
                    ("failed units", "systemctl --failed --no-pager"),
                    ("stand-ins", "cat /var/log/stand-ins"),
                    ("verdict", "cat /run/skewguard/verdict.json")):
                try:
                    parts += [f"--- {title} of boot {self.number}", self.machine.run(command, 20)[1]]
                except Exception as error:  # pylint: disable=broad-except
                    parts += [f"--- {title} of boot {self.number}: {error}"]
        return "\n".join(parts)

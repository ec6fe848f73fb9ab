"""A machine booted with QEMU: its own kernel, serial console, VGA screen, user network."""

import base64
import json
import os
import re
import socket
import subprocess
import time

from . import accelerator
from .console import Console, plain
from .nspawn import BootError
from .patience import ANSWER, SILENCE

# How a guest of QEMU's user network reaches this machine.
HOST = "10.0.2.2"


class Machine:
    """One power-on. `arguments` are QEMU's own, beside what every machine here has; `second` is what its second serial port is.

    The simpler the processor that is emulated, the faster.
    """

    kind = "qemu"

    def __init__(self, arguments, folder, memory=1024, second="socket,path=shell,server=on,wait=off", processor="Nehalem"):
        # Sockets are relative to it: the path of a UNIX socket has at most 107 bytes.
        self._folder = folder
        self._processor = processor
        self._shell = None
        self._count = 0
        arguments = ["-m", str(memory), "-nodefaults", "-no-reboot", "-display", "none", "-vga", "std",
                     "-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console",
                     "-chardev", f"{second},id=second", "-serial", "chardev:second",
                     "-qmp", "unix:qmp,server=on,wait=off", "-device", "virtio-rng-pci",
                     "-netdev", "user,id=net", "-device", "virtio-net-pci,netdev=net", *arguments]
        self._start(arguments)
        if accelerator.accelerator() == "kvm" and not self._shows_something():
            why = f"ended with {self._process.returncode}" if self.ended() else f"showed nothing for {SILENCE} s"
            self.kill()
            accelerator.without_kvm(f"a machine {why} {self.said()}".rstrip())
            self._start(arguments)

    def _start(self, arguments):
        self.console = Console()
        self.began = time.monotonic()
        with open(self._folder / "qemu.stderr", "w", encoding="utf-8") as errors:
            self._process = subprocess.Popen(
                # It ends with this process, however that ends.
                ["setpriv", "--pdeathsig", "KILL", "qemu-system-x86_64", "-machine", "q35", *accelerator.arguments(self._processor), *arguments],
                stdin=self.console.slave, stdout=self.console.slave, stderr=errors, cwd=self._folder, start_new_session=True)
        self.console.started()

    def _shows_something(self):
        """Waits for a first sign on the console. Until there is one, nothing has been done to the disk."""
        return self.console.wait_for(r"\S", time.monotonic() + SILENCE) is not None

    def said(self):
        """What QEMU itself had to say."""
        text = (self._folder / "qemu.stderr").read_text(encoding="utf-8", errors="replace").strip()
        return f"(QEMU: {text[-500:]})" if text else ""

    def _connect(self, name):
        deadline = time.monotonic() + ANSWER
        connection = socket.socket(socket.AF_UNIX)
        # Only this process changes directory here, and it has no other thread that depends on it.
        before = os.getcwd()
        os.chdir(self._folder)
        try:
            while True:
                try:
                    connection.connect(name)
                    return connection
                except (FileNotFoundError, ConnectionRefusedError):
                    if time.monotonic() > deadline or self.ended():
                        raise BootError(f"QEMU does not offer {name} {self.said()}") from None
                    time.sleep(0.1)
        finally:
            os.chdir(before)

    def qmp(self, command, **arguments):
        """Runs a command of QEMU's machine protocol."""
        with self._connect("qmp") as connection, connection.makefile("rw", encoding="utf-8") as stream:
            stream.readline()
            for request in ({"execute": "qmp_capabilities"}, {"execute": command, "arguments": arguments}):
                stream.write(json.dumps(request) + "\n")
                stream.flush()
                answer = json.loads(stream.readline())
                while "event" in answer:
                    answer = json.loads(stream.readline())
            if "error" in answer:
                raise BootError(f"QEMU: {command}: {answer['error']}")

    def _shell_answers(self, deadline):
        """Connects to the harness's shell on the second serial port. Before it is there, what is typed is lost."""
        self._shell = self._connect("shell")
        self._shell.settimeout(2)
        received = ""
        while "ready-42" not in received:
            if time.monotonic() > deadline or self.ended():
                raise BootError("no shell on the second serial port of the machine")
            self._shell.sendall(b"echo ready-$((6 * 7))\n")
            try:
                received += self._shell.recv(65536).decode("utf-8", "replace")
            except TimeoutError:
                pass

    def run(self, command, timeout=ANSWER):
        """Runs a shell command in the harness's shell on the second serial port: exit status and output."""
        deadline = time.monotonic() + timeout
        if self._shell is None:
            self._shell_answers(deadline)
        self._count += 1
        # What is typed comes back as an echo; only the answer has the mark in one piece.
        mark = f"answer-{os.getpid()}-{self._count}"
        coded = base64.b64encode(command.encode()).decode()
        line = (f"sh -c \"$(echo {coded} | base64 -d)\" </dev/null >/run/.harness 2>&1; "
                f"printf '%s%s %s\\n' answer- {mark.removeprefix('answer-')} $?; base64 /run/.harness; "
                f"printf '%s%s end\\n' answer- {mark.removeprefix('answer-')}\n")
        self._shell.sendall(line.encode())
        received = ""
        pattern = re.compile(rf"{mark} (\d+)\n(.*?){mark} end", re.DOTALL)
        while True:
            found = pattern.search(plain(received))
            if found:
                output = base64.b64decode(re.sub(r"[^A-Za-z0-9+/=]", "", found[2])).decode("utf-8", "replace")
                return int(found[1]), output
            left = deadline - time.monotonic()
            if left <= 0 or self.ended():
                raise BootError(f"{command!r}: no answer from the machine within {timeout:.0f} s")
            self._shell.settimeout(min(left, 2))
            try:
                received += self._shell.recv(65536).decode("utf-8", "replace")
            except TimeoutError:
                continue

    def picture(self, path):
        """Saves what is on the screen as a PNG."""
        raw = self._folder / "screen.ppm"
        self.qmp("screendump", filename="screen.ppm")
        from .picture import ppm_to_png  # pylint: disable=import-outside-toplevel

        path.write_bytes(ppm_to_png(raw.read_bytes()))
        raw.unlink()

    def wait_end(self, deadline):
        """Waits until the machine is off: "reboot" or "off" (with -no-reboot, QEMU ends in both cases)."""
        try:
            self._process.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired as error:
            raise BootError("the machine neither rebooted nor powered off in time") from error
        self._drop()
        return "reboot" if "reboot: Restarting system" in self.console.text() else "off"

    def ended(self):
        """True once the machine is off."""
        return self._process.poll() is not None

    def power_off(self, deadline):
        """Shuts down in an orderly way, so that the disk can be read."""
        if not self.ended():
            # The shell is there, so what it is sent next arrives. Its answer to that may not come any more: the serial port can
            # be gone before it has carried it.
            self.run("true")
            self._shell.sendall(b"systemctl --no-block poweroff\n")
        return self.wait_end(deadline)

    def kill(self):
        """Takes the power away."""
        if not self.ended():
            self._process.kill()
            self._process.wait()
        self._drop()

    def _drop(self):
        if self._shell is not None:
            self._shell.close()
            self._shell = None
        self.console.close()

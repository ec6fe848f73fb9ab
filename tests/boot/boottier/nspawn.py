"""A node booted with systemd-nspawn: real systemd, D-Bus, journald and agetty on a pseudo terminal."""

import os
import signal
import subprocess
import time
from pathlib import Path

from .console import Console
from .patience import ANSWER
from .sysroot import STATEROOT, boot_entries, deployment

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin"
REBOOT = 133


class BootError(Exception):
    """A machine did not do what every machine must do: boot, answer, end."""


class Container:
    """One boot of the node whose disk is the folder `disk`."""

    kind = "nspawn"

    def __init__(self, disk, kernel_arguments="", hostname="worker-0"):
        self.disk = disk
        self.entry = boot_entries(disk)[0]
        self.root = deployment(disk, self.entry)
        harness = disk / ".harness"
        harness.mkdir(exist_ok=True)
        cmdline = f"BOOT_IMAGE={self.entry.linux} {self.entry.options} {kernel_arguments}".strip()
        (harness / "cmdline").write_text(cmdline + "\n", encoding="ascii")
        self.console = Console()
        self.began = time.monotonic()
        self._process = subprocess.Popen(
            ["systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--link-journal=no",
             "--resolv-conf=off", "--timezone=off", "--console=interactive", f"--hostname={hostname}",
             "--kill-signal=SIGRTMIN+3", f"--directory={self.root}", f"--bind={disk}:/sysroot:norbind",
             f"--bind={disk / STATEROOT / 'var'}:/var:norbind", "/usr/libexec/harness-init",
             # In a container systemd reads its own arguments instead of the kernel's.
             *(word for word in cmdline.split() if word.startswith("systemd."))],
            stdin=self.console.slave, stdout=self.console.slave, stderr=self.console.slave,
            start_new_session=True, env=dict(os.environ, TERM="vt220"))
        self.console.started()

    def _first_process(self):
        """Id of the node's first process, seen from here: the child of systemd-nspawn that is number 1 of a namespace. None where it is gone."""
        for status in Path("/proc").glob("[0-9]*/status"):
            try:
                fields = dict(line.split(":", 1) for line in status.read_text(encoding="ascii", errors="replace").splitlines())
            except OSError:
                continue
            ids = fields["NSpid"].split()
            if int(fields["PPid"]) == self._process.pid and len(ids) > 1 and ids[-1] == "1":
                return int(ids[0])
        return None

    def _leader(self):
        """The same, once it is systemd."""
        process = self._first_process()
        if process is None or b"systemd" not in Path(f"/proc/{process}/cmdline").read_bytes():
            raise BootError("the node's first process is gone")
        return process

    def run(self, command, timeout=ANSWER):
        """Runs a shell command inside the node: its exit status and output."""
        process = subprocess.Popen(
            ["nsenter", f"--target={self._leader()}", "--mount", "--uts", "--ipc", "--pid", "--root", "--wd",
             "/usr/bin/env", "-i", f"PATH={PATH}", "TERM=dumb", "SYSTEMD_COLORS=0", "/bin/sh", "-c", command],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        deadline = time.monotonic() + timeout
        while True:
            try:
                output, _ = process.communicate(timeout=1)
                return process.returncode, output
            except subprocess.TimeoutExpired:
                if time.monotonic() > deadline:
                    # What it started may live on with the pipe: its output is not waited for.
                    process.kill()
                    process.wait()
                    raise
                # A node that reboots stops its processes before it ends them (systemd-shutdown), and nsenter stops with its own. It does not go
                # on by itself, and the node waits for it.
                process.send_signal(signal.SIGCONT)

    def freeze(self, seconds):
        """Nothing of the node gets on for a while, its first process neither; clocks go on. As on a hypervisor that has no time for it."""
        # cgroup version 2, wherever it is mounted; above the first process's own cgroup is the node's.
        group = Path(f"/proc/{self._leader()}/cgroup").read_text(encoding="ascii").split("0::/")[1].strip()
        mounted = next(path for path in (Path("/sys/fs/cgroup/unified"), Path("/sys/fs/cgroup")) if path.is_dir())
        switch = (mounted / group).parent / "cgroup.freeze"
        switch.write_text("1", encoding="ascii")
        time.sleep(seconds)
        switch.write_text("0", encoding="ascii")

    def said(self):
        """What systemd-nspawn has to say is on the console."""
        return ""

    def wait_end(self, deadline):
        """Waits until the machine is off: "reboot" or "off"."""
        try:
            status = self._process.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired as error:
            raise BootError("the node neither rebooted nor powered off in time") from error
        self.console.close()
        return "reboot" if status == REBOOT else "off"

    def ended(self):
        """True once the machine is off."""
        return self._process.poll() is not None

    def power_off(self, deadline):
        """Shuts down in an orderly way."""
        if not self.ended():
            self.run("systemctl --no-block poweroff")
        return self.wait_end(deadline)

    def kill(self):
        """Takes the power away."""
        if not self.ended():
            # The node's processes are a session of their own, and end with the first one. systemd-nspawn ends when that is gone; where it had
            # not come so far, it is killed with what it has started.
            process = self._first_process()
            os.kill(process, signal.SIGKILL) if process else os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(ANSWER)
        self.console.close()

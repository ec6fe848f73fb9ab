"""A place of its own for every scenario: namespaces and a cgroup, so that nothing of it can stay behind.

The scenario runs in a child process with its own mount, process and network namespace. When that
process ends, however it ends, the kernel kills everything in it and drops its mounts and interfaces.
Only the cgroup outlives it; it is removed here.
"""

import os
import signal
import subprocess
import threading
import time
from pathlib import Path

from .patience import ANSWER

# systemd-nspawn places the node's cgroups below its own, in whichever of these the machine has.
HIERARCHIES = [path for path in (Path("/sys/fs/cgroup/systemd"), Path("/sys/fs/cgroup/unified")) if path.is_dir()]
HIERARCHIES = HIERARCHIES or [Path("/sys/fs/cgroup")]

# What run_isolated() runs now, in whichever thread.
RUNNING = set()


class Cgroup:
    """A cgroup per scenario, in every hierarchy that systemd uses."""

    def __init__(self, name):
        self.folders = [hierarchy / f"skewguard-boot-{os.getpid()}-{name}" for hierarchy in HIERARCHIES]

    @classmethod
    def remove_left(cls):
        """Removes those of runs that were killed themselves."""
        for folder in (folder for hierarchy in HIERARCHIES for folder in hierarchy.glob("skewguard-boot-*")):
            if not Path("/proc", folder.name.split("-")[2]).exists():
                left = cls("")
                left.folders = [folder]
                left.__exit__()

    def __enter__(self):
        for folder in self.folders:
            folder.mkdir()
        return self

    def enter(self):
        """Moves the calling process in; for a child before it executes."""
        for folder in self.folders:
            (folder / "cgroup.procs").write_text("0", encoding="ascii")

    def __exit__(self, *_):
        deadline = time.monotonic() + ANSWER
        while any(folder.exists() for folder in self.folders) and time.monotonic() < deadline:
            self._kill()
            for folder in self.folders:
                for below, _, _ in os.walk(folder, topdown=False):
                    try:
                        os.rmdir(below)
                    except OSError:
                        time.sleep(0.05)
        left = [str(folder) for folder in self.folders if folder.exists()]
        if left:
            raise RuntimeError(f"cgroups left behind: {', '.join(left)}")

    def _kill(self):
        for folder in self.folders:
            for below, _, _ in os.walk(folder):
                try:
                    processes = (Path(below) / "cgroup.procs").read_text(encoding="ascii").split()
                except OSError:
                    continue
                for process in processes:
                    try:
                        os.kill(int(process), signal.SIGKILL)
                    except ProcessLookupError:
                        pass


def run_isolated(name, command, timeout, output):
    """Runs `command` in a place of its own. `output` gets each line it prints. Its exit status, or None at `timeout`."""
    with Cgroup(name) as cgroup:
        process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--net", "--ipc", "--fork", "--kill-child", "--mount-proc",
             # The shell is the namespace's first process, and reaps what is orphaned in it: a node cannot end while a process that was put
             # into it waits for that.
             "--propagation", "private", "sh", "-c", '"$@"; exit $?', "sh", *command],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            errors="replace", preexec_fn=cgroup.enter, start_new_session=True)
        timer = _Watchdog(process, timeout)
        RUNNING.add(process)
        try:
            for line in process.stdout:
                output(line.rstrip("\n"))
            process.wait()
        finally:
            timer.cancel()
            RUNNING.discard(process)
            if process.poll() is None:
                process.kill()
                process.wait()
        return None if timer.fired else process.returncode


def stop_all():
    """Ends everything that run_isolated() runs now."""
    for process in list(RUNNING):
        process.kill()


class _Watchdog:
    """Kills a process after a while."""

    def __init__(self, process, timeout):
        self.fired = False
        self._process = process
        self._timer = threading.Timer(timeout, self._fire)
        self._timer.daemon = True
        self._timer.start()

    def _fire(self):
        self.fired = True
        self._process.kill()

    def cancel(self):
        """The process ended in time."""
        self._timer.cancel()


def furnish():
    """Inside the new namespaces: a /run of its own (Ignition and systemd-nspawn keep state there), a network."""
    for command in ("mount -t tmpfs -o mode=755 skewguard-boot /run",
                    "ip link set lo up",
                    "ip link add ens3 type veth peer name gw0",
                    "ip link set gw0 up",
                    "ip link set ens3 up",
                    "ip address add 192.0.2.10/24 dev ens3"):
        subprocess.run(command.split(), check=True, capture_output=True)

"""The test API server beside a node: TLS, checked bodies, and a log of what it was asked."""

import json
import subprocess
import time

from .paths import PROJECT, TARGET
from .patience import ANSWER
from .trees import BuildError

PROGRAM = TARGET / "debug/examples/test-apiserver"
PORT = 6443


class ApiServer:
    """Serves on port 6443 under the address that the node knows this machine by, until closed."""

    def __init__(self, folder, host, *options):
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._log = open(folder / "apiserver.log", "w", encoding="utf-8")  # pylint: disable=consider-using-with
        self._process = subprocess.Popen(
            [str(PROGRAM), "--listen", f"0.0.0.0:{PORT}", "--dir", str(folder), "--public-address", host, *options],
            cwd=PROJECT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._log, text=True)
        if not self._process.stdout.readline().startswith("ready "):
            raise BuildError(f"the test API server did not start, see {folder}/apiserver.log")

    @property
    def kubeconfig(self):
        """The bootstrap identity's kubeconfig, as the machine config server adds it to the served config."""
        return (self.folder / "kubeconfig").read_text(encoding="utf-8")

    def joined_files(self):
        """What the kubelet stand-in puts in place when it joins."""
        return {"/etc/stand-in/joined/kubeconfig":
                (self.folder / "kubelet.kubeconfig").read_text(encoding="utf-8"),
                "/etc/stand-in/joined/kubelet-client-current.pem":
                (self.folder / "kubelet-client-current.pem").read_text(encoding="utf-8")}

    def requests(self):
        """What it was asked so far, in order."""
        text = (self.folder / "requests.jsonl").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines() if line.strip()]

    def wait_for(self, wanted, deadline):
        """Waits for a request that `wanted` accepts; None at the deadline."""
        while time.monotonic() < deadline:
            for request in self.requests():
                if wanted(request):
                    return request
            time.sleep(0.2)
        return None

    def close(self):
        """Stops serving."""
        self._process.terminate()
        self._process.wait(ANSWER)
        self._log.close()

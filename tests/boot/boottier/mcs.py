"""Stand-in for the machine config server: serves one Ignition config, and the agent for the pointer, and notes who asked."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from . import agent

PATH = "/config/worker"
# Where a mirror would have the full binary; in a real cluster that is another server.
AGENT_PATH = "/mirror/skewguard"


class MachineConfigServer:
    """Serves `config` on every address of the machine until closed. `requests` are the paths asked for."""

    def __init__(self, config, port=22624):
        body = json.dumps(config).encode()
        requests = self.requests = []

        class Handler(BaseHTTPRequestHandler):
            """Answers GET for the config and the agent."""

            def do_GET(self):  # pylint: disable=invalid-name
                """Answers the config, the agent, or 404."""
                requests.append({"path": self.path, "agent": self.headers.get("User-Agent", "")})
                found = self.path in (PATH, AGENT_PATH)
                answer = body if self.path == PATH else agent.binary().read_bytes() if found else b"not found\n"
                self.send_response(200 if found else 404)
                self.send_header("Content-Type", "application/octet-stream" if self.path == AGENT_PATH else "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, format, *args):  # pylint: disable=redefined-builtin
                """Requests are kept in a list instead."""

        self._server = ThreadingHTTPServer(("0.0.0.0", port), Handler)
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def url(self, host):
        """The URL of the config as a machine that knows this one as `host` sees it."""
        return f"http://{host}:{self.port}{PATH}"

    def close(self):
        """Stops serving."""
        self._server.shutdown()
        self._server.server_close()

"""A machine's console as a person would see it: a pseudo terminal of 80x24 and what was written to it."""

import fcntl
import os
import re
import struct
import termios
import threading
import time

from .patience import ANSWER

ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[()][A-Z0-9]|\x1b[=>78cMDEH]")


def plain(text):
    """Text without terminal control sequences, with plain line ends."""
    text = re.sub(r"\r+\n?", "\n", ESCAPES.sub("", text))
    return "".join(char for char in text if char == "\n" or char == "\t" or ord(char) >= 32)


class Console:
    """The terminal that a machine's console is connected to. Everything written is kept."""

    def __init__(self):
        self.master, self.slave = os.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self._raw = bytearray()
        # When (time.monotonic) how much of it was there.
        self._times = []
        self._changed = threading.Condition()
        self._closed = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def started(self):
        """Called once the machine has its end: this process lets go of it."""
        os.close(self.slave)

    def _read(self):
        while True:
            try:
                chunk = os.read(self.master, 65536)
            except OSError:
                chunk = b""
            with self._changed:
                self._raw += chunk
                self._times.append((time.monotonic(), len(self._raw)))
                self._closed = self._closed or not chunk
                self._changed.notify_all()
            if not chunk:
                return

    def raw(self):
        """Everything so far, with control sequences."""
        with self._changed:
            return self._raw.decode("utf-8", "replace")

    def text(self):
        """Everything so far, as plain text."""
        return plain(self.raw())

    def send(self, text):
        """Types `text`."""
        os.write(self.master, text.encode())

    def wait_for(self, pattern, deadline, after=0):
        """Waits until `pattern` (a regular expression) is on the console behind position `after`.

        Returns the position behind the match, or None at the deadline or when the console is gone.
        """
        wanted = re.compile(pattern)
        while True:
            found = wanted.search(self.text(), after)
            if found:
                return found.end()
            with self._changed:
                left = deadline - time.monotonic()
                if left <= 0 or self._closed:
                    found = wanted.search(plain(self._raw.decode("utf-8", "replace")), after)
                    return found.end() if found else None
                self._changed.wait(min(left, 0.5))

    def first_shown(self, text):
        """When (time.monotonic) the whole of `text`, which has no control sequences, was written for the first time; None where it was not."""
        with self._changed:
            at = self._raw.find(text.encode())
            return next((when for when, length in self._times if 0 <= at <= length - len(text.encode())), None)

    def closed(self):
        """Whether the machine's end is closed: nothing more will come."""
        with self._changed:
            return self._closed

    def close(self):
        """Closes this end, once the machine's end is closed and everything that it has written is read."""
        self._reader.join(ANSWER)
        try:
            os.close(self.master)
        except OSError:
            pass

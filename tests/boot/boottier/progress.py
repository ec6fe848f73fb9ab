"""Progress for a person or a CI log: one line per event, with the seconds since the start."""

import sys
import threading
import time

START = time.monotonic()
_lock = threading.Lock()


def say(message):
    """Prints one line at once; lines of parallel boots never mix."""
    with _lock:
        sys.stdout.write(f"[{time.monotonic() - START:6.1f}s] {message}\n")
        sys.stdout.flush()


class Step:
    """Announces a piece of work, and how long it took when it is done."""

    def __init__(self, what):
        self.what = what

    def __enter__(self):
        self.began = time.monotonic()
        say(f"{self.what} ...")
        return self

    def __exit__(self, kind, error, trace):
        state = "failed" if error else "done"
        say(f"{self.what}: {state} in {time.monotonic() - self.began:.1f} s")
        return False

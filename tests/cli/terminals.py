"""`helio` on a terminal: a program with a pseudo-terminal as its standard output and standard error."""

import contextlib
import os
import pty
import select
import subprocess
import time
from collections.abc import Iterator

from running import PATIENCE, environment, helio


class OnTerminal:
    """A running `helio`, and what its terminal has been sent so far."""

    def __init__(self, *words: str, **env: str) -> None:
        self._ours, theirs = pty.openpty()
        # No colours of the program's own, unless they are wanted: every escape sequence is somebody else's.
        variables = environment(**{"TERM": "xterm", "NO_COLOR": "1", **env})
        self.process = subprocess.Popen(helio(*words), stdin=theirs, stdout=theirs, stderr=theirs, env=variables)
        os.close(theirs)
        self.seen = b""

    def type(self, text: str) -> None:
        """Type something."""
        os.write(self._ours, text.encode())

    def wait_for(self, text: bytes) -> bytes:
        """All that was seen, as soon as this is among it."""
        give_up = time.monotonic() + PATIENCE
        while text not in self.seen:
            assert self._read(give_up), f"expected {text!r}, found {self.seen!r}"
        return self.seen

    def end(self) -> tuple[int, bytes]:
        """The exit status and all that was seen, once the program has ended by itself."""
        give_up = time.monotonic() + PATIENCE
        while self._read(give_up):
            pass
        return self.process.wait(PATIENCE), self.seen

    def _read(self, give_up: float) -> bool:
        if not select.select([self._ours], [], [], max(0, give_up - time.monotonic()))[0]:
            return False
        try:
            data = os.read(self._ours, 65536)
        except OSError:  # that is how Linux says that the other side has closed
            return False
        self.seen += data
        return bool(data)

    def close(self) -> None:
        """End the program if it still runs."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._ours)


@contextlib.contextmanager
def on_terminal(*words: str, **env: str) -> Iterator[OnTerminal]:
    """Run a `helio` command on a terminal, with these variables in its environment."""
    running = OnTerminal(*words, **env)
    try:
        yield running
    finally:
        running.close()

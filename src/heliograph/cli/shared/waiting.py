"""A line that says what a command is doing, for somebody who waits at a terminal."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from heliograph.common.terminal import steer, visible

_SILENCE = 1.0
"""Seconds that nobody minds."""
_CLEARED = "\r\x1b[K"


@contextmanager
def showing(what: str) -> Iterator[None]:
    """Say on standard error what takes so long, with the seconds, until it is done; nothing where nobody looks.

    The line is gone at the end, so that it is not among what the command prints.
    """
    if not sys.stderr.isatty():
        yield
        return
    done, began = threading.Event(), time.monotonic()

    def show() -> None:
        while not done.wait(_SILENCE):
            steer(sys.stderr, f"{_CLEARED}{visible(what)} ... {time.monotonic() - began:.0f} s")

    thread = threading.Thread(target=show, name="patience", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        if time.monotonic() - began >= _SILENCE:
            steer(sys.stderr, _CLEARED)

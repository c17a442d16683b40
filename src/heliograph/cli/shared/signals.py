"""Commands that run until somebody stops them."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

_ONE_AND_THE_SAME = 0.5
"""Seconds in which two signals mean the same."""


@contextmanager
def stopped_by_signals() -> Iterator[threading.Event]:
    """An event that Ctrl-C and SIGTERM set. The end may take a moment: a second Ctrl-C ends the process at once."""
    stop = threading.Event()
    asked = 0.0

    def handle(number: int, frame: object) -> None:
        nonlocal asked
        now = time.monotonic()
        # Whatever started us may pass on a signal that we have got already.
        if number == signal.SIGINT and asked and now - asked > _ONE_AND_THE_SAME:
            raise KeyboardInterrupt
        asked = asked or now
        stop.set()

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def ended_in_order() -> Iterator[None]:
    """SIGTERM ends what runs here as Ctrl-C does, so that processes that it has started are ended, too."""

    def handle(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)

"""Probes and the thread that reads them: once a second, and less often where reading one is expensive."""

import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, Protocol

SECONDS = 1.0
MOST_SHARE = 0.01
"""Of a core, for each probe."""


class Value(NamedTuple):
    """One value that a probe has read; see `docs/reference/lab-data.md` for sources and metrics."""

    source: str
    name: str
    metric: str
    value: float


class Probe(Protocol):
    """Looks at something. The first look may be the start of a difference, and show less than later ones."""

    @property
    def asks(self) -> bool:
        """Whether reading makes another process work: then its cost is the time that it takes, not our CPU time."""

    def read(self) -> Iterable[Value]:
        """What there is to see now."""

    def close(self) -> None:
        """Close what it has open."""


class Sample(NamedTuple):
    """A value and when it was read, in seconds since the measured time began."""

    at: float
    source: str
    name: str
    metric: str
    value: float


class Watch:
    """The samples of a run. `begin` says when the measured time began, which may be known only later."""

    def __init__(self, probes: Sequence[Probe]) -> None:
        self._turns = [_Turn(probe) for probe in probes]
        self._stop = threading.Event()
        self._zero = time.monotonic()
        self._read: list[Sample] = []
        self.spent = 0.0
        """CPU seconds that looking has taken."""
        self._thread = threading.Thread(target=self._run, name="probes", daemon=True)

    def begin(self, at: float) -> None:
        """The measured time began at this moment of `time.monotonic`."""
        self._zero = at

    def since(self, moment: float) -> float:
        """Seconds from the beginning of the measured time to this moment of `time.monotonic`."""
        return moment - self._zero

    @property
    def samples(self) -> list[Sample]:
        """What has been read so far."""
        return [sample._replace(at=self.since(sample.at)) for sample in list(self._read)]

    def start(self) -> None:
        """Look now, and then every second."""
        self._thread.start()

    def stop(self) -> None:
        """Look once more, and end."""
        self._stop.set()
        self._thread.join()
        for turn in self._turns:
            turn.probe.close()

    def _run(self) -> None:
        due = time.monotonic()
        while not self._stop.wait(max(0.0, due - time.monotonic())):
            self._look(last=False)
            due = max(due + SECONDS, time.monotonic())
        self._look(last=True)
        self.spent = time.thread_time()

    def _look(self, *, last: bool) -> None:
        for turn in self._turns:
            if last or turn.is_due():
                at, values = turn.take()
                self._read += [Sample(at, *value) for value in values]


class _Turn:
    """When a probe looks next."""

    def __init__(self, probe: Probe) -> None:
        self.probe = probe
        self._due = 0.0

    def is_due(self) -> bool:
        return time.monotonic() >= self._due

    def take(self) -> tuple[float, list[tuple[str, str, str, float]]]:
        clock = time.monotonic if self.probe.asks else time.thread_time
        start, before = time.monotonic(), clock()
        values = [tuple(value) for value in self.probe.read()]
        cost = clock() - before
        self._due = start + max(0.0, cost / MOST_SHARE - SECONDS / 2)
        return time.monotonic(), values  # type: ignore[return-value]


@contextmanager
def watching(probes: Sequence[Probe]) -> Iterator[Watch]:
    """Watch while the block runs."""
    watch = Watch(probes)
    watch.start()
    try:
        yield watch
    finally:
        watch.stop()

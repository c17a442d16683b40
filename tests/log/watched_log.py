"""A log with the callbacks that tests need."""

import threading
from collections.abc import Callable
from pathlib import Path

from heliograph.log.log import Log, LogOptions
from heliograph.log.record import Record

PATIENCE = 20.0


class WatchedLog(Log):
    """A log that can be waited for."""

    def __init__(self, directory: Path, on_record: Callable[[Record], None] | None = None, **options: object) -> None:
        self._news = threading.Condition()
        self.told_safe: list[int] = []
        """What `on_safe` has said."""
        self.troubles: list[OSError | None] = []
        self.safe_in_trouble: list[int] = []
        """How far the log was safe at each of these."""
        how = LogOptions(**options)  # type: ignore[arg-type]
        super().__init__(directory, self._on_safe, self._on_trouble, how, on_record)
        self._start = self.end

    def _on_safe(self, position: int) -> None:
        with self._news:
            self.told_safe.append(position)
            self._news.notify_all()

    def _on_trouble(self, error: OSError | None) -> None:
        with self._news:
            self.troubles.append(error)
            self.safe_in_trouble.append(self.safe)
            self._news.notify_all()

    def flush(self) -> int:
        """Commit, and wait until everything is safe; where the log ends."""
        self.commit()
        with self._news:
            assert self._news.wait_for(lambda: (self.told_safe or [self._start])[-1] >= self.end, PATIENCE)
        return self.end

    def wait_for_trouble(self, number: int) -> None:
        """Wait until so many changes for the worse or the better have been told."""
        with self._news:
            assert self._news.wait_for(lambda: len(self.troubles) >= number, PATIENCE)


def bodies(log: Log, position: int = 0) -> list[bytes]:
    """What the records say from a position on."""
    return [record.body for record in log.records(position)]


def bases(log: Log) -> list[int]:
    """Where the segments of a log start."""
    return [base for base, _ in log.segments()]


def fill(log: WatchedLog, number: int) -> list[int]:
    """So many records, each a batch of its own; their positions."""
    positions = []
    for n in range(number):
        positions.append(log.append(1, b"%03d" % n * 30))
        log.flush()
    return positions

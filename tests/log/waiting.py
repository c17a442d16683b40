"""A log with the callbacks that tests need."""

import threading
from pathlib import Path

from heliograph.log.log import Log, LogOptions

PATIENCE = 20.0


class WatchedLog(Log):
    """A log that can be waited for."""

    def __init__(self, directory: Path, **options: object) -> None:
        self._news = threading.Condition()
        self.safe = 0
        self.troubles: list[OSError | None] = []
        super().__init__(directory, self._on_safe, self._on_trouble, LogOptions(**options))  # type: ignore[arg-type]

    def _on_safe(self, position: int) -> None:
        with self._news:
            self.safe = position
            self._news.notify_all()

    def _on_trouble(self, error: OSError | None) -> None:
        with self._news:
            self.troubles.append(error)
            self._news.notify_all()

    def flush(self) -> int:
        """Commit, and wait until everything is safe; where the log ends."""
        self.commit()
        with self._news:
            assert self._news.wait_for(lambda: self.safe >= self.end or self.end == 0, PATIENCE)
        return self.end

    def wait_for_trouble(self, number: int) -> None:
        """Wait until so many changes for the worse or the better have been told."""
        with self._news:
            assert self._news.wait_for(lambda: len(self.troubles) >= number, PATIENCE)

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from log.recording_logs import RecordingLog, unforced
from log.watched_log import WatchedLog


@pytest.fixture
def open_log(tmp_path: Path) -> Iterator[Callable[..., WatchedLog]]:
    """Opens the log of a test, again and again if asked to; closed at the end."""
    opened: list[WatchedLog] = []

    def start(**options: object) -> WatchedLog:
        log = WatchedLog(tmp_path / "log", **options)
        opened.append(log)
        return log

    yield start
    for log in opened:
        if log.committer._thread.is_alive():
            log.close()


@pytest.fixture
def recorded(tmp_path: Path) -> Iterator[RecordingLog]:
    """A message log with small segments, whose user remembers everything."""
    with unforced():
        opened = RecordingLog(tmp_path / "log", segment_size=2000)
        yield opened
        opened.close()

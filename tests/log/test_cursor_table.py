"""Records with the right check sum that no server has written: the log is not opened, and it is said where they are."""

from pathlib import Path

import pytest

from heliograph.errors import Problem
from heliograph.log import log_kinds
from log.recording_logs import RecordingLog
from log.watched_log import WatchedLog

SENSELESS = {
    "a short cursor": (log_kinds.CURSOR, b"x" * 22),
    "short acknowledgements": (log_kinds.ACKS, b"x"),
    "the end of a cursor": (log_kinds.CURSOR_DELETED, b"x"),
    "short messages": (log_kinds.MESSAGES, b"x"),
    "a short move": (log_kinds.MESSAGES_MOVED, b"x"),
    "a short checkpoint": (log_kinds.CHECKPOINT_COMPLETE, b"x"),
    "an application record that is no text": (log_kinds.FIRST_APPLICATION_KIND, b"\xff"),
}


@pytest.mark.parametrize("name", SENSELESS)
def test_a_record_that_makes_no_sense_is_a_problem_with_a_place(tmp_path: Path, name: str) -> None:
    kind, body = SENSELESS[name]
    log = WatchedLog(tmp_path / "log")
    position = log.append(kind, body)
    log.close()
    with pytest.raises(Problem, match=rf"^position {position}: a record of kind {kind} that makes no sense \(\w+"):
        RecordingLog(log.directory)

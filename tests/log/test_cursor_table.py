"""Records with the right check sum that no server has written: the log is not opened, and it is said where they are."""

from pathlib import Path

import pytest

from heliograph.errors import Problem
from heliograph.log import log_kinds
from heliograph.log.cursor import Cursor
from heliograph.log.errors import MalformedRecord
from heliograph.log.messages import Receivers, encode_uniform_messages
from log.recording_logs import RecordingLog, messages
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


def stored(offset: int) -> tuple[bytes, bytes]:
    found = messages("t", [b"a"])
    return encode_uniform_messages(found, Receivers((1,), (offset,), (0,))), found.data


def test_messages_of_a_cursor_that_was_deleted_are_passed_over(tmp_path: Path) -> None:
    log = WatchedLog(tmp_path / "log")
    log.append(log_kinds.MESSAGES, *stored(5), count=1)
    log.append(log_kinds.ACKS, log_kinds.ACK.pack(1, 5, 1))
    log.append(log_kinds.CURSOR_DELETED, log_kinds.NUMBER.pack(1))
    log.close()
    opened = RecordingLog(log.directory)
    assert opened.message_log.cursors == {}
    opened.close()


def test_messages_with_offsets_that_were_not_next_make_no_sense(tmp_path: Path) -> None:
    log = WatchedLog(tmp_path / "log")
    log.append(log_kinds.CURSOR, Cursor(1).encode())
    position = log.append(log_kinds.MESSAGES, *stored(5), count=1)
    log.close()
    with pytest.raises(MalformedRecord, match=f"position {position}: message 5 for cursor 1, which expects 0"):
        RecordingLog(log.directory)

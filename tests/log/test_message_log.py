"""The message log: what its owner is told of safety, of groups and trouble, and what it finds when it is opened."""

import errno
import os

import pytest

from heliograph.log import log_kinds
from heliograph.log.errors import MessageMissing
from heliograph.log.log import LogOptions
from heliograph.log.message_log import MessageLog
from heliograph.log.segment import segment_files
from log.recording_logs import CLEAR, SET, RecordingLog, messages


def kinds(recorded: RecordingLog) -> list[int]:
    recorded.message_log.wait()
    return [record.kind for record in recorded.message_log.log.records()]


def test_messages_get_the_next_offsets_of_each_cursor(recorded) -> None:
    log = recorded.message_log
    one, other = log.new_cursor(), log.new_cursor()
    assert log.store(messages("t", [b"a", b"b"]), [one], [0]) == [0]
    assert log.store(messages("t", [b"c"]), [one, other], [0, 0]) == [2, 0]
    assert log.next_offsets([one, other]) == [3, 1]
    log.wait()
    assert recorded.pending(one) == {0: b"a", 1: b"b", 2: b"c"}


def test_acknowledgements_of_a_turn_are_one_record(recorded) -> None:
    log = recorded.message_log
    cursor = log.new_cursor()
    recorded.store([cursor], [b"a", b"b", b"c"])
    log.acknowledge(cursor, 0, 1)
    log.acknowledge(cursor, 2, 3)
    assert kinds(recorded) == [log_kinds.CURSOR, log_kinds.MESSAGES, log_kinds.ACKS]
    assert recorded.pending(cursor) == {1: b"b"}


def test_a_deferred_record_needs_no_turn_of_its_own(recorded) -> None:
    log = recorded.message_log
    log.end_turn()
    assert (log.has_urgent, log.has_unwritten) == (False, False)
    log.append_record(SET, b"key=value", deferred=True)
    assert (log.has_urgent, log.has_unwritten) == (False, True)
    log.write_deferred()
    assert not log.has_unwritten
    log.append_record(CLEAR, b"key")
    log.append_record(SET, b"key=other", deferred=True)  # behind something urgent it is urgent, too
    assert log.has_urgent
    log.wait()
    assert log.waiting == 0


def test_a_cursor_that_is_deleted_is_not_there_again(recorded) -> None:
    log = recorded.message_log
    cursor, other = log.new_cursor(), log.new_cursor()
    log.drop_cursor(cursor)
    recorded.close()
    recorded.__init__(recorded.directory, segment_size=2000)
    assert [*recorded.message_log.cursors] == [other.number]
    assert recorded.message_log.new_cursor().number == other.number + 1


def test_after_a_halt_nothing_is_written(recorded) -> None:
    log = recorded.message_log
    log.halt("memory and log may disagree")
    log.halt("again")  # the first reason counts
    log.append_record(SET, b"key=value")
    assert not log.wait()
    assert str(log.trouble) == "[Errno 0] memory and log may disagree"
    log._on_trouble(None)
    assert log.trouble is not None


def test_who_waits_is_told_of_trouble_with_the_disk(tmp_path, monkeypatch) -> None:
    woken = []
    log = MessageLog(
        tmp_path / "log", lambda _: None, lambda _, __: None, lambda: woken.append(1), LogOptions(retry=0.01)
    )
    real = os.fdatasync

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(os, "fdatasync", full)
    log.new_cursor()
    assert not log.wait()
    assert log.trouble.errno == errno.ENOSPC
    monkeypatch.setattr(os, "fdatasync", real)
    while log.trouble is not None:
        pass
    assert log.wait()
    assert woken
    log.close()


def test_a_missing_segment_with_pending_messages_is_not_passed_over(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("heliograph.log.cursor.CHUNK_SIZE", 600)  # or one chunk would reach over all segments
    recorded = RecordingLog(tmp_path / "log", segment_size=2000)
    cursor = recorded.message_log.new_cursor()
    for _ in range(20):
        recorded.store([cursor], [bytes(500)])
        recorded.message_log.wait()
    recorded.maintenance.checkpoint()
    recorded.close()
    segment_files(recorded.directory)[1].unlink()
    with pytest.raises(MessageMissing, match=r"segment of position \d+ is missing, with messages 3 to \d+ of cursor 1"):
        RecordingLog(recorded.directory)


def test_messages_are_read_only_as_far_as_they_are_safe(recorded) -> None:
    log = recorded.message_log
    cursor = log.new_cursor()
    log.wait()
    recorded.store([cursor], [b"a"])
    reader = log.cursor_reader(cursor)
    assert reader.find(0) is None
    log.wait()
    assert recorded.payload(reader, 0) == b"a"

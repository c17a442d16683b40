"""Records of hundreds of megabytes: nothing between a message and the disk is too small for them."""

from pathlib import Path

import pytest

from heliograph.log import recovery
from heliograph.log.errors import LogDamaged
from heliograph.log.segment import SEGMENT_HEADER_SIZE, segment_files
from log.recording_logs import RecordingLog, unforced
from log.watched_log import WatchedLog

MB = 1 << 20


@pytest.fixture
def recorded(tmp_path):
    with unforced():
        recorded = RecordingLog(tmp_path / "log")
        yield recorded
        recorded.close()


def test_a_message_of_100_mb_is_stored_read_back_compacted_and_there_after_a_restart(recorded) -> None:
    cursor, other = recorded.message_log.new_cursor(), recorded.message_log.new_cursor()
    large = bytes(range(256)) * (100 * MB // 256)
    recorded.store_queued([cursor], [b"before"])
    recorded.store_queued([cursor], [large])
    recorded.store_queued([cursor, other], [b"after"])
    recorded.message_log.wait()
    assert list(recorded.pending(cursor).values()) == [b"before", large, b"after"]
    assert recorded.pending(other) == {0: b"after"}
    recorded.maintenance.compact()
    recorded.close()
    recorded.__init__(recorded.directory)
    cursor = recorded.message_log.cursors[cursor.number]
    assert recorded.payload(recorded.message_log.cursor_reader(cursor), 1) == large
    recorded.message_log.acknowledge(cursor, 0, 2)
    recorded.maintenance.compact()
    assert recorded.size() < MB
    assert recorded.pending(cursor) == {2: b"after"}


def test_a_group_of_256_mb_is_one_record(recorded) -> None:
    cursor = recorded.message_log.new_cursor()
    part = bytes(range(256)) * (16 * MB // 256)
    with recorded.message_log.group():
        for _ in range(15):
            recorded.store_queued([cursor], [part])
        recorded.store_queued([cursor], [b"last", part[: 15 * MB]])
    recorded.message_log.wait()
    (chunk,) = cursor.chunks
    assert 255 * MB < chunk.end - chunk.start <= 256 * MB
    reading = recorded.message_log.cursor_reader(cursor)
    assert recorded.payload(reading, 15) == b"last"
    recorded.close()
    recorded.__init__(recorded.directory)
    cursor = recorded.message_log.cursors[cursor.number]
    assert cursor.next == 17
    reading = recorded.message_log.cursor_reader(cursor)
    assert all(recorded.payload(reading, offset) == part for offset in (0, 14))
    assert recorded.payload(reading, 16) == part[: 15 * MB]


def test_a_large_record_that_is_cut_short_is_a_torn_tail_and_one_that_was_safe_is_damage(tmp_path: Path) -> None:
    log = WatchedLog(tmp_path / "log", force=True)
    log.append(1, b"before")
    log.flush()
    position = log.append(1, bytes(3 * MB))
    log.flush()
    log.append(1, b"after")
    log.flush()
    log.close()
    path = segment_files(log.directory)[-1]
    whole = path.read_bytes()
    flipped = bytearray(whole)
    flipped[SEGMENT_HEADER_SIZE + position + 2 * MB] ^= 1
    path.write_bytes(flipped)
    with pytest.raises(LogDamaged, match="check sum"):
        WatchedLog(log.directory)
    path.write_bytes(whole[: SEGMENT_HEADER_SIZE + position + 2 * MB])
    again = WatchedLog(log.directory)
    assert again.end == position
    assert again.torn is not None
    again.close()


def test_what_a_torn_message_contains_does_not_take_long_to_look_through() -> None:
    """It may look like starts of batches all over, and like ones with a body of megabytes."""
    size = 4 * MB
    data = (b"\0\0\0\0" + size.to_bytes(4, "little") + bytes((0, 1, 0, 0))) * (size // 12)
    calls = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recovery, "read_record", lambda *args: calls.append(args))
        assert not recovery._synced_batch_behind(data, 0)
    assert not calls

"""Records of hundreds of megabytes: nothing between a message and the disk is too small for them."""

from pathlib import Path

import pytest

from heliograph.log import recovery
from heliograph.log.errors import LogDamaged
from heliograph.log.segment import SEGMENT_HEADER_SIZE, segment_files
from log.recording_logs import Account, unforced
from log.watched_log import WatchedLog

MB = 1 << 20


@pytest.fixture
def account(tmp_path):
    with unforced():
        account = Account(tmp_path / "log")
        yield account
        account.close()


def test_a_message_of_100_mb_is_stored_read_back_compacted_and_there_after_a_restart(account) -> None:
    cursor, other = account.ledger.new_cursor(), account.ledger.new_cursor()
    large = bytes(range(256)) * (100 * MB // 256)
    account.store_queued([cursor], [b"before"])
    account.store_queued([cursor], [large])
    account.store_queued([cursor, other], [b"after"])
    account.ledger.wait()
    assert list(account.pending(cursor).values()) == [b"before", large, b"after"]
    assert account.pending(other) == {0: b"after"}
    account.upkeep.compact()
    account.close()
    account.__init__(account.directory)
    cursor = account.ledger.cursors[cursor.number]
    assert account.payload(account.ledger.cursor_reader(cursor), 1) == large
    account.ledger.acknowledge(cursor, 0, 2)
    account.upkeep.compact()
    assert account.size() < MB
    assert account.pending(cursor) == {2: b"after"}


def test_a_group_of_256_mb_is_one_record(account) -> None:
    cursor = account.ledger.new_cursor()
    part = bytes(range(256)) * (16 * MB // 256)
    with account.ledger.group():
        for _ in range(15):
            account.store_queued([cursor], [part])
        account.store_queued([cursor], [b"last", part[: 15 * MB]])
    account.ledger.wait()
    (chunk,) = cursor.chunks
    assert 255 * MB < chunk.end - chunk.start <= 256 * MB
    reading = account.ledger.cursor_reader(cursor)
    assert account.payload(reading, 15) == b"last"
    account.close()
    account.__init__(account.directory)
    cursor = account.ledger.cursors[cursor.number]
    assert cursor.next == 17
    reading = account.ledger.cursor_reader(cursor)
    assert all(account.payload(reading, offset) == part for offset in (0, 14))
    assert account.payload(reading, 16) == part[: 15 * MB]


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

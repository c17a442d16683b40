"""Compaction: whatever is copied, moved and deleted, nobody loses a message that is pending."""

import random
from pathlib import Path

import pytest

from heliograph.log import cursor as cursor_module
from heliograph.log.cursor import Cursor
from heliograph.log.log import LogOptions
from heliograph.log.maintenance import Maintenance
from heliograph.log.message_log import MessageLog
from heliograph.log.messages import UniformMessages, decode_uniform_messages

OPTIONS = LogOptions(segment_size=4096, force=False)


def open_log(directory: Path) -> tuple[MessageLog, Maintenance]:
    message_log = MessageLog(directory, lambda record: None, lambda record, receivers: None, options=OPTIONS)
    return message_log, Maintenance(message_log, lambda: iter(()))


def store(message_log: MessageLog, payload: bytes, *cursors: Cursor) -> None:
    messages = UniformMessages(b"t", payload, 1, 0, 1, 0, False, False, False, False, b"", 0, 0)
    message_log.store(messages, list(cursors), [0] * len(cursors))
    message_log.wait()


def pending(message_log: MessageLog, cursor: Cursor) -> dict[int, tuple[bytes, int]]:
    """Payload and time of all that is pending, as it is read back."""
    reading = message_log.cursor_reader(cursor)
    found = {}
    for lo, hi in cursor.pending_ranges():
        for offset in range(lo, hi):
            record = reading.find(offset)
            assert record is not None
            found[offset] = decode_uniform_messages(record.record.body, 1).data, record.record.time
    return found


@pytest.mark.parametrize("seed", range(5))
def test_compaction_never_loses_moves_or_redates_a_message(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cursor_module, "CHUNK_SIZE", 1500)
    monkeypatch.setattr("heliograph.log.maintenance.CHUNK_SIZE", 1500)
    dice = random.Random(seed)
    message_log, maintenance = open_log(tmp_path)
    numbers = [message_log.new_cursor().number for _ in range(3)]
    known: dict[int, dict[int, tuple[bytes, int]]] = {number: {} for number in numbers}
    for step in range(300):
        cursors = [message_log.cursors[number] for number in numbers]
        chosen = dice.sample(cursors, dice.choice([1, 1, 2, 3]))
        store(message_log, b"%d-" % step + bytes(dice.randrange(300)), *chosen)
        for cursor in chosen:
            offset = cursor.next - 1
            known[cursor.number][offset] = pending_one(message_log, cursor, offset)
        if dice.random() < 0.4:
            cursor = dice.choice(cursors[1:])
            lo = dice.randrange(cursor.first, cursor.next + 1)
            hi = min(cursor.next, lo + dice.randrange(30))
            message_log.acknowledge(cursor, lo, hi)
            for offset in range(lo, hi):
                known[cursor.number].pop(offset, None)
        if dice.random() < 0.05:
            message_log.wait()
            maintenance.compact()
        if dice.random() < 0.02:
            message_log.close()
            message_log, maintenance = open_log(tmp_path)
        if step % 50 == 49:
            for number in numbers:
                assert pending(message_log, message_log.cursors[number]) == known[number]
    maintenance.compact()
    for number in numbers:
        cursor = message_log.cursors[number]
        assert pending(message_log, cursor) == known[number]
        assert cursor.bytes == sum(chunk.size for chunk in cursor.chunks)
    message_log.close()


def pending_one(message_log: MessageLog, cursor: Cursor, offset: int) -> tuple[bytes, int]:
    found = message_log.cursor_reader(cursor).find(offset)
    assert found is not None
    return decode_uniform_messages(found.record.body, 1).data, found.record.time

"""Reading a cursor's messages back: in order, out of order, and what is not there."""

import pytest

from heliograph.log.cursor_reader import CursorReader
from heliograph.log.errors import MessageMissing


@pytest.fixture
def cursors(recorded):
    """Two cursors: one with ten messages, of which the other has every second."""
    one, other = recorded.message_log.new_cursor(), recorded.message_log.new_cursor()
    for n in range(10):
        recorded.store([one, other] if n % 2 else [one], [b"%d" % n])
    recorded.message_log.wait()
    return one, other


def reads(recorded) -> list[int]:
    """Positions from which the log is read from now on."""
    positions, read = [], recorded.message_log.reader.read

    def watched(position, *args, **options):
        positions.append(position)
        return read(position, *args, **options)

    recorded.message_log.reader.read = watched
    return positions


def test_going_on_in_order_reads_each_part_of_the_log_once(recorded, cursors) -> None:
    positions = reads(recorded)
    reader = recorded.message_log.cursor_reader(cursors[0])
    assert [recorded.payload(reader, offset) for offset in range(10)] == [b"%d" % n for n in range(10)]
    assert len(positions) == 1


def test_going_back_reads_again(recorded, cursors) -> None:
    positions = reads(recorded)
    reader = recorded.message_log.cursor_reader(cursors[1])
    assert [recorded.payload(reader, offset) for offset in (3, 0, 4)] == [b"7", b"1", b"9"]
    assert len(positions) == 2


def test_a_record_of_several_messages_is_found_by_each_of_them(recorded) -> None:
    cursor = recorded.message_log.new_cursor()
    recorded.store([cursor], [b"a", b"b", b"c"])
    recorded.message_log.wait()
    found = recorded.message_log.cursor_reader(cursor).find(1)
    assert (found.first, found.next) == (0, 3)


def test_a_message_that_was_acknowledged_with_its_whole_chunk_is_not_in_the_log(recorded, cursors) -> None:
    recorded.message_log.acknowledge(cursors[0], 0, 10)
    with pytest.raises(MessageMissing, match=f"cursor {cursors[0].number}: message 3 is not in the log"):
        recorded.message_log.cursor_reader(cursors[0]).find(3)


def test_a_chunk_without_its_message_is_damage(recorded, cursors) -> None:
    one, other = cursors
    other.add(1, one.chunks[0].start, one.chunks[0].end, 0, 10)  # no record has this message
    with pytest.raises(MessageMissing, match="message 5 is not where it should be, between positions"):
        recorded.message_log.cursor_reader(other).find(5)


def test_nothing_is_read_behind_what_is_safe(recorded, cursors) -> None:
    safe = 0
    reader = CursorReader(cursors[0], recorded.message_log.reader, lambda: safe)
    assert reader.find(0) is None
    safe = recorded.message_log.safe
    assert reader.find(0).first == 0

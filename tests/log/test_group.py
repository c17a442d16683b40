"""Groups: several records that are one, for everybody who reads the log."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.errors import Problem
from heliograph.log import log_kinds
from heliograph.log.cursor import CHUNK_SIZE
from heliograph.log.group import RecordGroup, records_in
from heliograph.log.mixed_messages import decode_mixed_messages
from heliograph.log.record import ALIGNMENT, HEADER_SIZE, Record
from heliograph.log.streams.stream_index import PartitionIndexWriter, write_description
from heliograph.log.streams.stream_reader import StreamReader
from log.recording_logs import SET, RecordingLog, crash, queue_messages


def reopened(recorded: RecordingLog) -> RecordingLog:
    recorded.close()
    recorded.__init__(recorded.directory, segment_size=2000)
    return recorded


def written(recorded: RecordingLog) -> list[Record]:
    """What is in the log, groups as one."""
    recorded.message_log.wait()
    return [record for record in recorded.message_log.log.records() if record.kind != log_kinds.CURSOR]


# -- what a group looks like ------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(1, 255), st.lists(st.binary(max_size=20), max_size=3), st.integers(0, 99))))
def test_the_records_of_a_group_are_found_again(members) -> None:
    group = RecordGroup(time=1000, epoch=3)
    sizes = [group.add(kind, body, count) for kind, body, count in members]
    body = b"".join(group.pieces)
    found = list(records_in(Record(800, log_kinds.GROUP, body, time=1000, epoch=3)))
    assert [(r.kind, r.body, r.count) for r in found] == [(kind, b"".join(body), n) for kind, body, n in members]
    assert all((r.time, r.epoch) == (1000, 3) for r in found)
    assert [r.end - r.position for r in found] == sizes
    places = [800 + HEADER_SIZE + 4, *[record.end for record in found]]
    assert [r.position for r in found] == places[:-1]
    assert places[-1] == 800 + HEADER_SIZE + len(body)


def test_any_other_record_is_itself() -> None:
    record = Record(0, log_kinds.MESSAGES, b"body")
    assert list(records_in(record)) == [record]


def test_the_bytes_of_a_group_are_as_documented() -> None:
    group = RecordGroup(time=1000, epoch=9)
    group.add(40, [b"hello"], 2)
    header = struct.pack("<IIBBHIIQQ", 0, 36 + 5, 40, 0, 0, 9, 2, 0, 1000)
    assert b"".join(group.pieces) == bytes(4) + header + b"hello" + bytes(7)


@pytest.mark.parametrize("length", [0, 35, 50, 2**32 - 1])
def test_a_group_that_is_not_what_it_should_be_is_told(length: int) -> None:
    group = RecordGroup(time=0, epoch=0)
    group.add(40, [b"hello"])
    body = bytearray(b"".join(group.pieces))
    body[8:12] = length.to_bytes(4, "little")
    with pytest.raises(Problem, match="position 800: a group in which there is no record at position 840"):
        list(records_in(Record(800, log_kinds.GROUP, bytes(body))))
    with pytest.raises(Problem, match="there is no record at position 840"):
        list(records_in(Record(800, log_kinds.GROUP, bytes(20))))


# -- writing ----------------------------------------------------------------------------------------------------------


def test_a_group_is_one_record_with_all_that_was_done(recorded) -> None:
    one, other = recorded.message_log.new_cursor(), recorded.message_log.new_cursor()
    recorded.store([one], [b"first"])
    with recorded.message_log.group():
        recorded.store([one, other], [b"a", b"b"])
        recorded.store_queued([other], [b"c", b"of another length"])
        recorded.message_log.acknowledge(one, 0, 1)
        recorded.set("key", "value")
    _, group = written(recorded)
    assert (group.kind, group.count) == (log_kinds.GROUP, 4)
    assert [member.kind for member in records_in(group)] == [
        log_kinds.MESSAGES,
        log_kinds.MESSAGES,
        SET,
        log_kinds.ACKS,
    ]
    assert recorded.pending(one) == {1: b"a", 2: b"b"}
    assert recorded.pending(other) == {0: b"a", 1: b"b", 2: b"c", 3: b"of another length"}


def test_cursors_learn_of_a_group_when_it_is_written(recorded) -> None:
    cursor = recorded.message_log.new_cursor()
    recorded.store([cursor], [b"first"])
    with recorded.message_log.group():
        assert recorded.message_log.store(queue_messages([b"a", b"b"]), [cursor], [0]) == [1]
        assert recorded.message_log.store(queue_messages([b"c"]), [cursor], [0]) == [3]
        recorded.message_log.acknowledge(cursor, 0, 1)
        assert (cursor.first, cursor.next) == (0, 1)
    assert (cursor.first, cursor.next) == (1, 4)


def test_a_group_may_acknowledge_what_it_brings(recorded) -> None:
    cursor = recorded.message_log.new_cursor()
    with recorded.message_log.group():
        recorded.store([cursor], [b"a", b"b"])
        recorded.message_log.acknowledge(cursor, 0, 1)
    recorded.message_log.wait()
    assert recorded.pending(cursor) == {1: b"b"}
    assert recorded.pending(reopened(recorded).message_log.cursors[cursor.number]) == {1: b"b"}


def test_an_exception_leaves_nothing_of_a_group(recorded) -> None:
    cursor = recorded.message_log.new_cursor()
    recorded.store([cursor], [b"first"])
    end, before = recorded.message_log.end, cursor.encode()
    with pytest.raises(LookupError), recorded.message_log.group():
        recorded.store([cursor], [b"never"])
        recorded.message_log.acknowledge(cursor, 0, 1)
        raise LookupError
    assert recorded.message_log.end == end
    assert cursor.encode() == before
    recorded.store([cursor], [b"second"])
    recorded.message_log.wait()
    assert recorded.pending(cursor) == {0: b"first", 1: b"second"}


def test_a_group_with_nothing_in_it_is_not_written(recorded) -> None:
    end = recorded.message_log.end
    with recorded.message_log.group():
        pass
    assert recorded.message_log.end == end


def test_some_things_are_no_part_of_a_group(recorded) -> None:
    cursor = recorded.message_log.new_cursor()

    def nested() -> None:
        with recorded.message_log.group():
            pass

    for mistake in (nested, lambda: recorded.message_log.drop_cursor(cursor)):
        with pytest.raises(RuntimeError, match="within a group"), recorded.message_log.group():
            mistake()
    nested()  # and the one that failed is over


def test_a_cursor_that_is_made_for_a_group_is_there_even_if_the_group_is_not(recorded) -> None:
    with pytest.raises(LookupError), recorded.message_log.group():
        cursor = recorded.message_log.new_cursor()
        recorded.store([cursor], [b"never"])
        raise LookupError
    with recorded.message_log.group():
        other = recorded.message_log.new_cursor()
        recorded.store([cursor, other], [b"a"])
        assert recorded.message_log.next_offsets([cursor, other]) == [1, 1]
    recorded.message_log.wait()
    again = reopened(recorded)
    assert [again.pending(again.message_log.cursors[one.number]) for one in (cursor, other)] == [{0: b"a"}] * 2


def test_what_is_discarded_while_a_group_is_made_is_gone_at_once(recorded) -> None:
    cursor = recorded.message_log.new_cursor()
    recorded.message_log.store(queue_messages([b"x", b"y"]), [cursor], [0])
    with recorded.message_log.group():
        recorded.message_log.store(queue_messages([b"z"]), [cursor], [0])
        recorded.message_log.discard(cursor, 0, 3)
        assert cursor.pending == 0
    assert (cursor.next, cursor.pending) == (3, 0)


# -- chunks -----------------------------------------------------------------------------------------------------------


def test_messages_of_one_group_are_one_chunk_and_count_with_their_own_size(recorded) -> None:
    one, other = recorded.message_log.new_cursor(), recorded.message_log.new_cursor()
    with recorded.message_log.group():
        for _ in range(10):
            recorded.store_queued([one], [bytes(100)])
        recorded.store_queued([other], [bytes(CHUNK_SIZE)])
    (group,) = written(recorded)
    for cursor, members in (one, 10), (other, 1):
        (chunk,) = cursor.chunks
        assert (chunk.start, chunk.end) == (group.position, group.end)
        sizes = [len(member.body) for member in records_in(group)][: members if cursor is one else None]
        assert cursor.bytes == chunk.size
        assert 0 <= chunk.size - sum(sizes if cursor is one else sizes[-1:]) <= members * (HEADER_SIZE + 8)
    assert one.bytes + other.bytes <= group.end - group.position
    before = one.encode(), other.encode()
    again = reopened(recorded).message_log.cursors
    assert (again[one.number].encode(), again[other.number].encode()) == before


def test_what_follows_a_large_group_is_another_chunk(recorded) -> None:
    cursor = recorded.message_log.new_cursor()
    with recorded.message_log.group():
        recorded.store_queued([cursor], [bytes(CHUNK_SIZE)])
    recorded.store_queued([cursor], [b"small"])
    assert len(cursor.chunks) == 2


# -- reading ----------------------------------------------------------------------------------------------------------


def test_messages_are_found_in_groups_in_any_order(recorded) -> None:
    cursor, other = recorded.message_log.new_cursor(), recorded.message_log.new_cursor()
    expected = {}
    for turn in range(20):
        with recorded.message_log.group():
            for n in range(3):
                recorded.store_queued([cursor], [b"%d %d" % (turn, n)])
                recorded.store([other], [b"for others"])
                expected[len(expected)] = b"%d %d" % (turn, n)
    recorded.message_log.wait()
    assert recorded.pending(cursor) == expected
    reading = recorded.message_log.cursor_reader(cursor)
    for offset in (59, 0, 31, 30, 32, 1, 58):
        assert recorded.payload(reading, offset) == expected[offset]


def test_a_group_that_is_not_safe_cannot_be_read_yet(recorded) -> None:
    cursor = recorded.message_log.new_cursor()
    recorded.message_log.wait()
    with recorded.message_log.group():
        recorded.store([cursor], [b"a"])
    reading = recorded.message_log.cursor_reader(cursor)
    assert recorded.payload(reading, 0) is None
    recorded.message_log.wait()
    assert recorded.payload(reading, 0) == b"a"


def test_readers_of_a_stream_look_inside_groups(recorded) -> None:
    cursor = recorded.message_log.new_cursor()
    description = {"name": "s", "filter": "t", "partitions": 1, "retention_bytes": 0, "retention_age": 0}
    write_description(recorded.directory, "s", description)
    writer = PartitionIndexWriter(recorded.directory, "s", 0, cursor)
    for turn in range(3):
        with recorded.message_log.group():
            recorded.set("key", "value")
            recorded.store([cursor], [b"%d a" % turn, b"%d b" % turn])
            recorded.store([cursor], [b"%d c" % turn])
    recorded.message_log.wait()
    assert writer.take()
    writer.write()
    with StreamReader(recorded.directory, "s") as reader:
        found = [(message.offset, message.payload) for message in reader.messages(0, 0)]
        assert found == list(enumerate(b"%d %s" % (turn, part) for turn in range(3) for part in (b"a", b"b", b"c")))
        assert next(reader.messages(0, 5)).payload == b"1 c"
        assert reader.offset_at(0, 0) == 0
    writer.close()


# -- crashes and compaction -------------------------------------------------------------------------------------------


def test_a_crash_leaves_a_group_whole_or_not_at_all(recorded, tmp_path) -> None:
    one, other = recorded.message_log.new_cursor(), recorded.message_log.new_cursor()
    recorded.store([one], [b"first"])
    recorded.message_log.wait()
    before = recorded.message_log.end
    with recorded.message_log.group():
        recorded.store([other], [b"put"])
        recorded.store_queued([other], [b"and another"])
        recorded.message_log.acknowledge(one, 0, 1)
        recorded.set("key", "value")
    recorded.message_log.wait()
    whole = ({}, {0: b"put", 1: b"and another"}, {"key": "value"})
    nothing = ({0: b"first"}, {}, {})
    for cut in range(before, recorded.message_log.end + 1):
        crash(recorded.directory, tmp_path / f"copy-{cut}", cut)
        again = RecordingLog(tmp_path / f"copy-{cut}")
        cursors = again.message_log.cursors
        found = again.pending(cursors[one.number]), again.pending(cursors[other.number]), again.values
        # Zeros that only fill up to the next record are not missed.
        assert found == nothing or (found == whole and cut > recorded.message_log.end - ALIGNMENT)
        again.close()
    assert found == whole


def test_compaction_gives_back_the_room_of_single_messages_of_a_queue(recorded) -> None:
    one, other = recorded.message_log.new_cursor(), recorded.message_log.new_cursor()
    payloads = [b"%d" % n + bytes(100) for n in range(200)]
    recorded.store_queued([one, other], payloads)
    recorded.message_log.wait()
    before = recorded.size()
    recorded.message_log.acknowledge(one, 1, 150)
    recorded.message_log.acknowledge(one, 151, 200)
    recorded.message_log.acknowledge(other, 0, 100)
    recorded.message_log.acknowledge(other, 101, 200)
    recorded.maintenance.compact()
    assert recorded.size() < before / 5
    assert recorded.pending(one) == {0: payloads[0], 150: payloads[150]}
    assert recorded.pending(other) == {100: payloads[100]}


def test_a_copy_of_messages_of_several_topics_has_all_of_them_whoever_still_needs_them(recorded) -> None:
    one, other = recorded.message_log.new_cursor(), recorded.message_log.new_cursor()
    payloads = [b"%d" % n + bytes(n) for n in range(40)]
    recorded.store_mixed([one, other], payloads)
    recorded.message_log.wait()
    recorded.message_log.acknowledge(one, 1, 40)
    recorded.message_log.acknowledge(other, 0, 39)
    recorded.maintenance.compact()
    assert recorded.pending(one) == {0: payloads[0]}
    assert recorded.pending(other) == {39: payloads[39]}
    again = reopened(recorded)
    found = again.message_log.cursor_reader(again.message_log.cursors[one.number]).find(0)
    assert found is not None
    assert decode_mixed_messages(found.record.body, 40).payloads == payloads


def test_compaction_keeps_what_is_pending_of_a_group(recorded) -> None:
    one, other = recorded.message_log.new_cursor(), recorded.message_log.new_cursor()
    for turn in range(30):
        with recorded.message_log.group():
            recorded.store_queued([one], [b"%d" % turn + bytes(100), b"more"])
            recorded.store([other], [b"%d" % turn + bytes(100)])
            recorded.set("turn", str(turn))
        recorded.message_log.wait()
    expected = recorded.pending(one)
    before = recorded.size()
    recorded.message_log.acknowledge(other, 0, 30)
    for offset in range(60):
        if offset % 20:
            recorded.message_log.acknowledge(one, offset, offset + 1)
    recorded.maintenance.compact()
    assert recorded.size() < before / 3
    kept = {offset: expected[offset] for offset in (0, 20, 40)}
    assert recorded.pending(one) == kept
    again = reopened(recorded)
    assert again.pending(again.message_log.cursors[one.number]) == kept
    assert again.values == {"turn": "29"}

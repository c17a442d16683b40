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
from log.recording_logs import SET, Account, crash, queue_messages, unforced


@pytest.fixture
def account(tmp_path):
    with unforced():
        account = Account(tmp_path / "log", segment_size=2000)
        yield account
        account.close()


def reopened(account: Account) -> Account:
    account.close()
    account.__init__(account.directory, segment_size=2000)
    return account


def written(account: Account) -> list[Record]:
    """What is in the log, groups as one."""
    account.ledger.wait()
    return [record for record in account.ledger.log.records() if record.kind != log_kinds.CURSOR]


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


def test_a_group_is_one_record_with_all_that_was_done(account) -> None:
    one, other = account.ledger.new_cursor(), account.ledger.new_cursor()
    account.store([one], [b"first"])
    with account.ledger.group():
        account.store([one, other], [b"a", b"b"])
        account.store_queued([other], [b"c", b"of another length"])
        account.ledger.acknowledge(one, 0, 1)
        account.set("key", "value")
    _, group = written(account)
    assert (group.kind, group.count) == (log_kinds.GROUP, 4)
    assert [member.kind for member in records_in(group)] == [
        log_kinds.MESSAGES,
        log_kinds.MESSAGES,
        SET,
        log_kinds.ACKS,
    ]
    assert account.pending(one) == {1: b"a", 2: b"b"}
    assert account.pending(other) == {0: b"a", 1: b"b", 2: b"c", 3: b"of another length"}


def test_cursors_learn_of_a_group_when_it_is_written(account) -> None:
    cursor = account.ledger.new_cursor()
    account.store([cursor], [b"first"])
    with account.ledger.group():
        assert account.ledger.store(queue_messages([b"a", b"b"]), [cursor], [0]) == [1]
        assert account.ledger.store(queue_messages([b"c"]), [cursor], [0]) == [3]
        account.ledger.acknowledge(cursor, 0, 1)
        assert (cursor.first, cursor.next) == (0, 1)
    assert (cursor.first, cursor.next) == (1, 4)


def test_a_group_may_acknowledge_what_it_brings(account) -> None:
    cursor = account.ledger.new_cursor()
    with account.ledger.group():
        account.store([cursor], [b"a", b"b"])
        account.ledger.acknowledge(cursor, 0, 1)
    account.ledger.wait()
    assert account.pending(cursor) == {1: b"b"}
    assert account.pending(reopened(account).ledger.cursors[cursor.number]) == {1: b"b"}


def test_an_exception_leaves_nothing_of_a_group(account) -> None:
    cursor = account.ledger.new_cursor()
    account.store([cursor], [b"first"])
    end, before = account.ledger.end, cursor.encode()
    with pytest.raises(LookupError), account.ledger.group():
        account.store([cursor], [b"never"])
        account.ledger.acknowledge(cursor, 0, 1)
        raise LookupError
    assert account.ledger.end == end
    assert cursor.encode() == before
    account.store([cursor], [b"second"])
    account.ledger.wait()
    assert account.pending(cursor) == {0: b"first", 1: b"second"}


def test_a_group_with_nothing_in_it_is_not_written(account) -> None:
    end = account.ledger.end
    with account.ledger.group():
        pass
    assert account.ledger.end == end


def test_some_things_are_no_part_of_a_group(account) -> None:
    cursor = account.ledger.new_cursor()

    def nested() -> None:
        with account.ledger.group():
            pass

    for mistake in (nested, lambda: account.ledger.drop_cursor(cursor)):
        with pytest.raises(RuntimeError, match="within a group"), account.ledger.group():
            mistake()
    nested()  # and the one that failed is over


def test_a_cursor_that_is_made_for_a_group_is_there_even_if_the_group_is_not(account) -> None:
    with pytest.raises(LookupError), account.ledger.group():
        cursor = account.ledger.new_cursor()
        account.store([cursor], [b"never"])
        raise LookupError
    with account.ledger.group():
        other = account.ledger.new_cursor()
        account.store([cursor, other], [b"a"])
        assert account.ledger.next_offsets([cursor, other]) == [1, 1]
    account.ledger.wait()
    again = reopened(account)
    assert [again.pending(again.ledger.cursors[one.number]) for one in (cursor, other)] == [{0: b"a"}] * 2


def test_what_is_discarded_while_a_group_is_made_is_gone_at_once(account) -> None:
    cursor = account.ledger.new_cursor()
    account.ledger.store(queue_messages([b"x", b"y"]), [cursor], [0])
    with account.ledger.group():
        account.ledger.store(queue_messages([b"z"]), [cursor], [0])
        account.ledger.discard(cursor, 0, 3)
        assert cursor.pending == 0
    assert (cursor.next, cursor.pending) == (3, 0)


# -- chunks -----------------------------------------------------------------------------------------------------------


def test_messages_of_one_group_are_one_chunk_and_count_with_their_own_size(account) -> None:
    one, other = account.ledger.new_cursor(), account.ledger.new_cursor()
    with account.ledger.group():
        for _ in range(10):
            account.store_queued([one], [bytes(100)])
        account.store_queued([other], [bytes(CHUNK_SIZE)])
    (group,) = written(account)
    for cursor, members in (one, 10), (other, 1):
        (chunk,) = cursor.chunks
        assert (chunk.start, chunk.end) == (group.position, group.end)
        sizes = [len(member.body) for member in records_in(group)][: members if cursor is one else None]
        assert cursor.bytes == chunk.size
        assert 0 <= chunk.size - sum(sizes if cursor is one else sizes[-1:]) <= members * (HEADER_SIZE + 8)
    assert one.bytes + other.bytes <= group.end - group.position
    before = one.encode(), other.encode()
    again = reopened(account).ledger.cursors
    assert (again[one.number].encode(), again[other.number].encode()) == before


def test_what_follows_a_large_group_is_another_chunk(account) -> None:
    cursor = account.ledger.new_cursor()
    with account.ledger.group():
        account.store_queued([cursor], [bytes(CHUNK_SIZE)])
    account.store_queued([cursor], [b"small"])
    assert len(cursor.chunks) == 2


# -- reading ----------------------------------------------------------------------------------------------------------


def test_messages_are_found_in_groups_in_any_order(account) -> None:
    cursor, other = account.ledger.new_cursor(), account.ledger.new_cursor()
    expected = {}
    for turn in range(20):
        with account.ledger.group():
            for n in range(3):
                account.store_queued([cursor], [b"%d %d" % (turn, n)])
                account.store([other], [b"for others"])
                expected[len(expected)] = b"%d %d" % (turn, n)
    account.ledger.wait()
    assert account.pending(cursor) == expected
    reading = account.ledger.cursor_reader(cursor)
    for offset in (59, 0, 31, 30, 32, 1, 58):
        assert account.payload(reading, offset) == expected[offset]


def test_a_group_that_is_not_safe_cannot_be_read_yet(account) -> None:
    cursor = account.ledger.new_cursor()
    account.ledger.wait()
    with account.ledger.group():
        account.store([cursor], [b"a"])
    reading = account.ledger.cursor_reader(cursor)
    assert account.payload(reading, 0) is None
    account.ledger.wait()
    assert account.payload(reading, 0) == b"a"


def test_readers_of_a_stream_look_inside_groups(account) -> None:
    cursor = account.ledger.new_cursor()
    description = {"name": "s", "filter": "t", "partitions": 1, "retention_bytes": 0, "retention_age": 0}
    write_description(account.directory, "s", description)
    writer = PartitionIndexWriter(account.directory, "s", 0, cursor)
    for turn in range(3):
        with account.ledger.group():
            account.set("key", "value")
            account.store([cursor], [b"%d a" % turn, b"%d b" % turn])
            account.store([cursor], [b"%d c" % turn])
    account.ledger.wait()
    assert writer.take()
    writer.write()
    with StreamReader(account.directory, "s") as reader:
        found = [(message.offset, message.payload) for message in reader.messages(0, 0)]
        assert found == list(enumerate(b"%d %s" % (turn, part) for turn in range(3) for part in (b"a", b"b", b"c")))
        assert next(reader.messages(0, 5)).payload == b"1 c"
        assert reader.offset_at(0, 0) == 0
    writer.close()


# -- crashes and compaction -------------------------------------------------------------------------------------------


def test_a_crash_leaves_a_group_whole_or_not_at_all(account, tmp_path) -> None:
    one, other = account.ledger.new_cursor(), account.ledger.new_cursor()
    account.store([one], [b"first"])
    account.ledger.wait()
    before = account.ledger.end
    with account.ledger.group():
        account.store([other], [b"put"])
        account.store_queued([other], [b"and another"])
        account.ledger.acknowledge(one, 0, 1)
        account.set("key", "value")
    account.ledger.wait()
    whole = ({}, {0: b"put", 1: b"and another"}, {"key": "value"})
    nothing = ({0: b"first"}, {}, {})
    for cut in range(before, account.ledger.end + 1):
        crash(account.directory, tmp_path / f"copy-{cut}", cut)
        again = Account(tmp_path / f"copy-{cut}")
        cursors = again.ledger.cursors
        found = again.pending(cursors[one.number]), again.pending(cursors[other.number]), again.facts
        # Zeros that only fill up to the next record are not missed.
        assert found == nothing or (found == whole and cut > account.ledger.end - ALIGNMENT)
        again.close()
    assert found == whole


def test_compaction_gives_back_the_room_of_single_messages_of_a_queue(account) -> None:
    one, other = account.ledger.new_cursor(), account.ledger.new_cursor()
    payloads = [b"%d" % n + bytes(100) for n in range(200)]
    account.store_queued([one, other], payloads)
    account.ledger.wait()
    before = account.size()
    account.ledger.acknowledge(one, 1, 150)
    account.ledger.acknowledge(one, 151, 200)
    account.ledger.acknowledge(other, 0, 100)
    account.ledger.acknowledge(other, 101, 200)
    account.upkeep.compact()
    assert account.size() < before / 5
    assert account.pending(one) == {0: payloads[0], 150: payloads[150]}
    assert account.pending(other) == {100: payloads[100]}


def test_a_copy_of_messages_of_several_topics_has_all_of_them_whoever_still_needs_them(account) -> None:
    one, other = account.ledger.new_cursor(), account.ledger.new_cursor()
    payloads = [b"%d" % n + bytes(n) for n in range(40)]
    account.store_mixed([one, other], payloads)
    account.ledger.wait()
    account.ledger.acknowledge(one, 1, 40)
    account.ledger.acknowledge(other, 0, 39)
    account.upkeep.compact()
    assert account.pending(one) == {0: payloads[0]}
    assert account.pending(other) == {39: payloads[39]}
    again = reopened(account)
    found = again.ledger.cursor_reader(again.ledger.cursors[one.number]).find(0)
    assert found is not None
    assert decode_mixed_messages(found.record.body, 40).payloads == payloads


def test_compaction_keeps_what_is_pending_of_a_group(account) -> None:
    one, other = account.ledger.new_cursor(), account.ledger.new_cursor()
    for turn in range(30):
        with account.ledger.group():
            account.store_queued([one], [b"%d" % turn + bytes(100), b"more"])
            account.store([other], [b"%d" % turn + bytes(100)])
            account.set("turn", str(turn))
        account.ledger.wait()
    expected = account.pending(one)
    before = account.size()
    account.ledger.acknowledge(other, 0, 30)
    for offset in range(60):
        if offset % 20:
            account.ledger.acknowledge(one, offset, offset + 1)
    account.upkeep.compact()
    assert account.size() < before / 3
    kept = {offset: expected[offset] for offset in (0, 20, 40)}
    assert account.pending(one) == kept
    again = reopened(account)
    assert again.pending(again.ledger.cursors[one.number]) == kept
    assert again.facts == {"turn": "29"}

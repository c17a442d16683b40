"""Blocks: what is found of a partition in some bytes of the log."""

import pytest

from heliograph.log import log_kinds
from heliograph.log.cursor import Cursor
from heliograph.log.errors import BadRecord
from heliograph.log.group import RecordGroup
from heliograph.log.messages import Receivers, UniformMessages, encode_uniform_messages
from heliograph.log.record import frame
from heliograph.log.streams.stream_block import StreamBlock, block_of
from heliograph.log.streams.stream_span import span_at
from log.test_mixed_messages import body_of as mixed_body_of
from log.test_mixed_messages import mixed

MINE, OTHERS = 5, 6


def body_of(payloads: list[bytes], offset: int, cursors: tuple[int, ...]) -> tuple[bytes, bytes]:
    data = b"".join(payloads)
    messages = UniformMessages(b"t", data, len(payloads), 0, 1, 0, False, False, False, False, b"", 0, 0)
    offsets = [offset if cursor == MINE else 70 + offset for cursor in cursors]
    return encode_uniform_messages(messages, Receivers(cursors, offsets, [0] * len(cursors))), data


def record(payloads: list[bytes], offset: int, *cursors: int) -> bytes:
    body = body_of(payloads, offset, cursors or (MINE,))
    return b"".join(frame(log_kinds.MESSAGES, body, 0, len(payloads), 1)[0])


def mixed_record(payloads: list[bytes], offset: int, *cursors: int) -> bytes:
    """The same, each message with a topic of its own."""
    cursors = cursors or (MINE,)
    messages = mixed([(b"topic/%d" % number, payload, b"", 7, 0) for number, payload in enumerate(payloads)], 1, False)
    offsets = [offset if cursor == MINE else 70 + offset for cursor in cursors]
    body = mixed_body_of(messages, Receivers(cursors, offsets, [0] * len(cursors)))
    return b"".join(frame(log_kinds.MESSAGES, (body,), 0, len(payloads), 1)[0])


def payloads_in(block: StreamBlock) -> list[bytes]:
    return [payload for place in block for payload in span_at(block, place).payloads]


def whole(*records: bytes) -> StreamBlock:
    return block_of(b"".join(records), 0, MINE, 0, 100)


def test_records_of_others_are_passed_over_and_shared_ones_are_found() -> None:
    other = b"".join(frame(log_kinds.ACKS, (b"x",))[0])
    data = record([b"a", b"b"], 0), other, record([b"x"], 0, OTHERS), record([b"c"], 2, OTHERS, MINE, 9), other
    block = whole(*data)
    assert (payloads_in(block), block.next, block.used) == ([b"a", b"b", b"c"], 3, len(b"".join(data)))


def test_records_of_several_topics_are_found_among_others() -> None:
    data = (
        mixed_record([b"a", b"bb"], 0),
        record([b"c"], 2),
        mixed_record([b"x"], 0, OTHERS),
        mixed_record([b"", b"d"], 3, OTHERS, MINE, 9),
    )
    block = whole(*data)
    assert (payloads_in(block), block.next, block.used) == ([b"a", b"bb", b"c", b"", b"d"], 5, len(b"".join(data)))
    assert [span_at(block, place).topics for place in block] == [["topic/0", "topic/1"], ["t"], ["topic/0", "topic/1"]]


def test_reading_ends_at_a_stop_and_begins_within_a_record() -> None:
    data = record([b"a", b"b"], 0) + record([b"c", b"d"], 2) + record([b"e"], 4)
    block = block_of(data, 0, MINE, 1, 3)
    assert [(place.first, place.number) for place in block] == [(0, 2), (2, 2)]
    assert block.next == 4


def test_a_record_that_is_not_all_there_is_for_the_next_block() -> None:
    first, second = record([b"a"], 0), record([b"b" * 100], 1)
    for size in range(len(first), len(first) + len(second) - 8):
        block = block_of((first + second)[:size], 0, MINE, 0, 100)
        assert (payloads_in(block), block.used) == ([b"a"], len(first))


def test_a_copy_of_what_was_found_does_not_count() -> None:
    block = whole(record([b"a"], 0), record([b"a"], 0), record([b"b"], 1), record([b"a"], 0))
    assert (payloads_in(block), block.next) == ([b"a", b"b"], 2)


def test_a_wanted_record_has_to_pass_its_check_sum() -> None:
    good, bad = record([b"a"], 0), bytearray(record([b"damaged"], 1))
    bad[-3] ^= 1
    assert whole(good, bytes(bad)).used == len(good)
    with pytest.raises(BadRecord, match="the check sum is"):
        block_of(bytes(bad), 0, MINE, 1, 100)


def grouped(*payloads: bytes) -> bytes:
    group = RecordGroup(1, 0)
    for offset, payload in enumerate(payloads):
        group.add(log_kinds.ACKS, (b"x",))
        group.add_messages([Cursor(MINE)], body_of([payload], offset, (MINE,)), 1)
    return b"".join(frame(log_kinds.GROUP, group.pieces, 0, group.count, 1)[0])


def test_messages_in_a_group_are_found() -> None:
    block = whole(grouped(b"a", b"b"), record([b"c"], 2))
    assert (payloads_in(block), block.next) == ([b"a", b"b", b"c"], 3)


def test_records_can_be_sent_elsewhere_and_found_again_there() -> None:
    data = (
        record([b"a"], 0),
        record([b"b"], 1),
        record([b"x"], 0, OTHERS),
        grouped(b"y", b"z", b"c", b"d"),
        record([b"odd" * 7], 4),
    )
    block = whole(*data)
    sent = b"".join(block.records())
    again = block_of(sent, 0, MINE, 0, 100)
    assert payloads_in(again) == payloads_in(block) == [b"a", b"b", b"c", b"d", b"odd" * 7]
    assert again.used == len(sent)
    assert b"x" not in payloads_in(again)


@pytest.mark.parametrize("flipped", [50, 70_000, 199_990])
def test_damage_is_found_anywhere_in_a_large_record(flipped: int) -> None:
    good = record([b"x" * 100_000, b"y" * 100_000], 0)
    assert len(payloads_in(whole(good))) == 2
    bad = bytearray(good)
    bad[flipped] ^= 1
    with pytest.raises(BadRecord):
        block_of(bytes(bad), 0, MINE, 0, 100)


def test_a_block_can_be_in_memory_that_is_used_again() -> None:
    data = record([b"a"], 0) + grouped(b"y", b"b") + record([b"c" * 9], 2)
    block = block_of(memoryview(bytearray(data)), 0, MINE, 0, 100)
    assert payloads_in(block) == [b"a", b"b", b"c" * 9]
    assert b"".join(block.records()) == b"".join(block_of(data, 0, MINE, 0, 100).records())

"""Spans: what readers of a stream are told of messages that were stored together."""

import pytest

from heliograph.errors import Problem
from heliograph.log import log_kinds
from heliograph.log.messages import Receivers, UniformMessages, encode_uniform_messages
from heliograph.log.record import frame
from heliograph.log.streams.stream_block import block_of
from heliograph.log.streams.stream_span import StreamMessage, StreamSpan, span_at
from log.test_mixed_messages import body_of, mixed

CURSOR, OFFSET, TIME = 5, 70, 1_700_000_000_000
RECEIVERS = Receivers((CURSOR,), (OFFSET,), (0,))


def span(body: bytes, count: int) -> StreamSpan:
    data = b"".join(frame(log_kinds.MESSAGES, (body,), 0, count, TIME)[0])
    block = block_of(data, 0, CURSOR, OFFSET, OFFSET + count)
    (place,) = block
    return span_at(block, place)


def uniform(topic: bytes, *payloads: bytes, properties: bytes = b"", retain: bool = False) -> StreamSpan:
    data = b"".join(b"head" + payload for payload in payloads)
    messages = UniformMessages(topic, data, len(payloads), 4, 1, 2, True, retain, False, False, properties, 0, 0)
    return span(encode_uniform_messages(messages, RECEIVERS) + data, len(payloads))


def of_several(*rows: tuple[bytes, bytes, bytes]) -> StreamSpan:
    """Topics, payloads and properties."""
    found = [(topic, payload, properties, 7, 0) for topic, payload, properties in rows]
    return span(body_of(mixed(found, 1, True), RECEIVERS), len(rows))


def test_messages_of_one_client_have_all_in_common() -> None:
    found = uniform(b"a", b"1", b"2", properties=b"p", retain=True)
    assert (found.offset, found.next, found.count, found.time, found.qos) == (70, 72, 2, TIME, 1)
    assert (found.topic, found.properties, found.retain) == ("a", b"p", True)
    assert (found.topics, found.payloads, found.all_properties) == (["a", "a"], [b"1", b"2"], [b"p", b"p"])
    assert list(found) == [
        StreamMessage(70, TIME, "a", b"1", 1, True, b"p"),
        StreamMessage(71, TIME, "a", b"2", 1, True, b"p"),
    ]


def test_messages_of_many_clients_are_told_one_by_one() -> None:
    found = of_several((b"a", b"1", b""), ("ü".encode(), b"", b"\1\0"), (b"a", b"333", b""))
    assert (found.offset, found.next, found.count, found.time, found.qos, found.retain) == (70, 73, 3, TIME, 1, False)
    assert found.topics == ["a", "ü", "a"]
    assert found.payloads == [b"1", b"", b"333"]
    assert found.all_properties == [b"", b"\1\0", b""]
    assert list(found) == [
        StreamMessage(70, TIME, "a", b"1", 1, False, b""),
        StreamMessage(71, TIME, "ü", b"", 1, False, b"\1\0"),
        StreamMessage(72, TIME, "a", b"333", 1, False, b""),
    ]


def test_what_they_do_not_have_in_common_has_to_be_asked_for_each() -> None:
    found = of_several((b"a", b"1", b""), (b"b", b"2", b"\1\0"), (b"a", b"3", b""))
    with pytest.raises(
        Problem, match="offsets 70 to 72: expected one topic for all messages of the span, found 2 diff"
    ):
        _ = found.topic
    with pytest.raises(Problem, match="expected one set of properties"):
        _ = found.properties


def test_what_they_happen_to_have_in_common_is_told() -> None:
    found = of_several((b"a", b"1", b"\1\0"), (b"a", b"22", b"\1\0"))
    assert (found.topic, found.properties) == ("a", b"\1\0")


@pytest.mark.parametrize(
    "whole",
    [
        uniform(b"a", *[b"%d" % number for number in range(5)]),
        of_several(*[(b"t/%d" % number, b"x" * number, b"") for number in range(5)]),
    ],
)
def test_a_part_has_the_same_messages(whole: StreamSpan) -> None:
    one_by_one = list(whole)
    for lo, hi in ((70, 75), (0, 100), (71, 75), (70, 74), (72, 73)):
        part = whole.part(lo, hi)
        assert list(part) == [message for message in one_by_one if lo <= message.offset < hi]
        assert part.count == len(part.payloads) == len(part.topics)

"""Packets of several topics, and what is known of them, are the same again when they have been written and read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.errors import Problem
from heliograph.log.messages import (
    MIXED_PACKETS,
    Receivers,
    encode_uniform_messages,
    form_of,
    offset_for,
    publisher_of,
    qos_and_retain,
    receivers_of,
)
from heliograph.log.mixed_messages import MixedMessages, decode_mixed_messages, encode_mixed_messages
from heliograph.mqtt.framing import encode_varint
from log.test_messages import any_messages, any_receivers

TOPICS = st.one_of(st.binary(min_size=1, max_size=20), st.just(b"t" * 300))
PAYLOADS = st.one_of(st.binary(max_size=20), st.sampled_from([bytes(size) for size in (100, 130, 16_400)]))
ROWS = st.lists(
    st.tuples(TOPICS, PAYLOADS, st.binary(max_size=5), st.integers(1, 65535), st.integers(0, 2**32 - 1)),
    min_size=1,
    max_size=8,
)


def mixed(rows: list[tuple], qos: int, version5: bool) -> MixedMessages:
    packets, ends, heads = [], [], []
    for topic, payload, properties, identifier, _ in rows:
        behind = identifier.to_bytes(2, "big") if qos else b""
        if version5:
            behind += encode_varint(len(properties)) + properties
        length = encode_varint(2 + len(topic) + len(behind) + len(payload))
        front = bytes((0x30 | qos << 1,)) + length + len(topic).to_bytes(2, "big") + topic
        packets.append(front + behind + payload)
        ends.append(len(front))
        heads.append(len(front) + len(behind))
    publishers = [row[4] for row in rows] if qos == 2 else []
    return MixedMessages(b"".join(packets), [*map(len, packets)], ends, heads, qos, version5, publishers)


def body_of(messages: MixedMessages, receivers: Receivers) -> bytes:
    return encode_mixed_messages(messages, receivers) + messages.data


@given(ROWS, st.integers(0, 2), st.booleans(), any_receivers())
def test_packets_of_any_topics_and_lengths_can_be_written_down(rows, qos, version5, receivers) -> None:
    messages = mixed(rows, qos, version5)
    body = body_of(messages, receivers)
    assert form_of(body) == MIXED_PACKETS
    assert qos_and_retain(body) == (qos, False)
    found = decode_mixed_messages(body, len(rows))
    assert found.packets == messages.packets
    assert found.topics == [row[0] for row in rows]
    assert found.payloads == [row[1] for row in rows]
    assert found.properties == [row[2] if version5 else b"" for row in rows]
    assert (found.qos, found.version5, found.number) == (qos, version5, len(rows))
    assert list(found.identifiers()) == ([(row[4], row[3]) for row in rows] if qos == 2 else [])


@given(ROWS, st.integers(0, 2), st.booleans(), st.data())
def test_a_part_of_them_is_the_same_messages(rows, qos, version5, data) -> None:
    messages = mixed(rows, qos, version5)
    lo = data.draw(st.integers(0, len(rows)))
    hi = data.draw(st.integers(lo, len(rows)))
    part = messages.part(lo, hi)
    assert part.number == hi - lo
    assert (part.packets, part.topics, part.payloads, part.properties) == (
        messages.packets[lo:hi],
        messages.topics[lo:hi],
        messages.payloads[lo:hi],
        messages.properties[lo:hi],
    )
    assert list(part.identifiers()) == list(messages.identifiers())[lo:hi]


@given(ROWS, any_receivers(), st.integers(0, 2**32 - 1))
def test_receivers_are_found_as_in_the_first_form(rows, receivers, other) -> None:
    body = body_of(mixed(rows, 1, False), receivers)
    assert receivers_of(body) == receivers
    assert publisher_of(body) == 0
    for cursor, offset in zip(receivers.cursors, receivers.offsets, strict=True):
        assert offset_for(body, cursor) == offset
    if other not in receivers.cursors:
        assert offset_for(body, other) is None


@given(any_messages(), any_receivers())
def test_a_record_of_another_form_is_not_taken_for_one(messages, receivers) -> None:
    body = encode_uniform_messages(messages, receivers) + messages.data
    with pytest.raises(Problem, match="form 3"):
        decode_mixed_messages(body, messages.number)

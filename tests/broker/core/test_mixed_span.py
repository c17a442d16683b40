"""Messages of a mixed span are the same as those of uniform spans of one message each."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.broker.core.mixed_span import MixedSpan, single_span
from heliograph.log.messages import Receivers
from heliograph.log.mixed_messages import decode_mixed_messages, encode_mixed_messages
from heliograph.mqtt import Publish, encode

ROWS = st.lists(
    st.tuples(
        st.text("abc/", min_size=1, max_size=8) | st.just("t" * 200),
        st.binary(max_size=10) | st.just(bytes(17_000)),
        st.none() | st.text("xy", max_size=3),
    ),
    min_size=1,
    max_size=6,
)
IDENTIFIER = b"\x0b\x05"


def spans_of(rows, qos, version5):
    """The rows as a mixed span, and as a span each."""
    packets, ends, singles = [], [], []
    for number, (topic, payload, content_type) in enumerate(rows, 7):
        properties = {"content_type": content_type} if version5 and content_type is not None else {}
        packet = encode(
            Publish(topic, payload, qos, packet_id=number if qos else 0, properties=properties), 5 if version5 else 4
        )
        name_end = packet.index(topic.encode()) + len(topic)
        packets.append(packet)
        ends.append((name_end, len(packet) - len(payload)))
        singles.append(single_span(packet, *ends[-1], qos, version5))
    name_ends, heads = zip(*ends, strict=True)
    return MixedSpan.of_packets(
        packets, name_ends, heads, qos=qos, version5=version5, publishers=[3] * len(rows)
    ), singles


@given(ROWS, st.integers(0, 2), st.booleans(), st.data())
def test_packets_are_those_of_single_messages(rows, qos, version5, data) -> None:
    mixed, singles = spans_of(rows, qos, version5)
    lo = data.draw(st.integers(0, len(rows) - 1))
    hi = data.draw(st.integers(lo + 1, len(rows)))
    wanted = {
        "version5": data.draw(st.booleans()),
        "qos": data.draw(st.integers(0, qos)),
        "retain": data.draw(st.booleans()),
        "dup": data.draw(st.booleans()),
        "now": 0.0,
    }
    if wanted["version5"]:
        wanted["extra"] = data.draw(st.sampled_from([b"", IDENTIFIER]))
    if not wanted["qos"]:
        wanted["dup"] = False
    expected = b"".join(
        [
            one.packets(0, 1, first_id=1000 + at if wanted["qos"] else 0, **wanted)
            for at, one in enumerate(singles[lo:hi])
        ]
    )
    part = mixed.part(lo, hi)
    first_id = 1000 if wanted["qos"] else 0
    assert mixed.packets(lo, hi, first_id=first_id, **wanted) == expected
    assert part.packets(0, hi - lo, first_id=first_id, **wanted) == expected
    assert part.payloads(0, hi - lo) == mixed.payloads(lo, hi) == [payload for _, payload, _ in rows[lo:hi]]


@pytest.mark.parametrize("dup", [False, True])
@pytest.mark.parametrize("version5", [False, True])
def test_packets_of_one_size_get_their_identifiers_too(version5, dup) -> None:
    rows = [(f"a/{number}", b"%d" % number, None) for number in range(5)]
    mixed, singles = spans_of(rows, 1, version5)
    found = mixed.packets(1, 4, version5=version5, qos=1, retain=False, now=0.0, first_id=300, dup=dup)
    assert found == b"".join(
        [
            one.packets(0, 1, version5=version5, qos=1, retain=False, now=0.0, first_id=300 + at, dup=dup)
            for at, one in enumerate(singles[1:4])
        ]
    )


@given(ROWS, st.integers(0, 2), st.booleans())
def test_it_is_the_same_when_it_has_been_in_the_log(rows, qos, version5) -> None:
    mixed, _ = spans_of(rows, qos, version5)
    body = encode_mixed_messages(mixed.messages, Receivers([1], [2], [0])) + mixed.data
    again = MixedSpan.of(decode_mixed_messages(body, len(rows)))
    assert again.payloads(0, len(rows)) == mixed.payloads(0, len(rows))
    for name in ("topic", "data", "count", "qos", "version5"):
        assert getattr(again, name) == getattr(mixed, name)
    assert list(again.publishers) == [3] * len(rows)


@pytest.mark.parametrize("version5", [False, True])
def test_a_part_of_one_message_is_uniform(version5) -> None:
    mixed, singles = spans_of([("a", b"1", "x"), ("b", b"22", None)], 1, version5)
    part = mixed.part(1, 2)
    assert not isinstance(part, MixedSpan)
    assert (part.topic, part.data, part.properties) == (b"b", singles[1].data, b"")
    assert mixed.single(0).properties == (b"\x03\x00\x01x" if version5 else b"")

"""Composite types: known bytes, defaults, round trips, and fields that are wrong."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp.strategies import ALL_COMPOSITES, composites, often, quick, values
from heliograph.amqp.codec.composite import resolve
from heliograph.amqp.codec.decoding import decode
from heliograph.amqp.codec.encoding import encode
from heliograph.amqp.codec.performatives import (
    Accepted,
    Attach,
    Begin,
    Close,
    Disposition,
    Error,
    Flow,
    Modified,
    Open,
    Rejected,
    Source,
    Target,
    TransactionalState,
    Transfer,
)
from heliograph.amqp.codec.values import Array, Described, Symbol, UInt, ULong
from heliograph.amqp.errors import InvalidField, ProtocolError

KNOWN = [
    (Open("c"), "00 53 10 c0 04 01 a1 01 63"),
    (Open("c", channel_max=1, idle_time_out=5), "00 53 10 c0 0b 05 a1 01 63 40 40 60 00 01 52 05"),
    (Begin(None, 0, 1, 256), "00 53 11 c0 0a 04 40 43 52 01 70 00 00 01 00"),
    (Close(), "00 53 18 45"),
    (Close(Error("a:b", "c")), "00 53 18 c0 0f 01 00 53 1d c0 09 02 a3 03 61 3a 62 a1 01 63"),
    (Accepted(), "00 53 24 45"),
    (Modified(delivery_failed=True), "00 53 27 c0 02 01 41"),
    (TransactionalState(b"t", Accepted()), "00 53 34 c0 08 02 a0 01 74 00 53 24 45"),
    (Disposition(True, 1, 2, True, Accepted()), "00 53 15 c0 0b 05 41 52 01 52 02 41 00 53 24 45"),
    (Transfer(0, 1, b"t", 0, False), "00 53 14 c0 09 05 43 52 01 a0 01 74 43 42"),
    (Target("q", capabilities=("queue",)), "00 53 29 c0 10 07 a1 01 71 40 40 40 40 40 a3 05 71 75 65 75 65"),
]


@pytest.mark.parametrize(("value", "data"), KNOWN, ids=lambda value: type(value).__name__)
def test_known_bytes(value, data):
    assert encode(value).hex() == bytes.fromhex(data).hex()
    assert resolve(decode(bytes.fromhex(data))[0]) == value


@pytest.mark.parametrize("kind", ALL_COMPOSITES, ids=lambda kind: kind.__name__)
def test_what_is_written_is_read_again(kind):
    @quick
    @given(composites(kind))
    def check(value):
        assert resolve(decode(encode(value))[0]) == value

    check()


@often
@given(st.sampled_from(ALL_COMPOSITES), st.lists(values, max_size=16))
def test_fields_of_any_kind_are_taken_or_named_as_wrong(kind, fields):
    try:
        made = resolve(Described(ULong(kind.CODE), fields))
    except ProtocolError:
        return
    assert isinstance(made, kind)


def test_a_type_is_known_by_its_name_too():
    assert resolve(Described(Symbol("amqp:accepted:list"), [])) == Accepted()


def test_an_unknown_description_stays_what_it_is():
    assert resolve(Described(ULong(0x9999), [])) == Described(ULong(0x9999), [])


def test_one_capability_may_come_alone_or_in_an_array():
    for sent in (Symbol("queue"), Array(Symbol, [Symbol("queue")])):
        assert resolve(Described(ULong(0x29), [None] * 6 + [sent])).capabilities == ("queue",)


def test_fields_left_out_have_the_defaults_of_the_standard():
    source = resolve(Described(ULong(0x28), []))
    assert source == Source()
    assert (source.durable, source.expiry_policy, source.timeout, source.dynamic) == (0, "session-end", 0, False)
    flow = resolve(Described(ULong(0x13), [None, UInt(1), UInt(2), UInt(3)]))
    assert flow == Flow(None, 1, 2, 3)
    opened = resolve(Described(ULong(0x10), ["c"]))
    assert (opened.max_frame_size, opened.channel_max, opened.idle_time_out) == (0xFFFFFFFF, 0xFFFF, None)


@pytest.mark.parametrize(
    ("code", "fields", "names"),
    [
        (0x10, [], "Open.container_id"),
        (0x10, [5], "Open.container_id"),
        (0x12, ["n", UInt(0)], "Attach.role"),
        (0x12, ["n", UInt(0), True, UInt(1)], "Attach.snd_settle_mode"),
        (0x12, ["n", UInt(0), True, None, None, Described(ULong(0x29), [])], "Attach.source"),
        (0x14, [5], "Transfer.handle"),
        (0x15, [True], "Disposition.first"),
        (0x18, ["oops"], "Close.error"),
        (0x18, [None, None], "Close has at most 1"),
        (0x28, [None, UInt(3)], "3 is no Durability"),
        (0x28, [None] * 7 + ["text"], "Source.filter"),
        (0x28, [None] * 9 + [Array(str, ["a"])], "Source.outcomes"),
    ],
)
def test_a_wrong_field_is_named(code, fields, names):
    with pytest.raises(InvalidField, match=names):
        resolve(Described(ULong(code), fields))


def test_an_error_inside_an_outcome_is_read():
    rejected = Rejected(Error("amqp:not-found", "gone", {Symbol("queue"): "q"}))
    attach = Attach("n", 0, True, source=Source("q", default_outcome=rejected))
    assert resolve(decode(encode(attach))[0]).source.default_outcome == rejected

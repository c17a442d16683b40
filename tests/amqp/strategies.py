"""Random values, performatives and messages of AMQP."""

import random
import uuid
from dataclasses import fields
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from heliograph.amqp.codec import performatives as p
from heliograph.amqp.codec.composite import Fields
from heliograph.amqp.codec.values import (
    Array,
    Byte,
    Char,
    Decimal32,
    Decimal64,
    Decimal128,
    Described,
    Float,
    Int,
    Long,
    Short,
    Symbol,
    Timestamp,
    UByte,
    UInt,
    ULong,
    UShort,
)
from heliograph.amqp.messages.message import Data, Message, Sequence, Value


def damaged(data: bytes, chance: random.Random, *, cut: bool = False) -> bytes:
    """These bytes with one to three of them changed; with `cut`, some are missing at the end."""
    changed = bytearray(data)
    for _ in range(chance.randint(1, 3)):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    if cut:
        del changed[chance.randint(0, len(changed)) :]
    return bytes(changed)


# No deadlines: the machine of a test run may be busy with other things.
quick = settings(max_examples=50, deadline=None)
often = settings(max_examples=150, deadline=None)


def _bits(kind, bits, signed=False):
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    edges = [low, high, 0, min(127, high), min(128, high), min(255, high), min(256, high), max(-128, low)]
    return (st.integers(low, high) | st.sampled_from(edges)).map(kind)


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
long_texts = texts | st.integers(250, 300).map(lambda n: "x" * n)
symbols = st.text(st.characters(max_codepoint=127), max_size=20).map(Symbol)
binaries = st.binary(max_size=20) | st.integers(250, 300).map(bytes)
uints = _bits(int, 32)

SCALARS: dict[type, st.SearchStrategy[Any]] = {
    type(None): st.none(),
    bool: st.booleans(),
    UByte: _bits(UByte, 8),
    UShort: _bits(UShort, 16),
    UInt: _bits(UInt, 32),
    ULong: _bits(ULong, 64),
    Byte: _bits(Byte, 8, True),
    Short: _bits(Short, 16, True),
    Int: _bits(Int, 32, True),
    Long: _bits(Long, 64, True),
    Timestamp: _bits(Timestamp, 64, True),
    Float: st.floats(width=32, allow_nan=False).map(Float),
    float: st.floats(allow_nan=False),
    Char: st.characters(exclude_categories=["Cs"]).map(Char),
    uuid.UUID: st.uuids(),
    Decimal32: st.binary(min_size=4, max_size=4).map(Decimal32),
    Decimal64: st.binary(min_size=8, max_size=8).map(Decimal64),
    Decimal128: st.binary(min_size=16, max_size=16).map(Decimal128),
    bytes: binaries,
    str: long_texts,
    Symbol: symbols,
}
scalars = st.one_of(*SCALARS.values())
keys = st.integers(0, 5).map(UInt) | texts  # of one kind each, since 1 and True are one key in Python
descriptors = _bits(ULong, 64) | symbols


@st.composite
def arrays(draw, inner=None):
    kind = draw(st.sampled_from([*SCALARS, list, dict]))
    if kind in SCALARS:
        items = draw(st.lists(SCALARS[kind], max_size=5))
    elif kind is list:
        items = draw(st.lists(st.lists(scalars, max_size=3), max_size=3))
    else:
        items = draw(st.lists(st.dictionaries(texts, scalars, max_size=3), max_size=3))
    return Array(kind, items, draw(st.none() | descriptors))


values = st.recursive(
    scalars | arrays(),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(keys, inner, max_size=5)
        | st.builds(Described, descriptors, inner)
        | st.lists(st.lists(inner, max_size=2), max_size=3).map(lambda items: Array(list, items))
    ),
    max_leaves=20,
)

field_maps = st.dictionaries(symbols, scalars, max_size=3)
symbol_lists = st.lists(symbols, max_size=3).map(tuple)
errors = st.builds(p.Error, symbols, st.none() | texts, st.none() | field_maps)
outcomes = st.one_of(
    st.builds(p.Accepted),
    st.builds(p.Released),
    st.builds(p.Rejected, st.none() | errors),
    st.builds(p.Modified, st.booleans(), st.booleans(), st.none() | field_maps),
)
states = outcomes | st.one_of(
    st.builds(p.Received, uints, _bits(int, 64)),
    st.builds(p.Declared, binaries),
    st.builds(p.TransactionalState, binaries, st.none() | outcomes),
    st.builds(Described, st.just(ULong(0x9999)), st.lists(scalars, max_size=2)),
)
_PLAIN = {
    "str": texts,
    "str | None": st.none() | texts,
    "int": uints,
    "int | None": st.none() | uints,
    "bool": st.booleans(),
    "bool | None": st.none() | st.booleans(),
    "bytes": binaries,
    "bytes | None": st.none() | binaries,
    "tuple[str, ...]": symbol_lists,
    "dict[Any, Any] | None": st.none() | field_maps,
    "dict[bytes, Any] | None": st.none() | st.dictionaries(binaries, st.none() | states.map(lambda _: 1), max_size=2),
    "Error | None": st.none() | errors,
    "Outcome | None": st.none() | outcomes,
    "DeliveryState | None": st.none() | states,
    "Any": st.none() | scalars,
    "Durability": st.sampled_from(p.Durability),
    "SenderSettleMode": st.sampled_from(p.SenderSettleMode),
    "ReceiverSettleMode": st.sampled_from(p.ReceiverSettleMode),
    "ReceiverSettleMode | None": st.none() | st.sampled_from(p.ReceiverSettleMode),
    "SaslCode": st.sampled_from(p.SaslCode),
}
_SMALL = {"channel_max": 16, "remote_channel": 16}
_SYMBOLS = {"condition", "expiry_policy", "distribution_mode", "mechanism"}


def _field(composite, field):
    if field.name == "source":
        return st.none() | composites(p.Source)
    if field.name == "target":
        return st.none() | composites(p.Target) | composites(p.Coordinator)
    if field.name in _SYMBOLS:
        return symbols if field.name != "distribution_mode" else st.none() | symbols
    if field.name in _SMALL:
        numbers = _bits(int, _SMALL[field.name])
        return st.none() | numbers if field.name == "remote_channel" else numbers
    if field.name == "sasl_server_mechanisms":
        return st.lists(symbols, min_size=1, max_size=3).map(tuple)
    name = field.type if isinstance(field.type, str) else getattr(field.type, "__name__", None)
    text = str(field.type).replace("heliograph.amqp.codec.performatives.", "").replace("typing.", "")
    if name in _PLAIN and "[" not in text and "|" not in text:
        return _PLAIN[name]
    if "Rejected" in text:
        return _PLAIN["DeliveryState | None" if "Received" in text else "Outcome | None"]
    return _PLAIN[text]


def composites(kind: type[Fields]) -> st.SearchStrategy[Any]:
    """Random values of a composite type."""
    return st.builds(kind, **{field.name: _field(kind, field) for field in fields(kind)})  # type: ignore[arg-type]


ALL_COMPOSITES = [
    kind for kind in vars(p).values() if isinstance(kind, type) and issubclass(kind, Fields) and kind is not Fields
]

message_ids = st.none() | texts | st.uuids() | _bits(ULong, 64) | st.binary(max_size=10)
bodies = st.builds(Data, binaries) | st.builds(Sequence, st.lists(values, max_size=3)) | st.builds(Value, values)
maybe_text = st.none() | texts
annotations = st.none() | st.dictionaries(symbols, scalars, max_size=3)
times = st.none() | st.integers(0, 1 << 50)
messages = st.builds(
    Message,
    body=bodies,
    durable=st.booleans(),
    priority=st.integers(0, 255),
    ttl=st.none() | uints,
    first_acquirer=st.booleans(),
    delivery_count=uints,
    delivery_annotations=annotations,
    message_annotations=annotations,
    message_id=message_ids,
    user_id=st.none() | binaries,
    to=maybe_text,
    subject=maybe_text,
    reply_to=maybe_text,
    correlation_id=message_ids,
    content_type=st.none() | symbols,
    content_encoding=st.none() | symbols,
    absolute_expiry_time=times,
    creation_time=times,
    group_id=maybe_text,
    group_sequence=st.none() | uints,
    reply_to_group_id=maybe_text,
    application_properties=st.none() | st.dictionaries(texts, scalars, max_size=3),
    footer=annotations,
)


def with_types(value: Any) -> Any:
    """The value with the type of everything in it, because `UInt(1) == Long(1)`."""
    if isinstance(value, list):
        return [with_types(item) for item in value]
    if isinstance(value, dict):
        return [(with_types(key), with_types(item)) for key, item in value.items()]
    if isinstance(value, Array):
        return Array, value.kind, with_types(value.items), with_types(value.descriptor)
    if isinstance(value, Described):
        return Described, with_types(value.descriptor), with_types(value.value)
    return type(value), value

"""How composite types are declared, written and read: defaults, nulls, and fields of the wrong type."""

from typing import Any

import pytest

from heliograph.amqp.codec.composite import STRING, SYMBOLS, UINT, Fields, composite, composites, part, resolve
from heliograph.amqp.codec.decoding import decode
from heliograph.amqp.codec.encoding import encode
from heliograph.amqp.codec.values import Array, Described, Symbol, UInt, ULong
from heliograph.amqp.errors import InvalidField

CODE = 0x7FFF_0001


@composite(CODE, "test:parcel:list")
class Parcel(Fields):
    address: str = part(STRING)
    weight: int = part(UINT, default=1)
    sender: str | None = part(STRING, null=True, default=None)
    labels: tuple[str, ...] = part(SYMBOLS, default=())


def read(*fields: Any) -> Any:
    return resolve(Described(ULong(CODE), list(fields)))


def test_fields_with_their_defaults_are_left_out_at_the_end():
    assert decode(Parcel("here").encoded())[0].value == ["here"]
    assert decode(Parcel("here", 1, "me").encoded())[0].value == ["here", None, "me"]


def test_what_is_written_is_read_again():
    parcel = Parcel("here", 5, "me", ("a", "b"))
    assert resolve(decode(encode(parcel))[0]) == parcel


def test_fields_that_are_null_or_missing_have_their_defaults():
    assert read("here") == read("here", None, None, None) == Parcel("here")


def test_a_type_is_known_by_its_number_and_by_its_name():
    assert resolve(Described(Symbol("test:parcel:list"), ["here"])) == Parcel("here")


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ((), "Parcel.address must be given"),
        ((5,), "Parcel.address: expected a string, got int"),
        (("here", 5), "Parcel.weight: expected uint, got int"),
        (("here", None, None, "a"), "Parcel.labels: expected one or more symbols, got str"),
        (("here", None, None, None, None), "Parcel has at most 4 fields, not 5"),
    ],
)
def test_what_is_wrong_is_named(fields, text):
    with pytest.raises(InvalidField, match=text):
        read(*fields)


def test_one_symbol_or_an_array_of_them_may_be_given():
    assert read("here", UInt(1), None, Symbol("a")).labels == ("a",)
    assert read("here", UInt(1), None, Array(Symbol, [Symbol("a"), Symbol("b")])).labels == ("a", "b")
    assert read("here", UInt(1), None, Array(str, [])).labels == ()


def test_other_described_values_stay_as_they_are():
    unknown = Described(ULong(0x7FFF_FFFF), [])
    not_a_list = Described(ULong(CODE), "here")
    no_key = Described([], [])
    assert [resolve(value) for value in (unknown, not_a_list, no_key, 5)] == [unknown, not_a_list, no_key, 5]


def test_a_field_may_be_limited_to_some_types():
    kind = composites(Parcel)
    assert kind.read(Described(ULong(CODE), ["here"])) == Parcel("here")
    with pytest.raises(InvalidField, match="expected Parcel"):
        kind.read(5)

"""Identifiers come back as what they were."""

from uuid import UUID

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from heliograph.amqp.codec.values import ULong
from heliograph.mapping.identifiers import (
    identifier_from_correlation_data,
    identifier_from_envelope,
    identifier_from_text,
    identifier_to_correlation_data,
    identifier_to_envelope,
    identifier_to_text,
)

TEXTS = st.text() | st.sampled_from(
    [
        "ID:AMQP_",
        "ID:AMQP_UUID:x",
        "ID:AMQP_STRING:",
        "ID:AMQP_ULONG:01",
        "ID:AMQP_ULONG:-1",
        "ID:AMQP_STRING:ID:AMQP_BINARY:00",
    ]
)
IDENTIFIERS = TEXTS | st.binary() | st.uuids() | st.integers(0, 2**64 - 1).map(ULong) | TEXTS.map(str.encode)


@given(IDENTIFIERS)
def test_any_identifier_survives_as_text(identifier):
    found = identifier_from_text(identifier_to_text(identifier))
    assert found == identifier
    assert type(found) is type(identifier)


@given(IDENTIFIERS)
def test_any_identifier_survives_as_correlation_data(identifier):
    found = identifier_from_correlation_data(identifier_to_correlation_data(identifier))
    assert found == identifier
    assert type(found) is type(identifier)


@given(st.binary() | TEXTS.map(str.encode) | IDENTIFIERS.map(identifier_to_text).map(str.encode))
def test_any_correlation_data_survives_as_an_identifier_unless_it_looks_like_the_text_of_bytes(data):
    assume(b"ID:AMQP_BINARY:" not in data)
    assert identifier_to_correlation_data(identifier_from_correlation_data(data)) == data


@pytest.mark.parametrize(
    ("identifier", "text"),
    [
        ("order 17", "order 17"),
        ("ID:1234", "ID:1234"),
        (UUID(int=1), "ID:AMQP_UUID:00000000-0000-0000-0000-000000000001"),
        (ULong(17), "ID:AMQP_ULONG:17"),
        (b"\xca\xfe", "ID:AMQP_BINARY:CAFE"),
        ("ID:AMQP_ULONG:17", "ID:AMQP_STRING:ID:AMQP_ULONG:17"),
    ],
)
def test_identifiers_are_written_as_jms_clients_do(identifier, text):
    assert identifier_to_text(identifier) == text


@given(st.text(min_size=1).filter(str.isprintable) | st.uuids() | st.integers(0, 2**64 - 1))
def test_identifiers_come_back_from_envelopes(identifier):
    assume(not (isinstance(identifier, str) and identifier.startswith("ID:AMQP_")))
    assert identifier_from_envelope(identifier_to_envelope(identifier)) == identifier


@pytest.mark.parametrize(
    ("identifier", "data"),
    [(None, b""), ("ID:1", b"ID:1"), (b"\xff\x00", b"\xff\x00"), (ULong(7), b"ID:AMQP_ULONG:7")],
)
def test_envelopes_have_bytes(identifier, data):
    assert identifier_to_envelope(identifier) == data


@pytest.mark.parametrize("data", [b"\xff", b"a\n", b"ID:AMQP_ULONG:\xff", b"ID:AMQP_UUID:\n"])
def test_bytes_of_an_envelope_that_are_not_printable_stay_bytes(data):
    assert identifier_from_envelope(data) == data

"""The parts Properties and UserProperties."""

from decimal import Decimal

import pytest

from heliograph.flow.errors import FormatProblem
from heliograph.flow.formats.envelope import Envelope
from heliograph.flow.formats.message_properties import (
    USER_PROPERTIES,
    MessageProperties,
    properties_to_envelope,
    put,
    user_properties,
    value_of,
)
from heliograph.flow.tree import Element, Part, Text


def properties(envelope: Envelope, *, transactional: bool = False, text: Text = Text()) -> Part:  # noqa: B008
    return Part(MessageProperties(transactional), envelope, text)


def test_properties_are_those_of_the_envelope_and_of_how_the_body_is_read() -> None:
    envelope = Envelope(b"", priority=4, persistent=True, topic="a/b", correlation_id=b"c")
    part = properties(envelope, transactional=True, text=Text(message_set="m", ccsid=819))
    found = {child.name: child.value for child in part.children}
    expected = {"Priority": 4, "Persistence": True, "Topic": "a/b", "ReplyIdentifier": b"c", "Transactional": True}
    assert expected.items() <= found.items()
    assert (found["MessageSet"], found["CodedCharSetId"], found["CreationTime"]) == ("m", 819, None)


def test_changed_properties_go_to_the_envelope() -> None:
    part = properties(Envelope(b"", priority=4, topic="old"))
    put(part, "Priority", 9)
    put(part, "Topic", None)
    envelope = Envelope(b"")
    properties_to_envelope(part, envelope)
    assert (envelope.priority, envelope.topic) == (9, "")


def test_a_property_of_another_type_is_refused() -> None:
    part = properties(Envelope(b""))
    put(part, "Priority", "high")
    with pytest.raises(FormatProblem, match="field Priority: expected int, found 'high'"):
        properties_to_envelope(part, Envelope(b""))


def test_properties_have_no_bytes() -> None:
    assert properties(Envelope(b"body")).bytes() == b""
    assert MessageProperties().write(properties(Envelope(b""))) == b""


def test_properties_of_the_application_are_fields_by_name() -> None:
    part = Part(USER_PROPERTIES, {"colour": "red", "weight": Decimal("1.5")}, Text())  # type: ignore[arg-type]
    assert user_properties(part) == {"colour": "red", "weight": Decimal("1.5")}
    part.append(Element("size", 3))
    put(part, "colour", None)
    assert user_properties(part) == {"weight": Decimal("1.5"), "size": 3}


def test_a_field_that_is_not_there_is_null() -> None:
    assert value_of(None, "a") is None
    assert value_of(Element("e"), "a") is None

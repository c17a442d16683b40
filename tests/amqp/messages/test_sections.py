"""Sections and fields stand where the standard says."""

from heliograph.amqp.messages import sections
from heliograph.amqp.messages.message import Data, Message, encode_message


def test_the_descriptors_are_those_of_the_standard():
    names = ["HEADER", "DELIVERY_ANNOTATIONS", "MESSAGE_ANNOTATIONS", "PROPERTIES", "APPLICATION_PROPERTIES"]
    names += ["DATA", "SEQUENCE", "VALUE", "FOOTER"]
    assert [getattr(sections, name) for name in names] == list(range(0x70, 0x79))
    assert [getattr(sections, f"{name}_START") for name in names] == [
        bytes((0, 0x53, code)) for code in range(0x70, 0x79)
    ]


def test_a_section_begins_with_its_start():
    assert encode_message(Message(Data(b""), durable=True)).startswith(sections.HEADER_START)


def test_each_field_of_the_properties_has_the_position_of_its_name():
    positions = [getattr(sections, name.upper()) for name in sections.PROPERTY_NAMES]
    assert positions == list(range(13))


def test_each_field_of_the_header_has_the_position_of_its_name():
    positions = [getattr(sections, field.name.upper()) for field in sections.Header.WIRE]
    assert positions == list(range(5))
    assert sections.HEADER_DEFAULTS == (False, 4, None, False, 0)

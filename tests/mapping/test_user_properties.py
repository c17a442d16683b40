"""Fields that MQTT has no place for travel as user properties, and come back."""

import pytest

from heliograph.amqp.codec.values import Symbol, Timestamp, UInt, ULong
from heliograph.amqp.messages import sections
from heliograph.mapping import user_properties
from heliograph.mapping.user_properties import Sections, fields_as_users, fields_from_users


def fields(**named):
    return [named.get(name) for name in sections.PROPERTY_NAMES]


FULL = fields(
    message_id=ULong(5),
    subject="s",
    content_encoding=Symbol("gzip"),
    creation_time=Timestamp(17),
    group_id="g",
    group_sequence=UInt(4),
    reply_to_group_id="r",
)


def test_fields_come_back_as_they_were():
    users = fields_as_users(Sections(7, FULL, {}, {}))
    back = fields()
    assert fields_from_users(users, back) == (7, {})
    assert back == FULL


def test_the_user_goes_one_way_only():
    users = fields_as_users(Sections(4, fields(user_id=b"anna"), {}, {}))
    assert users == [("amqp.user_id", "anna")]
    back = fields()
    assert fields_from_users(users, back) == (4, {"amqp.user_id": "anna"})
    assert back == fields()


@pytest.mark.parametrize(
    "pair",
    [
        ("amqp.priority", "high"),
        ("amqp.priority", "256"),
        ("amqp.group_sequence", "-1"),
        ("amqp.creation_time", "017"),
        ("amqp.creation_time", "9" * 30),
        ("amqp.content_encoding", "ä"),
        ("amqp.to", "q"),
    ],
)
def test_what_is_not_written_as_it_would_be_for_the_field_is_the_applications(pair):
    assert fields_from_users([pair], fields()) == (4, dict([pair]))


def test_of_several_with_one_name_the_first_counts():
    assert fields_from_users([("a", "1"), ("a", "2")], fields()) == (4, {"a": "1"})


def test_the_names_are_those_that_selectors_know():
    from heliograph.broker.queues.selectors.compiling import FIELDS

    assert FIELDS.keys() >= user_properties.RESERVED

"""Publications of MQTT as messages of AMQP."""

import pytest

from heliograph.amqp.messages.message import Data, Value
from mapping.spans import NOW, WALL, to_amqp


class TestMqttToAmqp:
    def test_the_payload_is_a_body_of_bytes(self):
        assert to_amqp(b"\x00\xff").body == Data(b"\x00\xff")

    def test_a_long_payload_is_too(self):
        assert to_amqp(b"x" * 70_000).body == Data(b"x" * 70_000)

    def test_a_payload_that_says_it_is_text_is_a_string(self):
        assert to_amqp("grüße".encode(), payload_format_indicator=1).body == Value("grüße")
        assert to_amqp(b"x" * 300, payload_format_indicator=1).body == Value("x" * 300)

    def test_a_payload_that_is_no_text_though_it_says_so_is_bytes(self):
        assert to_amqp(b"\xff", payload_format_indicator=1).body == Data(b"\xff")

    @pytest.mark.parametrize(("qos", "durable"), [(0, False), (1, True), (2, True)])
    def test_qos_decides_whether_it_is_persistent(self, qos, durable):
        assert to_amqp(qos=qos).durable is durable

    def test_the_topic_is_where_it_was_sent_to(self):
        found = to_amqp(topic="räume/1".encode())
        assert found.to == "topic://räume/1"
        assert found.message_annotations["x-opt-jms-dest"] == 1

    def test_the_time_of_arrival_is_when_it_was_created(self):
        assert to_amqp().creation_time == WALL

    def test_expiry_is_a_life_and_an_end(self):
        found = to_amqp(expires=NOW + 90)
        assert found.ttl == 90_000
        assert found.absolute_expiry_time == WALL + 90_000

    def test_a_life_longer_than_amqp_can_tell_still_has_its_end(self):
        found = to_amqp(expires=NOW + 5_000_000)
        assert found.ttl == 2**32 - 1
        assert found.absolute_expiry_time == WALL + 5_000_000_000

    def test_without_expiry_there_is_neither(self):
        assert (to_amqp().ttl, to_amqp().absolute_expiry_time) == (None, None)

    def test_the_retain_flag_is_an_annotation(self):
        assert to_amqp(retain=True).message_annotations["x-opt-retain-message"] is True
        assert "x-opt-retain-message" not in to_amqp().message_annotations

    def test_the_content_type_stays(self):
        assert to_amqp(content_type="text/plain").content_type == "text/plain"

    def test_the_response_topic_is_where_answers_go(self):
        found = to_amqp(response_topic="answers/7")
        assert found.reply_to == "topic://answers/7"
        assert found.message_annotations["x-opt-jms-reply-to"] == 1

    def test_readable_correlation_data_is_a_string_and_other_data_is_bytes(self):
        assert to_amqp(correlation_data=b"order 7").correlation_id == "order 7"
        assert to_amqp(correlation_data=b"\xff\x00").correlation_id == b"\xff\x00"

    def test_user_properties_are_application_properties(self):
        found = to_amqp(user_property=[("colour", "red"), ("n", "5")])
        assert found.application_properties == {"colour": "red", "n": "5"}

    def test_of_repeated_user_properties_applications_see_the_first(self):
        found = to_amqp(user_property=[("a", "1"), ("a", "2")])
        assert found.application_properties == {"a": "1"}

    def test_user_properties_can_name_fields_of_amqp(self):
        found = to_amqp(
            user_property=[
                ("amqp.message_id", "ID:AMQP_ULONG:5"),
                ("amqp.subject", "s"),
                ("amqp.creation_time", "17"),
                ("amqp.group_id", "g"),
                ("amqp.group_sequence", "4"),
                ("amqp.priority", "9"),
            ]
        )
        assert (found.message_id, found.subject, found.creation_time) == (5, "s", 17)
        assert (found.group_id, found.group_sequence, found.priority) == ("g", 4, 9)
        assert found.application_properties is None

    @pytest.mark.parametrize(
        "pair", [("amqp.priority", "high"), ("amqp.priority", "256"), ("amqp.group_sequence", "-1")]
    )
    def test_what_makes_no_sense_as_a_field_stays_a_property(self, pair):
        assert to_amqp(user_property=[pair]).application_properties == dict([pair])

    def test_nobody_becomes_another_user_by_saying_so(self):
        assert to_amqp(user_property=[("amqp.user_id", "root")]).user_id is None

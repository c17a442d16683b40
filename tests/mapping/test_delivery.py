"""Where answers go, and how safely and how long messages are kept, in MQTT and AMQP."""

import pytest

from heliograph.amqp.messages import jms_kinds
from heliograph.mapping.delivery import is_durable, life_left, qos_of, reply_to, response_topic

WALL = 1_700_000_000_000


@pytest.mark.parametrize(("qos", "durable"), [(0, False), (1, True), (2, True)])
def test_qos_1_and_2_are_durable(qos, durable):
    assert is_durable(qos) is durable


@pytest.mark.parametrize(("durable", "qos"), [(False, 0), (True, 1)])
def test_what_is_durable_has_qos_1(durable, qos):
    assert qos_of(durable) == qos


@pytest.mark.parametrize(
    ("ttl", "expires", "left"),
    [(0, 0, None), (5, 0, 5), (0, WALL + 7, 7), (5, WALL + 7, 5), (9, WALL + 7, 7), (0, WALL, 0), (5, WALL - 1, -1)],
)
def test_the_sooner_end_counts(ttl, expires, left):
    assert life_left(ttl, expires, WALL) == left


@pytest.mark.parametrize(
    ("address", "kind", "topic"),
    [("topic://answers", None, "answers"), ("answers", jms_kinds.TOPIC, "answers"), ("answers", None, "answers")],
)
def test_a_topic_is_a_response_topic(address, kind, topic):
    assert response_topic(address, kind) == (topic, address)


@pytest.mark.parametrize(
    ("address", "kind", "said"),
    [
        ("queue://q", None, "queue://q"),
        ("q", jms_kinds.QUEUE, "queue://q"),
        ("q", jms_kinds.TEMPORARY_QUEUE, "queue://q"),
        ("a/#", jms_kinds.TOPIC, "a/#"),
        ("", None, ""),
    ],
)
def test_a_queue_and_what_is_no_topic_name_is_none(address, kind, said):
    assert response_topic(address, kind) == (None, said)


def test_a_response_topic_comes_back():
    assert response_topic(reply_to("answers/7"), None)[0] == "answers/7"

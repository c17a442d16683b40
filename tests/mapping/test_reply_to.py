"""Response topics and addresses for replies."""

import pytest

from heliograph.amqp.messages import jms_kinds
from heliograph.mapping.reply_to import reply_to, response_topic


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

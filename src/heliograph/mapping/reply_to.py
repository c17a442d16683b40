"""Where answers go: the response topic of MQTT, and the reply-to address of AMQP."""

from typing import Any

from heliograph.amqp.messages import jms_kinds
from heliograph.mapping.addresses import QUEUE_PREFIX, TOPIC_PREFIX
from heliograph.mqtt import ProtocolError, check_topic_name

_QUEUES = (jms_kinds.QUEUE, jms_kinds.TEMPORARY_QUEUE)


def response_topic(address: str, kind: Any) -> tuple[str | None, str]:
    """The response topic that stands for an address, or None if it is no topic; and the address, with what it is.

    `kind` is what the annotation of JMS says of it, if there is one.
    """
    if kind in _QUEUES and not address.startswith(QUEUE_PREFIX):
        address = QUEUE_PREFIX + address
    topic = address.removeprefix(TOPIC_PREFIX)
    try:
        check_topic_name(topic)
    except ProtocolError:
        return None, address
    return None if address.startswith(QUEUE_PREFIX) else topic, address


def reply_to(topic: str) -> str:
    """The address that stands for a response topic."""
    return TOPIC_PREFIX + topic

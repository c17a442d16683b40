"""Addresses of queues and topics, as messages have them."""

from typing import Final

QUEUE_PREFIX: Final = "queue://"
TOPIC_PREFIX: Final = "topic://"
"""Clients learn of both when they connect; JMS clients then put them before all names."""

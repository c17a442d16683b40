"""What the address on a link, or in a message, stands for."""

from collections.abc import Collection
from enum import Enum, auto
from typing import NamedTuple

from heliograph.broker.errors import InvalidLink
from heliograph.mapping import QUEUE_PREFIX, TOPIC_PREFIX

MANAGEMENT = "$management"
TEMPORARY_TOPICS = "$temporary/"
"""What the names of temporary topics begin with: no wildcard subscription sees them."""

QUEUE_CAPABILITIES = frozenset({"queue", "temporary-queue"})
TOPIC_CAPABILITIES = frozenset({"topic", "temporary-topic"})


class AddressKind(Enum):
    """What is at an address."""

    QUEUE = auto()
    TOPIC = auto()
    MANAGEMENT = auto()
    EITHER = auto()
    """A queue if there is one of that name."""


class Address(NamedTuple):
    """Where messages go or come from."""

    kind: AddressKind
    name: str


def read_address(address: object, capabilities: Collection[str] = ()) -> Address:
    """What an address stands for: capabilities decide, then the prefix. A Problem if it is no string."""
    if not isinstance(address, str):
        raise InvalidLink(f"expected a string as address, found {type(address).__name__}")
    if address.removeprefix(QUEUE_PREFIX) == MANAGEMENT:  # JMS clients know of nothing but queues and topics
        return Address(AddressKind.MANAGEMENT, MANAGEMENT)
    kind = AddressKind.EITHER
    if address.startswith(QUEUE_PREFIX):
        kind, address = AddressKind.QUEUE, address.removeprefix(QUEUE_PREFIX)
    elif address.startswith(TOPIC_PREFIX):
        kind, address = AddressKind.TOPIC, address.removeprefix(TOPIC_PREFIX)
    if not QUEUE_CAPABILITIES.isdisjoint(capabilities):
        kind = AddressKind.QUEUE
    elif not TOPIC_CAPABILITIES.isdisjoint(capabilities):
        kind = AddressKind.TOPIC
    if kind is AddressKind.EITHER and address.startswith(TEMPORARY_TOPICS):
        kind = AddressKind.TOPIC
    return Address(kind, address)

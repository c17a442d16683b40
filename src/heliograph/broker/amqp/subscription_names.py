"""Which subscription a link is for: JMS clients say it with the link's name and the capabilities of its source."""

import re
from collections.abc import Collection
from typing import NamedTuple

from heliograph.broker.amqp.states import Departure
from heliograph.broker.broker import Broker
from heliograph.broker.queues.queue import Queue

# A subscription can have several links, whose names must differ; this is what Qpid JMS makes them differ by.
_SUFFIX = re.compile(r"\|(global-volatile\d*|global\d*|volatile\d*|\d+)\Z")


class SubscriptionName(NamedTuple):
    """A subscription that several links can be for, one after another or at once."""

    owner: str
    """The container whose subscription it is; empty for one that all containers share."""
    name: str
    durable: bool
    shared: bool

    @property
    def queue_name(self) -> str:
        """The name of the queue behind the subscription. No two subscriptions have the same.

        A durable one has the same whether it is shared or not, because JMS gives both kinds one space of names.
        """
        life = "durable" if self.durable else "volatile"
        return f"$subscription/{life}/{_plain(self.owner)}/{_plain(self.name)}"


class NamedSubscription:
    """What a link is for, if it is one that several links can be for."""

    __slots__ = ("_broker", "_name")

    def __init__(self, broker: Broker, name: SubscriptionName) -> None:
        self._broker = broker
        self._name = name

    def left(self, queue: Queue, how: Departure) -> bool:
        """A link is no more; whether that has changed something which must be safe before the client is told."""
        if queue.deleted or len(queue.consumers) or (self._name.durable and how is not Departure.CLOSED):
            return False
        self._broker.queues.delete(queue.name)
        return self._name.durable


def subscription_name(
    link_name: str, container_id: str, capabilities: Collection[str], *, durable: bool
) -> SubscriptionName | None:
    """The subscription that a link with this name wants; None if it is one that lives and dies with the link."""
    shared = "shared" in capabilities
    if not shared and not durable:
        return None
    if not shared:
        return SubscriptionName(container_id, link_name, durable, shared)
    name, suffix = _split(link_name)
    owner = "" if "global" in capabilities or suffix.startswith("global") else container_id
    return SubscriptionName(owner, name, durable, shared)


def name_to_forget(link_name: str, container_id: str) -> SubscriptionName:
    """The durable subscription that a link without a source is for: clients attach one to end the subscription."""
    name, suffix = _split(link_name)
    if suffix.startswith("global"):
        return SubscriptionName("", name, durable=True, shared=True)
    return SubscriptionName(container_id, link_name, durable=True, shared=False)


def _split(link_name: str) -> tuple[str, str]:
    found = _SUFFIX.search(link_name)
    return (link_name[: found.start()], found[1]) if found else (link_name, "")


def _plain(text: str) -> str:
    """The text in a form that has no slash in it and can be turned back."""
    return text.replace("%", "%25").replace("/", "%2F")

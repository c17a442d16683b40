"""Deliveries of a link that are not settled yet: the part of a consumer that two threads share."""

from collections import deque

from heliograph.amqp import Delivery, DeliveryState, Modified, Receiver

FAILED = Modified(delivery_failed=True)
USELESS_HERE = Modified(delivery_failed=True, undeliverable_here=True)


class Inbox:
    """The deliveries of one attachment of a link. After a reconnection there is a new inbox; a message refers to the
    inbox it came from, so a late acknowledgement has no effect.

    The queues are safe to use from two threads: the application takes from `ready`, and the core empties the others.
    """

    __slots__ = ("again", "failed", "link", "ready", "taken", "useless")

    def __init__(self, link: Receiver | None) -> None:
        self.link = link
        self.ready: deque[Delivery] = deque()
        self.taken: deque[Delivery] = deque()
        """What the application has, and the core does not know it yet."""
        self.failed: deque[Delivery] = deque()
        """What a listener raised an exception for."""
        self.useless: deque[Delivery] = deque()
        """What was never shown to the application, because it had expired or could not be read."""
        self.again: dict[int, int] = {}
        """How often a delivery was given out before, by `recover`."""


def settle(inbox: Inbox, deliveries: list[Delivery], state: DeliveryState) -> None:
    """Settle deliveries, in as few ranges as possible."""
    link = inbox.link
    if link is None or not deliveries or deliveries[0].settled:
        return
    first = last = deliveries[0].number
    for delivery in deliveries:
        if delivery.number > last + 1 or delivery.number < first:
            link.settle(first, last, state)
            first = delivery.number
        last = delivery.number
    link.settle(first, last, state)


def begun(inbox: Inbox, deliveries: list[Delivery]) -> None:
    """Report that the application has received these: if it crashes now, only these count as failed deliveries."""
    if inbox.link is not None:
        inbox.link.begun(deliveries[0].number, deliveries[-1].number)


def take_all(queue: deque[Delivery]) -> list[Delivery]:
    """Empty a queue that another thread may be filling."""
    return [queue.popleft() for _ in range(len(queue))]

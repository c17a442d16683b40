"""Messages for very many receivers: they go to some of them at a time, and others are served in between.

One publication after the other, so that each receiver gets them in their order. Whoever published one is not read from
until it has been given to all, or messages would pile up here; and is answered then, when all of it is safe.
"""

from collections import deque
from collections.abc import Generator
from typing import TYPE_CHECKING

from heliograph.broker.core.outlet import Outlet
from heliograph.broker.core.published import Published
from heliograph.broker.core.slices import ENOUGH, Steps
from heliograph.broker.core.span import Span
from heliograph.broker.mqtt.subscribing import send_retained_first
from heliograph.broker.routing.bindings import Binding
from heliograph.broker.sessions.session import Session
from heliograph.broker.sessions.subscription import ShareGroup, Subscription
from heliograph.broker.storage.streams import Stream
from heliograph.mqtt import Reason

if TYPE_CHECKING:
    from collections.abc import Iterator

    from heliograph.broker.broker import Broker
    from heliograph.broker.delivery.sending import Rendered
    from heliograph.broker.routing.routes import Receiver, Route

_AT_ONCE = 200
WORTH_COPYING = 64 << 10
"""Bytes of a message that are stored anew for each part of its receivers. One that has more goes to all in one go."""


class WideDelivery:
    """`broker.wide`."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self._waiting: deque[tuple[Steps, Outlet | None]] = deque()

    def begin(self, steps: Steps) -> None:
        """Do this behind all that was begun before, on account of the client that is being served."""
        self._waiting.append((steps, self._broker.defects.serving))
        if not self._broker.slices.is_working(self):
            self._broker.slices.begin(self, self._one_by_one(), lambda: None)

    def _one_by_one(self) -> Steps:
        defects = self._broker.defects
        while self._waiting:
            steps, outlet = self._waiting.popleft()
            try:
                defects.serving = outlet
                for step in steps:
                    yield step
                    defects.serving = outlet
            except Exception:
                defects.note("a message for very many", outlet)

    # Subscriptions that get messages from memory

    def deliver(self, span: Span, receivers: tuple[Subscription, ...], publisher: Session | None) -> None:
        """Give a span to all of these, by and by."""
        outlet = self._broker.defects.serving
        if outlet is not None:
            outlet.stop_reading()
        self.begin(self._deliver(span, receivers, publisher, outlet))

    def _deliver(
        self, span: Span, receivers: tuple[Subscription, ...], publisher: Session | None, outlet: Outlet | None
    ) -> Steps:
        rendered: Rendered = {}
        try:
            for at in range(0, len(receivers), _AT_ONCE):
                for subscription in receivers[at : at + _AT_ONCE]:
                    if _is_there(self._broker, subscription) and not (
                        subscription.no_local and subscription.session is publisher
                    ):
                        self._broker.delivery.memory.offer(subscription, span, rendered)
                yield ENOUGH
        finally:
            if outlet is not None and all(other is not outlet for _, other in self._waiting):
                outlet.go_on_reading()


def in_parts(
    broker: "Broker", span: Span, publisher: Session | None, route: "Route"
) -> Generator[bool | None, None, Published]:
    """Publish a span to all receivers of a wide route, part by part."""
    send_retained_first(broker, span.topic, route)
    answers: list[Published] = []
    some = span
    for part in parts_there(broker, route, span.stride):
        answers.append(broker.publish(some, publisher, part))
        yield ENOUGH
        some = span.for_others()
    taken = [one.taken for one in answers if one.reason is Reason.SUCCESS]
    return Published(
        Reason.SUCCESS if taken else answers[0].reason,
        max(taken) if taken else answers[0].taken,
        max([one.stored for one in answers]),
        any(one.put for one in answers),
    )


def parts_there(broker: "Broker", route: "Route", size: int) -> "Iterator[Route]":
    """The parts of a route for a message of this size, less the receivers that have gone since it was found."""
    generation = broker.routes.generation
    for part in route.parts() if route.wide and size <= WORTH_COPYING else (route,):
        if broker.routes.generation == generation:
            yield part
        else:
            yield type(part)(tuple([one for one in part.receivers if _is_there(broker, one)]))


def _is_there(broker: "Broker", receiver: "Receiver") -> bool:
    match receiver:
        case Subscription():
            return receiver.session.subscriptions.get(receiver.filter) is receiver
        case ShareGroup():
            return broker.groups.get((receiver.name, receiver.filter)) is receiver
        case Stream():
            return broker.store is not None and broker.store.streams.by_name.get(receiver.name) is receiver
        case Binding():
            return not receiver.queue.deleted and receiver in broker.bindings.of(receiver.queue)

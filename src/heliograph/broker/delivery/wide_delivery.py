"""Delivery to very many receivers: in slices, so that other clients are served in between.

Publications are delivered one after the other, so that each receiver gets them in order. The server stops reading from
a publisher until its message is delivered to all: otherwise messages would pile up here without limit. The publisher
is answered then, when all of it is safe.
"""

from collections import deque
from collections.abc import Callable

from heliograph.broker.core.outlet import Outlet
from heliograph.broker.core.services import Services
from heliograph.broker.core.slices import ENOUGH, Steps
from heliograph.broker.core.span import Span
from heliograph.broker.delivery.sending import Rendered
from heliograph.broker.sessions.session import Session, Subscription

Offer = Callable[[Subscription, Span, Rendered], object]
"""Delivers a span to one subscription."""

_AT_ONCE = 200


class WideDelivery:
    """A queue of deliveries that take several turns (`broker.wide`)."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._waiting: deque[tuple[Steps, Outlet | None]] = deque()

    def begin(self, steps: Steps) -> None:
        """Do these steps after all that were begun before.

        Defects are blamed on the client that is being served right now.
        """
        self._waiting.append((steps, self._services.defects.serving))
        if not self._services.slices.is_working(self):
            self._services.slices.begin(self, self._one_by_one(), lambda: None)

    def _one_by_one(self) -> Steps:
        defects = self._services.defects
        while self._waiting:
            steps, outlet = self._waiting.popleft()
            try:
                defects.serving = outlet
                for step in steps:
                    yield step
                    defects.serving = outlet
            except Exception:
                defects.note("a message for very many", outlet)

    # Subscriptions that get messages from memory.

    def deliver(self, span: Span, receivers: tuple[Subscription, ...], publisher: Session | None, offer: Offer) -> None:
        """Deliver a span to all of these subscriptions with `offer`, in slices."""
        outlet = self._services.defects.serving
        if outlet is not None:
            outlet.stop_reading()
        self.begin(self._deliver(span, receivers, publisher, offer, outlet))

    def _deliver(
        self,
        span: Span,
        receivers: tuple[Subscription, ...],
        publisher: Session | None,
        offer: Offer,
        outlet: Outlet | None,
    ) -> Steps:
        rendered: Rendered = {}
        try:
            for at in range(0, len(receivers), _AT_ONCE):
                for subscription in receivers[at : at + _AT_ONCE]:
                    # It may have been unsubscribed in a turn in between.
                    if subscription.is_there and not (subscription.no_local and subscription.session is publisher):
                        offer(subscription, span, rendered)
                yield ENOUGH
        finally:
            # Another message of the same publisher may be queued behind this one.
            if outlet is not None and all(other is not outlet for _, other in self._waiting):
                outlet.go_on_reading()

"""Messages for very many subscriptions: they go to some hundreds of them at a time, and others are served in between.

One message after the other, so that each receiver gets them in their order. Whoever published one is not read from
until it has been given to all, or messages would pile up here.
"""

from collections import deque
from typing import TYPE_CHECKING

from heliograph.broker.outlet import Outlet
from heliograph.broker.session import Session
from heliograph.broker.slices import ENOUGH, Steps
from heliograph.broker.span import Span
from heliograph.broker.subscription import Subscription

if TYPE_CHECKING:
    from heliograph.broker.broker import Broker
    from heliograph.broker.delivery import Offer, Rendered

WIDE = 2000
"""Subscriptions that get a message in one turn. With more of them it takes several."""
_AT_ONCE = 200


class WideDelivery:
    """`broker.wide`."""

    def __init__(self, broker: "Broker", offer: "Offer") -> None:
        self._broker = broker
        self._offer = offer
        self._waiting: deque[tuple[Span, tuple[Subscription, ...], Session | None, Outlet | None]] = deque()

    def deliver(self, span: Span, receivers: tuple[Subscription, ...], publisher: Session | None) -> None:
        """Give a span to all of these, by and by."""
        broker = self._broker
        outlet = broker.defects.serving
        self._waiting.append((span, receivers, publisher, outlet))
        if outlet is not None:
            outlet.stop_reading()
        if not broker.slices.is_working(self):
            broker.slices.begin(self, self._steps(), lambda: None)

    def _steps(self) -> Steps:
        while self._waiting:
            span, receivers, publisher, outlet = self._waiting.popleft()
            rendered: Rendered = {}
            try:
                for at in range(0, len(receivers), _AT_ONCE):
                    for subscription in receivers[at : at + _AT_ONCE]:
                        if _is_for(subscription, publisher):
                            self._offer(self._broker, subscription, span, rendered)
                    yield ENOUGH
            finally:
                if outlet is not None and all(one[3] is not outlet for one in self._waiting):
                    outlet.go_on_reading()


def _is_for(subscription: Subscription, publisher: Session | None) -> bool:
    """Whether a subscription gets a message; it may have been unsubscribed meanwhile."""
    session = subscription.session
    return session.subscriptions.get(subscription.filter) is subscription and not (
        subscription.no_local and session is publisher
    )

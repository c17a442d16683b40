"""A session: what the server remembers of one client, connected or not."""

from heliograph.broker.limits import Limits
from heliograph.broker.outlet import NOWHERE, Outlet
from heliograph.broker.subscription import Subscription
from heliograph.broker.timers import Timer
from heliograph.broker.window import Settled, Window
from heliograph.mqtt.packets import Will

FOR_EVER = 0xFFFFFFFF


class Session:
    """Subscriptions and unfinished deliveries of one client identifier.

    Everything that most clients never use is made on first use: ten thousand idle devices are ten thousand of these.
    """

    __slots__ = (
        "away",
        "backlog",
        "client_id",
        "end_timer",
        "expiry",
        "inflight_limit",
        "number",
        "outlet",
        "received",
        "settled",
        "subscriptions",
        "will",
        "will_timer",
        "window",
    )

    def __init__(self, client_id: str, settled: Settled, number: int = 0) -> None:
        self.client_id = client_id
        self.settled = settled
        self.number = number
        """What the log calls it; 0 if it is not kept there."""
        self.outlet: Outlet = NOWHERE
        self.away: float | None = None
        """Since when the client is away; None while it is connected."""
        self.expiry = 0
        """Seconds that the session outlives its connection."""
        self.end_timer: Timer | None = None
        """Ends the session of a client that is away; None while connected or if it is kept for ever."""
        self.subscriptions: dict[str, Subscription] = {}
        self.window: Window | None = None
        self.inflight_limit = 0
        self.received: set[int] | None = None
        """QoS 2 identifiers received from the client and not yet released."""
        self.backlog: dict[Subscription, None] | None = None
        """Subscriptions with messages waiting in their buffer."""
        self.will: Will | None = None
        self.will_timer: Timer | None = None
        """Publishes the will of a client that has been away for its will delay."""

    def room(self) -> int:
        """How many QoS 1 and 2 messages can be sent now."""
        return self.window.room() if self.window else self.inflight_limit

    def own_window(self) -> Window:
        """The window, made if there was none yet."""
        if self.window is None:
            self.window = Window(self.inflight_limit, self.settled)
        return self.window

    def attach(self, outlet: Outlet, limits: Limits, receive_maximum: int) -> None:
        """The client is here, and takes `receive_maximum` unacknowledged messages at once."""
        self.outlet = outlet
        self.inflight_limit = min(limits.inflight, receive_maximum)
        if self.window is not None:
            self.window.limit = self.inflight_limit
        for subscription in self.subscriptions.values():
            subscription.outlet = outlet

    def detach(self) -> None:
        """The client has gone. QoS 0 messages that waited for it are dropped, as those that would come now."""
        self.outlet = NOWHERE
        for subscription in self.subscriptions.values():
            subscription.outlet = NOWHERE
            if subscription.buffer is not None and subscription.group is None:
                subscription.buffer.clear_late()
            if subscription.spool is not None and subscription.group is None:
                subscription.spool.rest()
        if self.window is not None:
            self.window.forget_spans()

    def note_backlog(self, subscription: Subscription) -> None:
        """Messages wait for this subscription: look there when the client can take more."""
        if self.backlog is None:
            self.backlog = {}
        self.backlog[subscription] = None

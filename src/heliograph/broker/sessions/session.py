"""Sessions, subscriptions and groups of sharers: the state of one client, connected or not.

A session owns the window (messages in flight), the memory account and the subscriptions, by filter. A subscription owns
its backlog: a buffer in memory, or a spool in the log if the session is durable. The members of a shared subscription
form a group, which has one buffer and one spool for all of them.
"""

from collections.abc import Callable
from itertools import chain

from heliograph.broker.core.limits import Limits
from heliograph.broker.core.memory import Account, Hold
from heliograph.broker.core.outlet import NOWHERE, Outlet
from heliograph.broker.core.retained import Walk
from heliograph.broker.core.slices import Steps
from heliograph.broker.core.span import Span
from heliograph.broker.core.timers import Timer
from heliograph.broker.sessions.buffer import Buffer, BufferTotals
from heliograph.broker.sessions.identifier_set import IdentifierSet
from heliograph.broker.sessions.spool import Spool
from heliograph.broker.sessions.window import Settled, Window
from heliograph.mqtt import Will, encode_varint

FOR_EVER = 0xFFFFFFFF
_COST = 3_000
"""Bytes of memory for the objects of a session, without its connection, its names and its backlog."""
_USER_PROPERTY_COST = 200
_IDENTIFIER_COST = 100
_WORTH_CHARGING = 1_000
"""Up to so many identifiers are covered by `_COST` and not charged by themselves."""


def session_cost(client_id: str, will: Will | None) -> int:
    """Bytes of memory that a session takes."""
    size = _COST + len(client_id)
    if will is not None:
        size += len(will.topic) + len(will.payload)
        for value in will.properties.values():
            if isinstance(value, list):
                size += sum([_USER_PROPERTY_COST + len(name) + len(text) for name, text in value])
            elif isinstance(value, str | bytes):
                size += len(value)
    return size


class Session:
    """Subscriptions and unfinished deliveries of one client identifier.

    Whatever most clients never use is made on first use, because a server has very many idle sessions.
    """

    __slots__ = (
        "_identifiers",
        "account",
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

    def __init__(self, client_id: str, settled: Settled, account: Account, number: int = 0) -> None:
        self.client_id = client_id
        self.account = account
        """The memory account of this client."""
        account.add(_COST + len(client_id))
        self._identifiers: Hold | None = None
        self.settled = settled
        self.number = number
        """Its number in the log; 0 for a session that is not durable."""
        self.outlet: Outlet = NOWHERE
        self.away: float | None = None
        """When the client disconnected, by the broker's clock; None while it is connected."""
        self.expiry = 0
        """Seconds that the session outlives its connection."""
        self.end_timer: Timer | None = None
        """Ends the session when it expires; None while the client is connected, or if it never expires."""
        self.subscriptions: dict[str, Subscription] = {}
        self.window: Window[Subscription] | None = None
        self.inflight_limit = 0
        self.received: IdentifierSet | None = None
        """QoS 2 identifiers received from the client and not yet released."""
        self.backlog: dict[Subscription, None] | None = None
        """Subscriptions that may have waiting messages, in the order in which they began to wait."""
        self.will: Will | None = None
        self.will_timer: Timer | None = None
        """Publishes the will at the end of the will delay."""

    def set_will(self, will: Will | None) -> None:
        """Set the message that is published if the client disconnects without DISCONNECT; None for no message."""
        if will is not self.will:
            self.account.add(session_cost(self.client_id, will) - session_cost(self.client_id, self.will))
            self.will = will

    def refund(self) -> None:
        """The session has ended: refund its memory. Messages in flight have charges of their own."""
        self.account.refund(session_cost(self.client_id, self.will))

    def has_room_for(self, received: IdentifierSet) -> bool:
        """Whether there is memory for the identifiers of QoS 2 messages that were received."""
        if received.count < _WORTH_CHARGING:
            return True
        if self._identifiers is None:
            self._identifiers = Hold(self.account)
        return self._identifiers.set(_IDENTIFIER_COST * received.count)

    def forget_received(self, packet_id: int) -> None:
        """Forget the identifier of a QoS 2 message that was not taken: when it comes again, it is no duplicate."""
        if self.received is not None:
            self.received.remove(packet_id, packet_id + 1)

    def window_room(self) -> int:
        """How many QoS 1 and 2 messages can be sent now."""
        return self.window.room() if self.window else self.inflight_limit

    def has_memory_for(self, span: Span) -> bool:
        """Whether there is memory to keep a span until it is acknowledged. One message in flight is always allowed."""
        if span.hold is not None or self.window is None or not self.window.in_flight:
            return True
        budget = self.account.budget
        if budget.used < budget.limit >> 2 and len(span.data) < budget.limit >> 3:
            return True  # fast path: less than a quarter is used, so the account has room without looking at its share
        return self.account.has_room(span.cost)

    def own_window(self) -> "Window[Subscription]":
        """The window, made if there was none yet."""
        if self.window is None:
            self.window = Window(self.inflight_limit, self.settled)
        return self.window

    def attach(self, outlet: Outlet, limits: Limits, receive_maximum: int) -> None:
        """The client has connected, and takes `receive_maximum` unacknowledged messages at once."""
        self.outlet = outlet
        self.inflight_limit = min(limits.inflight, receive_maximum)
        if self.window is not None:
            self.window.limit = self.inflight_limit
        for subscription in self.subscriptions.values():
            subscription.outlet = outlet

    def detach(self) -> list[Steps | None]:
        """The client has disconnected: drop its QoS 0 backlog, as QoS 0 messages for it are dropped from now on.

        The caller runs the steps: there may be many messages.
        """
        left: list[Steps | None] = []
        self.outlet = NOWHERE
        for subscription in self.subscriptions.values():
            subscription.outlet = NOWHERE
            if subscription.buffer is not None and subscription.group is None:
                left.append(subscription.buffer.clear_late())
            if subscription.spool is not None and subscription.group is None:
                subscription.spool.rest()
        if self.window is not None:
            self.window.forget_spans()
        return left

    def note_backlog(self, subscription: "Subscription") -> None:
        """Note that messages wait for this subscription, so that `Delivery.pump` looks there."""
        if self.backlog is None:
            self.backlog = {}
        self.backlog[subscription] = None


_SUBSCRIPTION_IDENTIFIER = b"\x0b"
_SUBSCRIPTION_COST = 1_200
"""Bytes of memory for the objects of a subscription, with its cursor, without its filter."""


def subscription_cost(topic_filter: str) -> int:
    """Bytes of memory that a subscription takes. The filter is in memory twice: as a whole, and in the topic tree."""
    return _SUBSCRIPTION_COST + 2 * len(topic_filter)


class Subscription:
    """One client's subscription to one filter."""

    __slots__ = (
        "buffer",
        "extra",
        "filter",
        "group",
        "no_local",
        "outlet",
        "qos",
        "retain_as_published",
        "retained",
        "sent",
        "session",
        "spool",
    )

    def __init__(self, session: Session, topic_filter: str, group: "ShareGroup | None" = None) -> None:
        self.session = session
        self.filter = topic_filter
        """The filter as the client wrote it, prefix of a shared subscription included."""
        self.group = group
        self.outlet: Outlet = session.outlet
        """The session's outlet; a copy, because every delivery needs it and the extra attribute hop costs time."""
        self.qos = 0
        self.no_local = False
        self.retain_as_published = False
        self.extra = b""
        """The encoded subscription identifier property, if the client gave one."""
        # Most subscriptions never buffer anything, so the buffer is made when the first message has to wait.
        self.buffer: Buffer | None = group.buffer if group else None
        self.spool: Spool | None = group.spool if group else None
        """The backlog in the log; None if the subscription is not durable."""
        self.retained: Walk | None = None
        """Retained messages that are still to be sent after SUBSCRIBE; None when all have been sent."""
        self.sent = 0

    def set_options(self, qos: int, no_local: bool, retain_as_published: bool, identifier: int | None) -> None:
        """Set the options of SUBSCRIBE; a later SUBSCRIBE to the same filter changes them."""
        self.qos = qos
        self.no_local = no_local
        self.retain_as_published = retain_as_published
        self.extra = _SUBSCRIPTION_IDENTIFIER + encode_varint(identifier) if identifier else b""

    @property
    def is_there(self) -> bool:
        """Whether the client is still subscribed; False after UNSUBSCRIBE."""
        return self.session.subscriptions.get(self.filter) is self

    def copy(self) -> "Subscription":
        """Another subscription object with the same options and spool. It is not in the session's table."""
        other = Subscription(self.session, self.filter, self.group)
        other.qos, other.no_local, other.retain_as_published = self.qos, self.no_local, self.retain_as_published
        other.extra, other.spool = self.extra, self.spool
        return other

    def own_buffer(self, held: BufferTotals) -> Buffer:
        """The buffer, made if there was none yet."""
        if self.buffer is None:
            self.buffer = Buffer(held, self.session.account)
        return self.buffer


class ShareGroup:
    """The members of one shared subscription: each message goes to one of them."""

    __slots__ = ("buffer", "filter", "members", "name", "spool", "turn")

    def __init__(self, name: str, topic_filter: str, held: BufferTotals, account: Account) -> None:
        self.name = name
        self.filter = topic_filter
        self.members: list[Subscription] = []
        self.buffer = Buffer(held, account)
        self.spool: Spool | None = None
        """The backlog in the log, once a durable session is among the members."""
        self.turn = 0
        """Index of the member before the one that is asked first next time; see `in_turn`."""

    def in_turn(self, can_take: Callable[[Subscription], object], most: int) -> list[Subscription]:
        """Members that can take messages, at most `most`, beginning with the one whose turn it is.

        The next call begins after the last of them. If all members were wanted, or fewer could take some, it begins one
        member later than this call, so that the first share does not always go to the same one.
        """
        members, found = self.members, []
        first = (self.turn + 1) % len(members)
        self.turn = first
        for at in chain(range(first, len(members)), range(first)):
            if can_take(members[at]):
                found.append(members[at])
                if len(found) == most:
                    self.turn = at if most < len(members) else first
                    break
        return found

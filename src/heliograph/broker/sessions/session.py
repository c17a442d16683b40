"""Sessions and subscriptions: what the server remembers of one client, connected or not.

A session has subscriptions, by filter. Each knows its session, for that has the window and pays for what waits. Sharers
of a filter form a group, which has the buffer and the place in the log for all of them.
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
"""Bytes of memory that a session takes with its connection, names and what is kept in it aside."""
_USER_PROPERTY_COST = 200
_IDENTIFIER_COST = 100
_WORTH_CHARGING = 1_000
"""Fewer identifiers than this are part of what a session takes."""


def session_cost(client_id: str, will: Will | None) -> int:
    """Bytes of memory that a session takes."""
    size = _COST + len(client_id)
    if will is not None:  # most have none
        size += len(will.topic) + len(will.payload)
        for value in will.properties.values():
            if isinstance(value, list):
                size += sum([_USER_PROPERTY_COST + len(name) + len(text) for name, text in value])
            elif isinstance(value, str | bytes):
                size += len(value)
    return size


class Session:
    """Subscriptions and unfinished deliveries of one client identifier.

    Everything that most clients never use is made on first use: ten thousand idle devices are ten thousand of these.
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
        """What it takes of the server's memory."""
        account.add(_COST + len(client_id))
        self._identifiers: Hold | None = None
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
        self.window: Window[Subscription] | None = None
        self.inflight_limit = 0
        self.received: IdentifierSet | None = None
        """QoS 2 identifiers received from the client and not yet released."""
        self.backlog: dict[Subscription, None] | None = None
        """Subscriptions with messages waiting in their buffer."""
        self.will: Will | None = None
        self.will_timer: Timer | None = None
        """Publishes the will of a client that has been away for its will delay."""

    def set_will(self, will: Will | None) -> None:
        """What is to be published if the client goes without a word; None for nothing."""
        if will is not self.will:
            self.account.add(session_cost(self.client_id, will) - session_cost(self.client_id, self.will))
            self.will = will

    def refund(self) -> None:
        """The session is over: what it took is free again. What is still on its way has charges of its own."""
        self.account.refund(session_cost(self.client_id, self.will))

    def has_room_for(self, received: IdentifierSet) -> bool:
        """Whether there is memory for the QoS 2 identifiers that have been received."""
        if received.count < _WORTH_CHARGING:
            return True
        if self._identifiers is None:
            self._identifiers = Hold(self.account)
        return self._identifiers.set(_IDENTIFIER_COST * received.count)

    def forget_received(self, packet_id: int) -> None:
        """A QoS 2 message has not been taken: it is new when it comes again."""
        if self.received is not None:
            self.received.remove(packet_id, packet_id + 1)

    def window_room(self) -> int:
        """How many QoS 1 and 2 messages can be sent now."""
        return self.window.room() if self.window else self.inflight_limit

    def has_memory_for(self, span: Span) -> bool:
        """Whether a span may be sent that is kept until it is acknowledged; one at a time always may."""
        if span.hold is not None or self.window is None or not self.window.in_flight:
            return True
        budget = self.account.budget
        if budget.used < budget.limit >> 2 and len(span.data) < budget.limit >> 3:
            return True  # there is room for more than that, whoever has what is taken
        return self.account.has_room(span.cost)

    def own_window(self) -> "Window[Subscription]":
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

    def detach(self) -> list[Steps | None]:
        """The client has gone. QoS 0 messages that waited for it are dropped, as those that would come now.

        There may be many of them: whoever calls this does the steps.
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
        """Messages wait for this subscription: look there when the client can take more."""
        if self.backlog is None:
            self.backlog = {}
        self.backlog[subscription] = None


_SUBSCRIPTION_IDENTIFIER = b"\x0b"
_SUBSCRIPTION_COST = 1_200
"""Bytes of memory that a subscription takes, with its place in the log and its filter aside."""


def subscription_cost(topic_filter: str) -> int:
    """Bytes of memory that a subscription takes. The filter is there twice: as a whole, and level by level."""
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
        """The session's outlet, here too because each delivery needs it."""
        self.qos = 0
        self.no_local = False
        self.retain_as_published = False
        self.extra = b""
        """The encoded subscription identifier property, if the client gave one."""
        # Most subscriptions never need to buffer anything: it is made with the first message that has to wait.
        self.buffer: Buffer | None = group.buffer if group else None
        self.spool: Spool | None = group.spool if group else None
        """What the log keeps for this subscription; None if nothing is kept there."""
        self.retained: Walk | None = None
        """What is retained and yet to be sent, while the client's SUBSCRIBE is being taken."""
        self.sent = 0

    def set_options(self, qos: int, no_local: bool, retain_as_published: bool, identifier: int | None) -> None:
        """What SUBSCRIBE asked for; a later SUBSCRIBE to the same filter changes it."""
        self.qos = qos
        self.no_local = no_local
        self.retain_as_published = retain_as_published
        self.extra = _SUBSCRIPTION_IDENTIFIER + encode_varint(identifier) if identifier else b""

    @property
    def is_there(self) -> bool:
        """Whether its client still has it."""
        return self.session.subscriptions.get(self.filter) is self

    def copy(self) -> "Subscription":
        """Another one for the same messages, with the same options."""
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
    """The sharers of one filter under one name: each message goes to one of them."""

    __slots__ = ("buffer", "filter", "members", "name", "spool", "turn")

    def __init__(self, name: str, topic_filter: str, held: BufferTotals, account: Account) -> None:
        self.name = name
        self.filter = topic_filter
        self.members: list[Subscription] = []
        self.buffer = Buffer(held, account)
        self.spool: Spool | None = None
        """What the log keeps for the group, once a durable session is among its members."""
        self.turn = 0
        """The member that was the last to get something, or the first if all have got something."""

    def in_turn(self, can_take: Callable[[Subscription], object], most: int) -> list[Subscription]:
        """Members that can take messages, at most so many, beginning with the one whose turn it is.

        The next call begins behind the last of them, or one later if that is the same.
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

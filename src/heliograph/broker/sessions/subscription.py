"""Subscriptions: who gets the messages of a topic filter, alone or as one of several sharers."""

from collections.abc import Callable
from itertools import chain
from typing import TYPE_CHECKING

from heliograph.broker.core.memory import Account
from heliograph.broker.core.outlet import Outlet
from heliograph.broker.core.retained import Walk
from heliograph.broker.sessions.buffer import Buffer, Held
from heliograph.broker.sessions.spool import Spool
from heliograph.mqtt import encode_varint

if TYPE_CHECKING:
    from heliograph.broker.sessions.session import Session

_SUBSCRIPTION_IDENTIFIER = b"\x0b"
_COST = 1_200
"""Bytes of memory that a subscription takes, with its place in the log and its filter aside."""


def subscription_cost(topic_filter: str) -> int:
    """Bytes of memory that a subscription takes. The filter is there twice: as a whole, and level by level."""
    return _COST + 2 * len(topic_filter)


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

    def __init__(self, session: "Session", topic_filter: str, group: "ShareGroup | None" = None) -> None:
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

    def copy(self) -> "Subscription":
        """Another one for the same messages, with the same options."""
        other = Subscription(self.session, self.filter, self.group)
        other.qos, other.no_local, other.retain_as_published = self.qos, self.no_local, self.retain_as_published
        other.extra, other.spool = self.extra, self.spool
        return other

    def own_buffer(self, held: Held) -> Buffer:
        """The buffer, made if there was none yet."""
        if self.buffer is None:
            self.buffer = Buffer(held, self.session.account)
        return self.buffer


class ShareGroup:
    """The sharers of one filter under one name: each message goes to one of them."""

    __slots__ = ("buffer", "filter", "members", "name", "spool", "turn")

    def __init__(self, name: str, topic_filter: str, held: Held, account: Account) -> None:
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

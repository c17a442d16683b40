"""The base of sending and receiving links: from attach to detach (AMQP part 2, section 2.6).

A link is begun by an attach of either side and exists for both when the other has answered. It ends with a detach of
each side. What is known of that is in five flags, which only ever go from false to true:

- `accepted`: our attach has gone out. Without it nothing else may be sent on the link but a refusal (attach with a null
  terminus, then detach).
- `detaching`: our detach has gone out.
- `left_by_peer`: the peer's detach has come. With both, the handle is free for another link.
- `gone`: nothing is sent or received any more, because either of these happened, or because session or connection are
  over. Calls have no effect then, since the owner may not have seen the event yet.
- `told`: the owner has had its `Detached`. It gets one, whoever detaches first, unless it was the owner itself.

The credit of a link is `credit` together with `delivery_count`, which sender and receiver count alike: what a flow
says is relative to the count that its sender had seen.
"""

from abc import ABC, abstractmethod
from typing import Any, Final, NamedTuple, Protocol

from heliograph.amqp import conditions
from heliograph.amqp.codec.performatives import (
    MAX_UINT,
    SENDER,
    Attach,
    Begin,
    Coordinator,
    DeliveryState,
    Detach,
    Error,
    Flow,
    ReceiverSettleMode,
    SenderSettleMode,
    Source,
    Target,
)
from heliograph.amqp.codec.values import Composite
from heliograph.amqp.engine.output import ConnectionOutput, EventSink
from heliograph.amqp.engine.settlement import OutgoingDispositions

DEFAULT_MAX_MESSAGE_SIZE: Final = 256 * 1024 * 1024
SERIAL_HALF: Final = MAX_UINT >> 1


def serial_rest(seen: int, allowed: int, used: int) -> int:
    """Return how many more may be sent: the peer has counted up to `seen` and allows `allowed` more, we are at `used`.

    This is the formula for link credit (AMQP part 2, section 2.6.7) and for the session window (2.5.6). The counters
    are RFC 1982 serial numbers of 32 bits, which wrap (2.8.10).
    """
    rest = (seen + allowed - used) & MAX_UINT
    # A difference of more than half the range is negative: the peer has reduced the credit below what we have sent.
    return rest if rest <= SERIAL_HALF or allowed > SERIAL_HALF else 0


class LinkSession(Protocol):
    """What links use of their session."""

    connection: ConnectionOutput
    channel: int
    remote: Begin | None
    gone: bool
    context: Any
    dispositions: OutgoingDispositions

    def write(self, performative: Composite) -> None: ...

    def write_flow(self, link: "Link | None" = None, *, echo: bool = False) -> None: ...

    def forget(self, link: "Link") -> None: ...

    def on_left(self, link: "Link") -> None: ...


class Attached(NamedTuple):
    """A link. When `link.accepted` is false, the peer began it: answer with `accept` or `refuse`, now or later.

    Else it is the answer to ours; a null source (or target) in it means that the peer refuses and `Detached` follows.
    """

    link: "Link"


class Flowed(NamedTuple):
    """`link.credit`, `link.drain` or `link.available` changed."""

    link: "Link"


class Settled(NamedTuple):
    """The peer's disposition for deliveries `first` to `last` of this link; it has forgotten them when `settled`."""

    link: "Link"
    first: int
    last: int
    state: DeliveryState | None
    settled: bool


class Detached(NamedTuple):
    """The link is gone. If the peer began this, the owner answers with `link.detach(closed)`, now or later."""

    link: "Link"
    closed: bool
    error: Error | None


LinkEvent = Attached | Flowed | Detached
"""What any link may report."""


class Link(ABC):
    """One end of a link: a `Sender` or a `Receiver`, seen from our side. Methods named `on_...` are for the engine."""

    role: bool  # SENDER or RECEIVER: what we are

    __slots__ = (
        "__weakref__",
        "accepted",
        "available",
        "context",
        "credit",
        "delivery_count",
        "detaching",
        "drain",
        "gone",
        "handle",
        "left_by_peer",
        "name",
        "rcv_settle_mode",
        "remote",
        "session",
        "snd_settle_mode",
        "source",
        "target",
        "told",
    )

    def __init__(self, session: LinkSession, name: str, handle: int) -> None:
        self.session = session
        self.name = name
        self.handle = handle  # ours
        self.source: Source | None = None  # as last said by either side: proposed, then as accepted
        self.target: Target | Coordinator | None = None
        self.snd_settle_mode = SenderSettleMode.MIXED
        self.rcv_settle_mode = ReceiverSettleMode.FIRST
        self.credit = 0  # messages that may still be sent (by us or by the peer)
        self.drain = False  # the receiver wants the credit used up
        self.available = 0  # what the sender says it has waiting
        self.delivery_count = 0  # of the sender, as the standard counts
        self.remote: Attach | None = None  # the peer's attach: its properties, capabilities and largest message
        self.accepted = False  # our attach has gone out
        self.detaching = False  # our detach has gone out
        self.gone = False  # detached by one side or the other, or its session or connection is over
        self.left_by_peer = False  # the peer's detach has come
        self.told = False  # the owner knows that it is gone
        self.context: Any = None  # for the owner

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} handle {self.handle}>"

    @property
    def properties(self) -> dict[Any, Any]:
        """What the peer's attach had as properties."""
        return (self.remote.properties if self.remote else None) or {}

    def accept(
        self,
        *,
        source: Source | None = None,
        target: Target | Coordinator | None = None,
        max_message_size: int = DEFAULT_MAX_MESSAGE_SIZE,
        snd_settle_mode: SenderSettleMode | None = None,
        rcv_settle_mode: ReceiverSettleMode | None = None,
        properties: dict[Any, Any] | None = None,
        offered_capabilities: tuple[str, ...] = (),
    ) -> None:
        """Answer a link that the peer began. What is None is echoed as the peer proposed it.

        `max_message_size` is what a receiver takes; senders ignore it.
        """
        if self.accepted or self.gone:
            return
        self.source = source or self.source
        self.target = target or self.target
        self.snd_settle_mode = self.snd_settle_mode if snd_settle_mode is None else snd_settle_mode
        self.rcv_settle_mode = self.rcv_settle_mode if rcv_settle_mode is None else rcv_settle_mode
        self.send_attach(
            max_message_size=max_message_size,
            properties=properties,
            offered_capabilities=offered_capabilities,
        )

    def refuse(self, error: Error) -> None:
        """Refuse a link that the peer began: attach with a null terminus, then detach (AMQP part 2, section 2.6.3)."""
        if self.accepted or self.gone:
            return
        self._null_terminus()
        self.send_attach()
        self.detach(closed=True, error=error)

    @abstractmethod
    def settle(self, first: int, last: int, state: DeliveryState | None = None) -> None:
        """Give deliveries `first` to `last` their outcome and forget them.

        Sender: settles what the receiver left unsettled. Receiver: settles, or (receiver settles second) tells the
        outcome and waits for the sender's `Settled`. Adjacent ranges with the same outcome become one frame at `flush`.
        """

    def detach(self, *, closed: bool = True, error: Error | None = None) -> None:
        """End the link, or answer the peer's detach. Nothing happens if this was done before."""
        if self.detaching or self.session.gone:
            return
        if not self.accepted:
            # A link that the peer began cannot be detached before it is attached: refuse it in the way of section
            # 2.6.3.
            self._null_terminus()
            self.send_attach()
        # Outcomes given before must be written before the detach: the peer would ignore them behind it.
        self.session.connection.flush()
        self.detaching = True
        self.leave()
        self.session.write(Detach(self.handle, closed, error))
        self.session.on_left(self)

    def leave(self) -> None:
        """Nothing goes in or out any more; what was unsettled or unfinished is forgotten."""
        if not self.gone:
            self.gone = True
            self.session.forget(self)

    def fail(self, condition: str, text: str, events: EventSink[LinkEvent]) -> None:
        """Detach because of what the peer did."""
        self._tell(Detached(self, True, Error(condition, text)), events)

    def send_attach(
        self,
        *,
        max_message_size: int = 0,
        properties: dict[Any, Any] | None = None,
        offered_capabilities: tuple[str, ...] = (),
        desired_capabilities: tuple[str, ...] = (),
    ) -> None:
        """Write our attach. We keep no unsettled state of links that were there before, so that map is empty."""
        self.accepted = True
        self.session.write(
            Attach(
                self.name,
                self.handle,
                self.role,
                self.snd_settle_mode,
                self.rcv_settle_mode,
                self.source,
                self.target,
                unsettled={} if self.remote and self.remote.unsettled is not None else None,
                initial_delivery_count=self.delivery_count if self.role == SENDER else None,
                max_message_size=self._largest(max_message_size),
                offered_capabilities=offered_capabilities,
                desired_capabilities=desired_capabilities,
                properties=properties,
            )
        )

    @abstractmethod
    def _largest(self, max_message_size: int) -> int:
        """What our attach says as the largest message."""

    @abstractmethod
    def _null_terminus(self) -> None:
        """Set the terminus on our side to null: the standard's form of a refusal."""

    def on_attach(self, attach: Attach, events: EventSink[LinkEvent]) -> None:
        """The peer's attach: the first, or the answer to ours."""
        self.remote = attach
        if self.gone:
            return
        self.source = attach.source
        self.target = attach.target
        self.snd_settle_mode = attach.snd_settle_mode
        self.rcv_settle_mode = attach.rcv_settle_mode
        events.append(Attached(self))

    @abstractmethod
    def on_flow(self, flow: Flow, events: EventSink[LinkEvent]) -> None:
        """The peer's flow for this link."""

    def on_detach(self, detach: Detach, events: EventSink[LinkEvent]) -> None:
        """The peer's detach: the first, or the answer to ours."""
        self.left_by_peer = True
        self.leave()
        if not self.accepted:
            self.detach(closed=detach.closed)
        elif self.detaching:
            self.session.on_left(self)
        if not self.told:
            self.told = True
            events.append(Detached(self, detach.closed, detach.error))

    def on_stolen(self, events: EventSink[LinkEvent]) -> None:
        """The peer has attached a link of this name again: link stealing (AMQP part 2, section 2.6.1)."""
        error = Error(conditions.LINK_STOLEN, f"the link {self.name!r:.80} was attached again")
        self._tell(Detached(self, False, error), events)

    def _tell(self, detached: Detached, events: EventSink[LinkEvent]) -> None:
        """Detach without a request of the owner, and report it now; the peer's answer is not reported."""
        self.told = True
        events.append(detached)
        self.detach(closed=detached.closed, error=detached.error)

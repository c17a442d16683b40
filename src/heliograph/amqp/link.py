"""What sending and receiving links have in common: from attach to detach."""

from typing import TYPE_CHECKING, Any

from heliograph.amqp.performatives import (
    Attach,
    Coordinator,
    Error,
    ReceiverSettleMode,
    SenderSettleMode,
    Source,
    Target,
)

if TYPE_CHECKING:
    from heliograph.amqp.session import Session

DEFAULT_MAX_MESSAGE_SIZE = 256 * 1024 * 1024


class Link:
    """One end of a link: a `Sender` or a `Receiver`, seen from our side."""

    role: bool  # SENDER or RECEIVER: what we are

    session: "Session"
    name: str
    handle: int  # ours
    source: Source | None  # as last said by either side: proposed, then as accepted
    target: Target | Coordinator | None
    snd_settle_mode: SenderSettleMode
    rcv_settle_mode: ReceiverSettleMode
    credit: int  # messages that may still be sent (by us or by the peer)
    drain: bool  # the receiver wants the credit used up
    available: int  # what the sender says it has waiting
    remote: Attach | None  # the peer's attach: its properties, capabilities and largest message
    accepted: bool  # our attach has gone out
    gone: bool  # detached by one side or the other, or its session or connection is over
    context: Any  # for the owner

    @property
    def properties(self) -> dict[Any, Any]:
        """What the peer's attach had as properties."""

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
        """Answer a link that the peer began. What is None is echoed as the peer proposed it."""

    def refuse(self, error: Error) -> None:
        """Answer a link that the peer began with a null terminus and a detach."""

    def settle(self, first: int, last: int, state: Any = None) -> None:
        """Give deliveries `first` to `last` their outcome and forget them.

        Sender: settles what the receiver left unsettled. Receiver: settles, or (receiver settles second) tells the
        outcome and waits for the sender's `Settled`. Adjacent ranges with the same outcome become one frame at `flush`.
        """

    def detach(self, *, closed: bool = True, error: Error | None = None) -> None:
        """End the link, or answer the peer's detach. Nothing happens if this was done before."""

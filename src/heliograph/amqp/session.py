"""A session: a window for frames each way, and links."""

from typing import TYPE_CHECKING, Any

from heliograph.amqp.link import DEFAULT_MAX_MESSAGE_SIZE, Link
from heliograph.amqp.performatives import (
    Begin,
    Coordinator,
    Error,
    ReceiverSettleMode,
    SenderSettleMode,
    Source,
    Target,
)
from heliograph.amqp.receiver import Receiver
from heliograph.amqp.sender import Sender

if TYPE_CHECKING:
    from heliograph.amqp.connection import Connection


class Session:
    """Made by `Connection.begin`, or by the peer (`Begun`)."""

    connection: "Connection"
    channel: int  # ours
    links: list[Link]  # all that are attached or being attached
    remote: Begin | None  # the peer's begin
    gone: bool  # ended by one side or the other, or the connection is over
    context: Any  # for the owner

    def attach_sender(
        self,
        name: str,
        target: Target | Coordinator,
        *,
        source: Source | None = None,
        snd_settle_mode: SenderSettleMode = SenderSettleMode.MIXED,
        rcv_settle_mode: ReceiverSettleMode = ReceiverSettleMode.FIRST,
        properties: dict[Any, Any] | None = None,
        offered_capabilities: tuple[str, ...] = (),
        desired_capabilities: tuple[str, ...] = (),
    ) -> Sender:
        """Begin a link on which we send. `Attached` is the peer's answer. `Problem` when the peer allows no more links."""

    def attach_receiver(
        self,
        name: str,
        source: Source | None,
        *,
        target: Target | None = None,
        snd_settle_mode: SenderSettleMode = SenderSettleMode.MIXED,
        rcv_settle_mode: ReceiverSettleMode = ReceiverSettleMode.FIRST,
        max_message_size: int = DEFAULT_MAX_MESSAGE_SIZE,
        properties: dict[Any, Any] | None = None,
        offered_capabilities: tuple[str, ...] = (),
        desired_capabilities: tuple[str, ...] = (),
    ) -> Receiver:
        """Begin a link on which we receive (a null source asks what is behind the name). Give credit with `flow`."""

    def end(self, error: Error | None = None) -> None:
        """End the session and all its links; `Ended` is the peer's answer."""

"""Our side of a link is the sender."""

from collections.abc import Sequence

from heliograph.amqp.link import Link
from heliograph.amqp.performatives import SENDER, DeliveryState


class Sender(Link):
    """Sends messages as far as the peer has given credit."""

    role = SENDER
    pending: int  # deliveries that wait for the session's window to open

    def send(
        self,
        payloads: Sequence[bytes],
        *,
        settled: bool = False,
        state: DeliveryState | None = None,
        message_format: int = 0,
    ) -> range:
        """Send a run of messages, not more than `credit`; their numbers come back, as `Settled` will name them.

        Large ones are split by the peer's frame size. What the session's window does not let through waits (`pending`).
        """

    def offer(self, available: int) -> None:
        """Tell the receiver how many messages are waiting for credit."""

    def drained(self) -> None:
        """There is nothing more to send: use up the credit and tell the peer."""

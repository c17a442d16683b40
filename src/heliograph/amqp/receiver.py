"""Our side of a link is the receiver."""

from heliograph.amqp.link import Link
from heliograph.amqp.performatives import RECEIVER


class Receiver(Link):
    """Takes messages as far as it has given credit."""

    role = RECEIVER
    max_message_size: int  # a larger message detaches the link

    def flow(self, credit: int, *, drain: bool = False, echo: bool = False) -> None:
        """Let the peer send `credit` messages from now on (not: more); with `drain` it uses them up or gives them back.

        When `credit` is 0 after a drain (see `Flowed`), the peer had nothing more.
        """

"""What a connection has besides its sessions: temporary destinations, and the end of durable subscriptions."""

from typing import TYPE_CHECKING

from heliograph.amqp import Described, ExpiryPolicy, Receiver, Sender, Source, Target, ULong
from heliograph.client.core.link_end import LinkEnd
from heliograph.client.core.sender import SenderEnd
from heliograph.client.core.transaction import OUTCOMES
from heliograph.client.destination import TemporaryQueue, TemporaryTopic
from heliograph.client.pending import start

if TYPE_CHECKING:
    from heliograph.client.core.session import SessionCore

_DELETE_ON_CLOSE = Described(ULong(0x2B), [])


class TemporaryLink(SenderEnd):
    """The link that keeps a temporary destination alive. Nothing is sent on it."""

    def __init__(self, session: "SessionCore", kind: type[TemporaryQueue] | type[TemporaryTopic]) -> None:
        super().__init__(session, f"a new {kind.capability}")
        self.place = kind.made("", lambda: start(session.remove(self)))

    def make_link(self) -> Sender:
        return self.session.engine.attach_sender(
            self.connection.link_name(self.place.capability),
            Target(
                expiry_policy=ExpiryPolicy.LINK_DETACH,
                dynamic=True,
                dynamic_node_properties={"lifetime-policy": _DELETE_ON_CLOSE},
                capabilities=(self.place.capability,),
            ),
            source=Source(outcomes=OUTCOMES),
        )

    def ready(self) -> None:
        """The server says what it is called; after a reconnection that is another name."""
        assert self.link is not None
        assert isinstance(self.link.target, Target)
        self.place.name = str(self.link.target.address)


class Unsubscribing(LinkEnd[Receiver]):
    """Asks for a subscription by its name alone, in order to close it."""

    def __init__(self, session: "SessionCore", name: str, link_name: str) -> None:
        super().__init__(session, f"subscription {name!r}")
        self._link_name = link_name

    def make_link(self) -> Receiver:
        return self.session.engine.attach_receiver(self._link_name, None, target=Target())

    def is_refusal(self, link: Receiver) -> bool:
        return link.remote is None or link.remote.source is None

"""The links of a session, attached again after each loss of the connection.

A link is in exactly one list: in `_arriving` while it is attached for the first time, in `_links` from then on until it
is removed. A link that waits for an answer of the server is in `_expecting`, too, so that it is told when the session
ends.
"""

from typing import Any

from heliograph.amqp import DeliveryState, Session
from heliograph.client.core.link_end import LinkEnd
from heliograph.client.core.sender import SenderEnd
from heliograph.client.core.settings import Acknowledge
from heliograph.client.core.transaction import Transaction
from heliograph.client.core.wire import Interrupted, Wire
from heliograph.client.errors import ConnectionLost, IllegalState, MessagingProblem

_SETTLED_LATER = frozenset({Acknowledge.CLIENT, Acknowledge.INDIVIDUAL, Acknowledge.TRANSACTED})
HEEDS_RECEIVED = "heliograph:received"
"""What a server offers that counts only those messages as failed which a lost client said it has received."""


class SessionLinks:
    """What producers, requests and temporary destinations use of their session."""

    def __init__(self, connection: Wire, mode: Acknowledge) -> None:
        self.connection = connection
        self.mode = mode
        self.closed = False
        self.problem: MessagingProblem | None = None
        """Why it is closed, if that was not our wish."""
        self.transaction = Transaction(self) if mode is Acknowledge.TRANSACTED else None
        self._engine: Session | None = None
        self._links: list[LinkEnd[Any]] = []
        self._arriving: list[LinkEnd[Any]] = []
        """Links that are being attached for the first time. Messages may wait for them already."""
        self._expecting: dict[LinkEnd[Any], None] = {}
        """Links, of the lists above or not, that wait for the server to answer their attach or detach."""

    @property
    def engine(self) -> Session:
        """The session on the wire."""
        if self._engine is None:
            raise self.problem or Interrupted(ConnectionLost("the connection is lost"))
        return self._engine

    def check(self) -> None:
        """Raise if the session is over."""
        if self.problem is not None:
            raise self.problem
        if self.closed:
            raise IllegalState("the session is closed")
        self.connection.check()

    async def add(self, link: LinkEnd[Any]) -> None:
        """Attach a link, and again after each loss of the connection."""
        self.check()
        self._arriving.append(link)
        try:
            await self.connection.when_connected(link.attach)
        except MessagingProblem as problem:
            if not link.closed:
                link.end(problem)
            raise
        finally:
            self._arriving.remove(link)
        self._links.append(link)

    def expects(self, link: LinkEnd[Any]) -> None:
        """A link waits for an answer. If the session ends first, the link is ended, too."""
        self._expecting[link] = None

    def expects_no_more(self, link: LinkEnd[Any]) -> None:
        """The link does not wait any more."""
        self._expecting.pop(link, None)

    async def remove(self, link: LinkEnd[Any]) -> None:
        """Detach a link, and do not attach it again."""
        if link in self._links:
            self._links.remove(link)
        await link.detach()

    @property
    def _senders(self) -> list[SenderEnd]:
        return [link for link in [*self._links, *self._arriving] if isinstance(link, SenderEnd)]

    @property
    def may_send(self) -> bool:
        """Whether messages can go out now: in a transacted session, only while there is a transaction."""
        return self.transaction is None or self.transaction.active

    def work_state(self) -> DeliveryState | None:
        """What marks messages of this session as part of its unit of work, if it has one."""
        return None if self.transaction is None else self.transaction.state()

    @property
    def reports_received(self) -> bool:
        """Whether to report received messages to the server before they are settled."""
        return self.mode in _SETTLED_LATER and HEEDS_RECEIVED in self.connection.capabilities

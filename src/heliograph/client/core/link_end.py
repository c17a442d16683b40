"""Our end of a link: attached, lost with its connection and attached again, detached.

`link` is the engine's link while there is one, and None before the first attach has been answered, after a loss
until the next one has been, and at the end. In between, `_attaching` or `_detaching` waits for the peer. A `LinkEnd` is
closed once: by us (`detach`), or by `end`, with the problem that everybody who uses it is told from then on.
"""

from typing import Any, Generic, Protocol, TypeVar

from heliograph.amqp import Delivery, Detached, Error, Link, Session
from heliograph.client.core.wire import Interrupted, Wire
from heliograph.client.errors import IllegalState, MessagingProblem, problem_from
from heliograph.client.pending import Pending

L = TypeVar("L", bound=Link)


class LinkOwner(Protocol):
    """What links use of their session."""

    connection: Wire

    @property
    def engine(self) -> Session: ...

    def expects(self, link: "LinkEnd[Any]") -> None: ...

    def expects_no_more(self, link: "LinkEnd[Any]") -> None: ...


class LinkEnd(Generic[L]):
    """Base of senders and receivers. `what` names the link in error messages."""

    def __init__(self, session: LinkOwner, what: str) -> None:
        self.session = session
        self.connection = session.connection
        self.what = what
        self.link: L | None = None
        """The link, while it is attached."""
        self.closed = False
        self.problem: MessagingProblem | None = None
        """Why it is closed, if that was not our wish."""
        self._attaching: Pending[L] | None = None
        self._detaching: Pending[None] | None = None

    # To be implemented by each kind of link.

    def make_link(self) -> L:
        """Attach to the session as it is now."""
        raise AssertionError("every kind of link says how it is attached")

    def ready(self) -> None:
        """The link is attached, for the first time or again."""

    def interrupted(self) -> None:
        """The link went with its connection and will be attached again."""
        self._forget_link()

    def ended(self, problem: MessagingProblem) -> None:
        """The peer or an error has closed the link."""

    def released(self) -> None:
        """The link is closed, for any reason: its names may be used again."""

    def pump(self) -> None:
        """Move waiting messages; called once in each turn after a `touch`."""

    def flowed(self) -> None:
        """The peer gave credit, or used up ours."""

    def transfers(self, deliveries: list[Delivery]) -> None:
        """Take received messages."""

    def settled(self, first: int, last: int, state: object, settled: bool) -> None:
        """The peer has reported the outcome of deliveries."""

    # The life of a link.

    async def attach(self) -> None:
        """Attach, and wait for the peer's answer. Raises the peer's reason if it refuses."""
        self._attaching = Pending()
        self.session.expects(self)
        try:
            link = await self.connection.make(self.make_link, self.what)
            link.context = self
            self.link = await self.connection.ask(self._attaching, self.what)
        finally:
            self._attaching = None
            self.session.expects_no_more(self)
        self.ready()

    def attached(self, link: L) -> None:
        """The peer's answer. If it made no terminus, its refusal is about to follow."""
        if self.is_refusal(link):
            return
        if self._attaching is None:
            # The answer is late: the link was closed while it was awaited.
            link.context = None
            link.detach()
        else:
            self._attaching.resolve(link)

    def is_refusal(self, link: L) -> bool:
        """Whether the answer to our attach says that there is nothing to attach to."""
        raise AssertionError("every kind of link knows what it was refused")

    def refusal(self, error: Error | None) -> MessagingProblem:
        """The problem that the peer's refusal is."""
        return problem_from(error, self.what)

    async def detach(self, *, closed: bool = True) -> None:
        """End the link from our side, and wait until the peer has, too."""
        self.closed = True
        if self.link is None:
            return
        self._detaching = Pending()
        self.link.detach(closed=closed)
        self.connection.driver.wake()
        self.session.expects(self)
        try:
            await self.connection.ask(self._detaching, f"closing {self.what}")
        except Interrupted:  # a link that was lost with its connection counts as closed
            pass
        finally:
            self.session.expects_no_more(self)

    def detached(self, event: Detached) -> None:
        """The peer ended the link, on its own or as an answer."""
        event.link.detach(closed=event.closed)
        error = event.error
        self._forget_link()
        if self._detaching is not None:
            self._detaching.resolve(None)
        elif self._attaching is not None:
            self._attaching.fail(self.refusal(error))
        else:
            self.end(problem_from(error, self.what))

    def end(self, problem: MessagingProblem) -> None:
        """Close the link because of a problem, which is raised to all who wait."""
        if self._detaching is not None:
            self._detaching.resolve(None)
        if self._attaching is not None:
            self._attaching.fail(problem)
        if not self.closed:
            self._forget_link()
            self.closed = True
            self.problem = problem
            self.ended(problem)
            self.released()

    def check(self) -> None:
        """Raise if this is closed."""
        if self.problem is not None:
            raise self.problem
        if self.closed:
            raise IllegalState(f"{self.what} is closed")

    def _forget_link(self) -> None:
        if self.link is not None:
            self.link.context = None
            self.link = None

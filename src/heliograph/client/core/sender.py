"""The sending end of a link: messages wait for credit, leave in runs, and are kept until the peer settles them."""

from collections import deque
from collections.abc import Iterable
from itertools import groupby
from typing import Any, Protocol, Self

from heliograph.amqp import DeliveryState, Sender
from heliograph.client.core.link_end import LinkEnd, LinkOwner
from heliograph.client.errors import MessagingProblem
from heliograph.client.pending import Pending, all_of


class Sending:
    """A message on its way. `done` has the peer's outcome when there is one; None means that no outcome is expected."""

    __slots__ = ("done", "payload")

    def __init__(self, payload: bytes) -> None:
        self.payload = payload
        self.done: Pending[Any] = Pending()

    @property
    def whole(self) -> Pending[Any]:
        """Done with the message: it travels alone."""
        return self.done


class Run:
    """Messages that were sent together. `done` comes when the peer has answered for each; it never fails."""

    __slots__ = ("_left", "done", "refused")

    def __init__(self, count: int) -> None:
        self._left = count
        self.done: Pending[None] = Pending()
        self.refused: dict[int, BaseException] = {}
        """Why messages did not arrive, by their index in the run."""
        if not count:
            self.done.resolve(None)

    def settled(self, count: int = 1) -> None:
        """The peer has settled `count` more."""
        self._left -= count
        if not self._left:
            self.done.resolve(None)


class SendingInRun:
    """One message of a run. It is its own `done`: a separate `Pending` for each message would cost more than all the
    rest."""

    __slots__ = ("_index", "payload", "run")

    def __init__(self, payload: bytes, run: Run, destination: int) -> None:
        self.payload = payload
        self.run = run
        self._index = destination

    @property
    def done(self) -> Self:
        """Where the outcome is set."""
        return self

    @property
    def whole(self) -> Pending[None]:
        """Done with all of the run."""
        return self.run.done

    def resolve(self, _: object) -> None:
        """It was accepted, or the outcome does not matter."""
        self.run.settled()

    def fail(self, error: BaseException) -> None:
        """It was not accepted."""
        self.run.refused[self._index] = error
        self.run.settled()


AnySending = Sending | SendingInRun


def arrived(sendings: Iterable[AnySending]) -> None:
    """Mark messages as accepted; those of a run together."""
    for run, several in groupby(sendings, key=_run_of):
        if run is not None:
            run.settled(len(list(several)))
        else:
            for sending in several:
                sending.done.resolve(None)


def _run_of(sending: AnySending) -> Run | None:
    return sending.run if type(sending) is SendingInRun else None


class SendingSession(LinkOwner, Protocol):
    """What links that send use of their session."""

    @property
    def may_send(self) -> bool: ...

    def work_state(self) -> DeliveryState | None: ...


class SenderEnd(LinkEnd[Sender]):
    """A link that we send on. Subclasses say how it is attached and what an outcome means."""

    session: SendingSession
    presettled = False

    def __init__(self, session: SendingSession, what: str) -> None:
        super().__init__(session, what)
        self._waiting: deque[AnySending] = deque()
        self._unsettled: dict[int, AnySending] = {}

    def is_refusal(self, link: Sender) -> bool:
        return link.remote is None or link.remote.target is None

    def put(self, sending: AnySending) -> None:
        """Send as soon as there is credit. Messages put in one turn are written as one run."""
        self._waiting.append(sending)
        self.connection.touch(self)

    def put_run(self, run: Iterable[SendingInRun]) -> None:
        """Send all of these as soon as there is credit."""
        self._waiting.extend(run)
        self.connection.touch(self)

    @property
    def outstanding(self) -> list[AnySending]:
        """What is not settled yet, in the order of `put`."""
        return [*self._unsettled.values(), *self._waiting]

    @property
    def may_send(self) -> bool:
        """Whether messages can go out now, if there is credit."""
        return self.session.may_send

    def pump(self) -> None:
        link, waiting = self.link, self._waiting
        if link is None or not waiting or not self.may_send:
            return
        count = min(link.credit, len(waiting))
        if count <= 0:
            return
        run = [waiting.popleft() for _ in range(count)]
        self.send_run(link, run)

    def send_run(self, link: Sender, run: list[AnySending]) -> None:
        """Hand a run, for which there is credit, to the link."""
        state = self.session.work_state()
        numbers = link.send([sending.payload for sending in run], settled=self.presettled, state=state)
        if self.presettled:
            for sending in run:
                sending.done.resolve(None)
        else:
            self._unsettled.update(zip(numbers, run, strict=True))

    def ready(self) -> None:
        self.connection.touch(self)

    def flowed(self) -> None:
        if self._waiting:
            self.connection.touch(self)

    def settled(self, first: int, last: int, state: object, settled: bool) -> None:
        take = self._unsettled.pop
        self.outcome([one for number in range(first, last + 1) if (one := take(number, None)) is not None], state)
        if not settled and self.link is not None:
            self.link.settle(first, last)

    def outcome(self, sendings: list[AnySending], state: Any) -> None:
        """Set the outcome of deliveries."""
        for sending in sendings:
            sending.done.resolve(state)

    def interrupted(self) -> None:
        """Unsettled messages may not have arrived: they are sent again, before all others, when the link is back."""
        super().interrupted()
        # `extendleft` reverses, so the order of sending is kept.
        self._waiting.extendleft(reversed(self._unsettled.values()))
        self._unsettled.clear()

    async def finish(self) -> None:
        """Wait until all messages in flight are settled. Their senders get the outcomes.

        Messages that wait for the link to be attached count as in flight.
        """
        outstanding = list(dict.fromkeys(sending.whole for sending in self.outstanding))
        if outstanding:
            done: Pending[None] = Pending()
            all_of(outstanding).when_done(lambda _: done.resolve(None))
            await self.connection.ask(done, f"{self.what}: messages are on their way")

    def drop_waiting(self) -> None:
        """Drop messages that have not been sent; their outcome does not matter any more."""
        while self._waiting:
            self._waiting.popleft().done.resolve(None)

    def drop(self) -> list[AnySending]:
        """Remove and return everything that is not settled."""
        dropped = self.outstanding
        self._waiting.clear()
        self._unsettled.clear()
        return dropped

    def ended(self, problem: MessagingProblem) -> None:
        for sending in self.drop():
            sending.done.fail(problem)

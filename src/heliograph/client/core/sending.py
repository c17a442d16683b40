"""The sending end of a link: messages wait for credit, leave in runs, and are kept until the peer settles them."""

from collections import deque
from typing import Any

from heliograph.amqp import Sender
from heliograph.client.core.link_end import LinkEnd
from heliograph.client.core.pending import Pending, all_of
from heliograph.client.problems import MessagingProblem


class Sending:
    """A message on its way. `done` has the peer's outcome when there is one; None stands for no outcome wanted."""

    __slots__ = ("done", "payload")

    def __init__(self, payload: bytes) -> None:
        self.payload = payload
        self.done: Pending[Any] = Pending()


class SenderEnd(LinkEnd[Sender]):
    """A link that we send on. Subclasses say how it is attached and what an outcome means."""

    presettled = False

    def __init__(self, *what: Any) -> None:
        super().__init__(*what)
        self._waiting: deque[Sending] = deque()
        self._unsettled: dict[int, Sending] = {}

    def is_refusal(self, link: Sender) -> bool:
        return link.remote is None or link.remote.target is None

    def put(self, sending: Sending) -> None:
        """Send as soon as there is credit. What is put in one turn leaves as one run."""
        self._waiting.append(sending)
        self.connection.touch(self)

    @property
    def outstanding(self) -> list[Sending]:
        """What is not yet settled, in the order in which it was put."""
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

    def send_run(self, link: Sender, run: list[Sending]) -> None:
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
        unsettled = self._unsettled
        for number in range(first, last + 1):
            sending = unsettled.pop(number, None)
            if sending is not None:
                self.outcome(sending, state)
        if not settled and self.link is not None:
            self.link.settle(first, last)

    def outcome(self, sending: Sending, state: Any) -> None:
        """The peer's word on one delivery."""
        sending.done.resolve(state)

    def interrupted(self) -> None:
        """What was not settled may not have arrived: it goes first when the link is back."""
        super().interrupted()
        self._waiting.extendleft(reversed(self._unsettled.values()))
        self._unsettled.clear()

    async def finish(self) -> None:
        """Wait for what is on its way; whether it arrived, those who sent it are told."""
        outstanding = [sending.done for sending in self.outstanding]
        if outstanding and self.link is not None:
            done: Pending[None] = Pending()
            all_of(outstanding).when_done(lambda _: done.resolve(None))
            await self.connection.ask(done, f"{self.what}: messages are on their way")

    def drop_waiting(self) -> None:
        """Forget what has not gone out yet; nobody is interested any more."""
        while self._waiting:
            self._waiting.popleft().done.resolve(None)

    def drop(self) -> list[Sending]:
        """Forget everything that is on its way, and hand it over."""
        dropped = self.outstanding
        self._waiting.clear()
        self._unsettled.clear()
        return dropped

    def ended(self, problem: MessagingProblem) -> None:
        for sending in self.drop():
            sending.done.fail(problem)

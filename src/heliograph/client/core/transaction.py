"""The unit of work of a session: one AMQP transaction after the other, over a link to the coordinator (AMQP part 4).

Theory of operation. A transaction is declared before any work is sent, and a new one is declared together with the end
of the last (`_discharge`), so that the next unit need not wait for a round trip. If the connection is lost while the
transaction has work in it, the server rolls it back; it is then `rollback_only`, and the next commit fails with the
reason. If the connection is lost while the answer to a commit is awaited, the outcome is unknown
(`TransactionInDoubt`)."""

from enum import Enum, auto
from typing import Any

from heliograph.amqp import (
    Accepted,
    Coordinator,
    Declare,
    Declared,
    Delivery,
    DeliveryState,
    Discharge,
    Rejected,
    Released,
    Sender,
    SenderSettleMode,
    Source,
    TransactionalState,
)
from heliograph.amqp.messages import Message, Value, encode_message
from heliograph.client.core.inbox import FAILED, Inbox, settle
from heliograph.client.core.sender import AnySending, SenderEnd, Sending, SendingSession
from heliograph.client.core.subscriptions import OUTCOMES
from heliograph.client.errors import (
    MessagingProblem,
    TransactionInDoubt,
    TransactionRolledBack,
    Unsupported,
    problem_from,
)
from heliograph.client.pending import Pending


class _Phase(Enum):
    NONE = auto()  # no transaction: none was declared yet, or the server has ended it
    ACTIVE = auto()
    ROLLBACK_ONLY = auto()  # it had work in it when it was lost, so it can only be rolled back


class Transaction(SenderEnd):
    """The current unit of work of a transacted session."""

    def __init__(self, session: SendingSession) -> None:
        super().__init__(session, "the transaction coordinator of the server")
        self._phase = _Phase.NONE
        self._id = b""
        self._reason: BaseException | None = None
        self.used = False
        """Whether anything was sent or received in it."""
        self.failure: BaseException | None = None
        """Why a message that was sent in it did not arrive."""
        self._received: dict[Inbox, list[Delivery]] = {}
        """What was received in it. It is settled when the transaction ends."""

    def make_link(self) -> Sender:
        return self.session.engine.attach_sender(
            self.connection.link_name("coordinator"),
            Coordinator(capabilities=("amqp:local-transactions",)),
            source=Source(outcomes=OUTCOMES),
            snd_settle_mode=SenderSettleMode.UNSETTLED,
        )

    @property
    def rollback_only(self) -> bool:
        """Whether the work in it is lost already."""
        return self._phase is _Phase.ROLLBACK_ONLY

    @property
    def active(self) -> bool:
        """Whether messages can be sent in it."""
        return self._phase is _Phase.ACTIVE

    @property
    def waits(self) -> bool:
        """Whether messages were sent in it while there was no connection: they leave with the next one."""
        return self.used and self._phase is _Phase.NONE

    def holds(self, inbox: Inbox) -> bool:
        """Whether messages of that link were received in it."""
        return inbox in self._received

    def received(self, inbox: Inbox, deliveries: list[Delivery]) -> None:
        """The application received these: a commit accepts them, a roll-back has them redelivered."""
        self.used = True
        self._received.setdefault(inbox, []).extend(deliveries)

    def state(self, outcome: Accepted | None = None) -> DeliveryState:
        """What marks a delivery, or its outcome, as part of this unit of work."""
        return TransactionalState(self._id, outcome)

    def mark_rollback_only(self, reason: BaseException) -> None:
        """The work is lost; the next commit fails with the reason."""
        if self._phase is _Phase.ACTIVE and self.used:
            self._phase = _Phase.ROLLBACK_ONLY
            self._reason = reason
            self._received.clear()

    async def begin(self) -> None:
        """Attach to the coordinator and declare a transaction, unless a lost one must be reported first."""
        await self.attach()
        if not self.rollback_only:
            await self._declared(self._ask(Declare()))

    async def commit(self) -> None:
        """Make the work in it permanent, and go on with the next unit."""
        if self.rollback_only:
            reason = self._reason
            await self._renew(FAILED)
            raise TransactionRolledBack(f"the unit of work was rolled back: {reason}") from reason
        try:
            await self._discharge(self.state(Accepted()))
        except TransactionRolledBack:
            raise
        except MessagingProblem as problem:
            if self.link is None:
                # The connection was lost before the answer arrived; the next unit begins when it is back.
                self._phase = _Phase.NONE
                raise TransactionInDoubt(f"whether the unit of work was committed is not known: {problem}") from problem
            raise

    async def roll_back(self, *, blame: bool = True) -> None:
        """Undo the work in it, and go on with the next unit. With `blame`, what was received counts as failed."""
        outcome = FAILED if blame else Released()
        if self.rollback_only:
            await self._renew(outcome)
        else:
            await self._discharge(outcome, fail=True)

    async def _renew(self, outcome: DeliveryState) -> None:
        self._settle(outcome)
        self._clear()
        if self.link is not None:
            await self._declared(self._ask(Declare()))

    def _settle(self, outcome: DeliveryState) -> None:
        for inbox, deliveries in self._received.items():
            settle(inbox, deliveries, outcome)

    async def _discharge(self, outcome: DeliveryState, *, fail: bool = False) -> None:
        """End the transaction and declare the next one without waiting for the answer in between."""
        if self._phase is not _Phase.ACTIVE:
            # Nothing was done in it, and the next one is declared with the next connection.
            self._clear()
            return
        self._settle(outcome)
        ended = self._ask(Discharge(self._id, fail))
        declared = self._ask(Declare())
        self._clear()
        problem: MessagingProblem | None = None
        try:
            state = await self.connection.ask(ended, "ending a unit of work")
            if isinstance(state, Rejected):
                problem = problem_from(state.error, "the unit of work was rolled back", TransactionRolledBack)
        finally:
            await self._declared(declared)
        if problem is not None:
            raise problem

    def _clear(self) -> None:
        self._phase = _Phase.NONE
        self.used = False
        self.failure = None
        self._received.clear()

    def _ask(self, question: Declare | Discharge) -> Pending[Any]:
        sending = Sending(encode_message(Message(body=Value(question))))
        self.put(sending)
        return sending.done

    async def _declared(self, answer: Pending[Any]) -> None:
        state = await self.connection.ask(answer, "beginning a unit of work")
        if not isinstance(state, Declared):
            error = state.error if isinstance(state, Rejected) else None
            raise problem_from(error, "the server does not begin a unit of work", Unsupported)
        self._id = state.txn_id
        self._phase = _Phase.ACTIVE

    @property
    def may_send(self) -> bool:
        return True

    def send_run(self, link: Sender, run: list[AnySending]) -> None:
        # Acknowledgements that belong to the unit must be written before its discharge.
        self.connection.settle_now()
        # Messages to the coordinator are not part of the transaction, so they have no transactional state.
        numbers = link.send([sending.payload for sending in run])
        self._unsettled.update(zip(numbers, run, strict=True))

    def interrupted(self) -> None:
        """Requests to the coordinator are not repeated: those who wait for an answer get the loss as an error."""
        super().interrupted()
        self.drop()
        if self._phase is _Phase.ACTIVE and not self.used:
            self._phase = _Phase.NONE

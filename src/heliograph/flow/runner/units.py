"""Units of work: a batch of messages goes through the flow, and what came of it is carried out as one, or not at all.

The order is: what does not belong to the unit of work; then puts (whose answers are waited for) and files; then the
databases are committed, or prepared if the flow is coordinated; then the server commits. What fails before undoes all.
Messages of a long batch are put while the flow still works on the rest of it, where that makes no difference.
A message that fails in a batch does not take the others with it: the batch is undone without blame, and its messages
are taken one by one.
"""

import time
from collections.abc import Callable, Sequence
from datetime import datetime
from enum import Enum, auto
from typing import Any

from heliograph.client.problems import ConnectionLost, MessagingProblem, TransactionInDoubt, TransactionRolledBack
from heliograph.common.backoff import Backoff
from heliograph.errors import Problem
from heliograph.flow.database import Databases
from heliograph.flow.database.connection import LOST
from heliograph.flow.engine.compiled import CompiledFlow
from heliograph.flow.engine.effects import DeadLetter, Effect, Publish, Put, Respond, WriteFile
from heliograph.flow.engine.outcome import LogEvent, Outcome, Result
from heliograph.flow.engine.resources import Resources
from heliograph.flow.envelope import Envelope
from heliograph.flow.esql.database_access import DatabaseError
from heliograph.flow.runner.coordination import Coordination
from heliograph.flow.runner.file_output import write_file
from heliograph.flow.runner.outlet import Outlet, place_of
from heliograph.flow.runner.statistics import FlowStatistics

Refusals = dict[tuple[str, str], str]
_MOST_REMEMBERED = 1000
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0
_PIECE = 128
"""Messages of a batch that go through the flow before the first of them are sent."""
_MESSAGES = frozenset({Put, Publish, DeadLetter})


class Verdict(Enum):
    """What became of a batch."""

    DONE = auto()
    """Committed; some of its messages may be dead letters, or discarded."""
    SINGLY = auto()
    """Undone. Nobody is to blame yet; take its messages again, one by one."""
    LATER = auto()
    """Undone, because a database cannot be reached. Nobody is to blame; try again."""
    BACKED_OUT = auto()
    """Undone, because this one message failed."""


class _Refused(Exception):
    """The server, or the disk, did not take some effects of a batch: refusals by message."""

    def __init__(self, refusals: dict[int, Refusals]) -> None:
        super().__init__(refusals)
        self.refusals = refusals


class Units:
    """Units of work of one instance."""

    def __init__(
        self,
        flow: CompiledFlow,
        resources: Resources,
        databases: Databases,
        outlet: Outlet,
        coordination: Coordination | None,
        respond: Callable[[Respond], None],
        log: Callable[[LogEvent], None],
        wait: Callable[[float], object],
    ) -> None:
        """`wait` lets so many seconds pass, or less if it is time to stop."""
        self._flow = flow
        self.resources = resources
        self._databases = databases
        self.outlet = outlet
        self._coordination = coordination
        self._respond = respond
        self.log = log
        self._wait = wait
        self._backoff = Backoff(_FIRST_PAUSE, _LONGEST_PAUSE)
        self._refusals: dict[Any, Refusals] = {}
        """By message: what was refused when it was tried before."""
        # What a node commits at once would be done again with the batch.
        self._careful = any(
            node.properties.get("database_transaction") == "commit" for node in flow.definition.nodes.values()
        )
        """Whether a statement that fails must not spoil a batch."""
        self.statistics = FlowStatistics(nodes=resources.statistics) if resources.statistics else FlowStatistics()

    def process(
        self, node: str, envelopes: Sequence[Envelope], *, spare: bool = False
    ) -> tuple[Verdict, list[Outcome]]:
        """Send a batch through the flow and carry out what came of it. The caller takes messages in `outlet.work`.

        With `spare`, the server is not told that the message has failed, if it has.
        """
        alone = len(envelopes) == 1
        refusals = self._refusals.pop(_key(envelopes[0]), None) if alone and self._refusals else None
        if self.resources.subscriptions is not None:
            self.resources.subscriptions.refresh()  # another process may have been told of subscribers
        self._databases.take_care(alone or self._careful)
        before = time.thread_time()
        outcomes, ahead = self._outcomes(node, envelopes, refusals)
        self.statistics.cpu += time.thread_time() - before

        def refused(again: dict[int, Refusals]) -> bool:
            return self._remember(envelopes, refusals or {}, again)

        verdict = self.complete(outcomes, refused, spare=spare, ahead=ahead)
        if verdict is Verdict.DONE:
            self._count(outcomes)
        return verdict, outcomes

    def _outcomes(
        self, node: str, envelopes: Sequence[Envelope], refusals: Refusals | None
    ) -> tuple[list[Outcome], int]:
        """What comes of the messages, and for how many of them messages were sent ahead.

        A long batch goes through the flow piece by piece: while the server takes what came of the first messages, the
        flow has the next. What cannot be undone must not be sent before all of the batch is known, lest another message
        undoes the batch, and it is sent twice. So this is for batches that are in the unit of work as a whole, with all
        that comes of them, or that are not, and have nothing to undo.
        """
        now, process, resources = datetime.now(), self._flow.process, self.resources
        ahead = 0
        if len(envelopes) <= _PIECE or len({each.persistent for each in envelopes}) > 1:
            return process(node, envelopes, resources, now, refusals), ahead
        outcomes: list[Outcome] = []
        for start in range(0, len(envelopes), _PIECE):
            piece = process(node, envelopes[start : start + _PIECE], resources, now, None)
            outcomes += piece
            transactional = piece[0].transactional
            well = all(outcome.result is Result.DONE for outcome in piece)
            if well and ahead == start and (transactional or not self._may_change):
                self._send_messages(piece, transactional=transactional)
                self.outlet.work.flush()
                ahead += len(piece)
        return outcomes, ahead

    def complete(
        self,
        outcomes: list[Outcome],
        refused: Callable[[dict[int, Refusals]], bool],
        *,
        spare: bool = False,
        ahead: int = 0,
    ) -> Verdict:
        """Carry out what came of a batch.

        `refused` is told what was not possible, and says if another attempt makes sense. Messages of the first `ahead`
        outcomes that share the fate of what they came from were sent before.
        """
        alone = len(outcomes) == 1
        failed = [outcome for outcome in outcomes if outcome.result is not Result.DONE]
        if failed and (why := unreachable(failed)):
            return self._later(why)
        if self._databases.spoilt:
            self._careful = True  # a flow that goes on after an error may do so often
            return self.undo(Verdict.SINGLY)
        if failed:
            spoilt = self._changed() or any(outcome.result is Result.BACKOUT for outcome in failed)
            if spoilt and not alone:
                return self.undo(Verdict.SINGLY)
            self._undo_changes()
        try:
            self._send(outcomes, ahead, transactional=False)
            if alone and outcomes[0].result is Result.BACKOUT:
                self._tell(outcomes)
                return self.undo(Verdict.BACKED_OUT, spare=spare)
            self._send(outcomes, ahead, transactional=True)
            self._commit()
        except _Refused as refusal:
            sensible = refused(refusal.refusals) or not alone
            return self.undo(Verdict.SINGLY if sensible else Verdict.BACKED_OUT, spare=spare)
        except DatabaseError as problem:
            if problem.state.startswith(LOST):
                return self._later(str(problem))
            self.log(LogEvent("", f"the unit of work was rolled back: {problem}"))
            return self.undo(Verdict.BACKED_OUT if alone else Verdict.SINGLY, spare=spare)
        except TransactionRolledBack as problem:
            self.log(LogEvent("", f"the unit of work was rolled back: {problem}"))
            # A lost connection is nobody's fault.
            lost = isinstance(problem.__cause__, MessagingProblem)
            return self.undo(Verdict.BACKED_OUT if alone and not lost else Verdict.SINGLY, spare=spare)
        self._tell(outcomes)
        self._backoff.succeeded()
        return Verdict.DONE

    def _later(self, why: str) -> Verdict:
        """A database that is gone is waited for: its messages would all fail, and become dead letters."""
        if self._backoff.is_first:
            self.log(LogEvent("", f"waiting for a database: {why}", "warning"))
        verdict = self.undo(Verdict.LATER)
        self._wait(self._backoff.pause())
        return verdict

    # Carrying out

    def _send(self, outcomes: list[Outcome], ahead: int, *, transactional: bool) -> None:
        """All messages and files of a batch that belong to the unit of work, or do not."""
        first = ahead if outcomes[0].transactional is transactional else 0
        self._send_messages(outcomes[first:] if first else outcomes, transactional=transactional)
        refused: list[tuple[Effect, str]] = [*self.outlet.refused()]
        for outcome in outcomes:
            for effect in outcome.effects:
                if type(effect) is WriteFile and effect.transactional is transactional:
                    try:
                        write_file(effect)
                    except Problem as problem:
                        refused.append((effect, str(problem)))
        if refused:
            owners = {id(effect): at for at, outcome in enumerate(outcomes) for effect in outcome.effects}
            refusals: dict[int, Refusals] = {}
            for effect, why in refused:
                refusals.setdefault(owners[id(effect)], {})[effect.node, place_of(effect)] = why
            raise _Refused(refusals)

    def _send_messages(self, outcomes: list[Outcome], *, transactional: bool) -> None:
        messages: list[Any] = [
            effect
            for outcome in outcomes
            for effect in outcome.effects
            if effect.transactional is transactional and type(effect) in _MESSAGES
        ]
        if messages:
            self.outlet.send(messages, transactional=transactional)
            self.statistics.sent += len(messages)

    def _commit(self) -> None:
        work = self.outlet.work
        if work.is_lost:
            # The databases must not be ahead of messages that will come again.
            lost = ConnectionLost("the connection to the server was lost")
            raise TransactionRolledBack(str(lost)) from lost
        self.statistics.units += 1
        if self.resources.aggregation is not None:
            self.resources.aggregation.commit()
        if not self._databases.open_sources():
            self._commit_messages()
        elif self._coordination is not None:
            self._coordination.commit(work)
        else:
            self._databases.commit_all()
            self._commit_messages()

    def _commit_messages(self) -> None:
        try:
            self.outlet.work.commit()
        except TransactionInDoubt as problem:
            # Either it was committed, or the messages come again: nothing is lost or done twice.
            self.log(LogEvent("", str(problem), "warning"))

    def _tell(self, outcomes: list[Outcome]) -> None:
        """What is said when it is safe: answers to requests, and the log."""
        for outcome in outcomes:
            for effect in outcome.effects:
                if type(effect) is Respond:
                    self._respond(effect)
            if outcome.logged:
                for event in outcome.logged:
                    self.log(event)

    # Undoing

    @property
    def _may_change(self) -> bool:
        return self._databases.used or self.resources.aggregation is not None

    def _changed(self) -> bool:
        aggregation = self.resources.aggregation
        return bool(self._databases.open_sources()) or (aggregation is not None and aggregation.changed)

    def _undo_changes(self) -> None:
        self._databases.rollback_all()
        if self.resources.aggregation is not None:
            self.resources.aggregation.rollback()

    def undo(self, verdict: Verdict, *, spare: bool = False) -> Verdict:
        """Give everything back."""
        self.outlet.forget()
        self._undo_changes()
        blame = verdict is Verdict.BACKED_OUT and not spare
        if verdict is Verdict.BACKED_OUT:
            self.statistics.backed_out += 1
        else:
            self.statistics.singly += 1
        try:
            self.outlet.work.rollback(blame=blame)
        except MessagingProblem as problem:
            self.log(LogEvent("", f"messages come again when the server is back: {problem}", "warning"))
        return verdict

    def _remember(self, envelopes: Sequence[Envelope], known: Refusals, again: dict[int, Refusals]) -> bool:
        """Keep what was refused for the next attempt; False if the flow has been told before and did not heed it."""
        if len(self._refusals) > _MOST_REMEMBERED:
            self._refusals.clear()
        sensible = False
        for at, refusals in again.items():
            sensible = sensible or not refusals.keys() <= known.keys()
            self._refusals[_key(envelopes[at])] = known | refusals
        return sensible

    def _count(self, outcomes: list[Outcome]) -> None:
        statistics = self.statistics
        statistics.messages += len(outcomes)
        for outcome in outcomes:
            if outcome.result is Result.DONE:
                statistics.done += 1
            elif outcome.result is Result.DEAD_LETTER:
                statistics.dead_letters += 1
            else:
                statistics.discarded += 1


def _key(envelope: Envelope) -> Any:
    """What a message is known by when it comes again."""
    return envelope.message_id or envelope.body


def unreachable(failed: Sequence[Outcome]) -> str:
    """What is said of a database that could not be reached, if that is why one of these failed."""
    for outcome in failed:
        for record in outcome.exception.chain() if outcome.exception is not None else ():
            if record.kind == "DatabaseException" and record.inserts and str(record.inserts[0]).startswith(LOST):
                return record.text
    return ""

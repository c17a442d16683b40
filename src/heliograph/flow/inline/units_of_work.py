"""Units of work: a batch of messages goes through the flow, and what came of it is carried out as one, or not at all.

What is done next, and with which of the messages, is decided by `flow.hosting`; here it is carried out.

The order is: what does not belong to the unit of work; then puts (whose answers are waited for) and files; then the
databases are committed, or prepared if the flow is coordinated; then the server commits. What fails before undoes all.
Messages of a long batch are put while the flow still works on the rest of it, where that makes no difference.
"""

import time
from collections.abc import Callable, Hashable, Sequence
from datetime import datetime
from typing import Any

from heliograph.client import ConnectionLost, MessagingProblem, TransactionInDoubt, TransactionRolledBack
from heliograph.errors import Problem
from heliograph.flow.engine.compiled_flow import CompiledFlow, Refusals
from heliograph.flow.engine.database import Databases
from heliograph.flow.engine.outcome import (
    Effect,
    LogEvent,
    Outcome,
    Respond,
    Result,
    WriteFile,
)
from heliograph.flow.engine.run import Resources
from heliograph.flow.errors import DatabaseError
from heliograph.flow.formats.envelope import Envelope
from heliograph.flow.hosting import INLINE, RefusalMemory, Step, Waiting, is_lost, unreachable
from heliograph.flow.inline.coordination import Coordination
from heliograph.flow.inline.file_output import write_file
from heliograph.flow.inline.flow_statistics import FlowStatistics
from heliograph.flow.inline.server_output import MESSAGES, ServerOutput, destination_of

RefusalsByMessage = dict[int, dict[tuple[str, str], str]]
_PIECE = 128
"""Messages of a batch that go through the flow before the first of them are sent."""


class _Refused(Exception):
    """The server, or the disk, did not take some effects of a batch: refusals by message."""

    def __init__(self, refusals: RefusalsByMessage) -> None:
        super().__init__(refusals)
        self.refusals = refusals


class UnitsOfWork:
    """The units of work of one instance."""

    def __init__(
        self,
        flow: CompiledFlow,
        resources: Resources,
        databases: Databases,
        output: ServerOutput,
        coordination: Coordination | None,
        respond: Callable[[Respond], None],
        log: Callable[[LogEvent], None],
        wait: Callable[[float], object],
    ) -> None:
        """`wait` waits for a number of seconds, or less if it is time to stop."""
        self._flow = flow
        # What a unit of work changes, and what is committed or rolled back with it.
        self.resources = resources
        self._databases = databases
        self.output = output
        """Where messages are put; its session `work` is the server's side of the unit of work."""
        self._coordination = coordination
        """None if databases are committed by themselves."""
        self._respond = respond
        self.log = log
        self._wait = wait
        self._waiting = Waiting()
        self.refusals = RefusalMemory()
        # What a node commits at once would be done again with the batch.
        self._careful = any(
            node.properties.get("database_transaction") == "commit" for node in flow.definition.nodes.values()
        )
        """Whether a statement that fails must not spoil a batch."""
        self.statistics = FlowStatistics(nodes=resources.statistics) if resources.statistics else FlowStatistics()

    def process(self, node: str, envelopes: Sequence[Envelope], *, spare: bool = False) -> tuple[Step, list[Outcome]]:
        """Send a batch through the flow and carry out what came of it. The caller takes messages in `output.work`.

        With `spare`, the server is not told that the message has failed, if it has.
        """
        alone = len(envelopes) == 1
        known = self.refusals.take(_key(envelopes[0])) if alone else None
        if self.resources.subscriptions is not None:
            self.resources.subscriptions.refresh()  # another process may have been told of subscribers
        self._databases.take_care(alone or self._careful)
        before = time.thread_time()
        outcomes, ahead = self._outcomes(node, envelopes, known)
        self.statistics.cpu += time.thread_time() - before
        step = self.complete(outcomes, lambda at: _key(envelopes[at]), known, spare=spare, ahead=ahead)
        if step.is_done:
            self._count(outcomes)
        return step, outcomes

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
                self.output.work.flush()
                ahead += len(piece)
        return outcomes, ahead

    def complete(
        self,
        outcomes: list[Outcome],
        key: Callable[[int], Hashable] | None = None,
        known: Refusals | None = None,
        *,
        spare: bool = False,
        ahead: int = 0,
    ) -> Step:
        """Carry out what came of a batch, or undo it.

        `key` says what a message is known by when it comes again, if it does; `known` is what the flow was told of
        refusals. Messages of the first `ahead` outcomes that share the fate of what they came from were sent before.
        """
        alone = len(outcomes) == 1
        step = self._after_flow(outcomes)
        if step is Step.LATER:
            return self._later(unreachable(outcomes))
        if step is Step.ONE_BY_ONE:
            return self.undo(step)
        if step is not Step.COMMIT:
            self._undo_changes()
        try:
            self._send(outcomes, ahead, transactional=False)
            if step is Step.BACK_OUT:
                self._tell(outcomes)
                return self.undo(step, spare=spare)
            self._send(outcomes, ahead, transactional=True)
            self._commit()
        except _Refused as refusal:
            is_new = key is not None and self._remember(refusal.refusals, key, known or {})
            return self.undo(INLINE.after_refusal(alone=alone, is_new=is_new), spare=spare)
        except DatabaseError as problem:
            if (failed := INLINE.after_failed_commit(alone=alone, database_lost=is_lost(problem))) is Step.LATER:
                return self._later(str(problem))
            self.log(LogEvent("", f"the unit of work was rolled back: {problem}"))
            return self.undo(failed, spare=spare)
        except TransactionRolledBack as problem:
            self.log(LogEvent("", f"the unit of work was rolled back: {problem}"))
            server_lost = isinstance(problem.__cause__, MessagingProblem)
            return self.undo(INLINE.after_failed_commit(alone=alone, server_lost=server_lost), spare=spare)
        self._tell(outcomes)
        self._waiting.over()
        return step

    def _after_flow(self, outcomes: list[Outcome]) -> Step:
        spoilt = self._databases.spoilt
        if len(outcomes) == 1:
            step = INLINE.after_message(outcomes[0], spoilt=spoilt)
        else:
            step = INLINE.after_batch(outcomes, changed=self._changed(), spoilt=spoilt).step
        if spoilt and step is not Step.LATER:
            self._careful = True  # a flow that goes on after an error may do so often
        return step

    def _later(self, why: str) -> Step:
        if not self._waiting.has_begun:
            self.log(LogEvent("", f"waiting for a database: {why}", "warning"))
        step = self.undo(Step.LATER)
        pause = self._waiting.pause(time.monotonic())
        assert pause is not None, "its patience has no end"
        self._wait(pause)
        return step

    # Carrying out

    def _send(self, outcomes: list[Outcome], ahead: int, *, transactional: bool) -> None:
        """All messages and files of a batch that belong to the unit of work, or do not."""
        first = ahead if outcomes[0].transactional is transactional else 0
        self._send_messages(outcomes[first:] if first else outcomes, transactional=transactional)
        refused: list[tuple[Effect, str]] = [*self.output.refused()]
        for outcome in outcomes:
            for effect in outcome.effects:
                if type(effect) is WriteFile and effect.transactional is transactional:
                    try:
                        write_file(effect)
                    except Problem as problem:
                        refused.append((effect, str(problem)))
        if refused:
            owners = {id(effect): at for at, outcome in enumerate(outcomes) for effect in outcome.effects}
            refusals: RefusalsByMessage = {}
            for effect, why in refused:
                refusals.setdefault(owners[id(effect)], {})[effect.node, destination_of(effect)] = why
            raise _Refused(refusals)

    def _send_messages(self, outcomes: list[Outcome], *, transactional: bool) -> None:
        messages: list[Any] = [
            effect
            for outcome in outcomes
            for effect in outcome.effects
            if effect.transactional is transactional and type(effect) in MESSAGES
        ]
        if messages:
            self.output.send(messages, transactional=transactional)
            self.statistics.sent += len(messages)

    def _commit(self) -> None:
        work = self.output.work
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
            self.output.work.commit()
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

    def undo(self, step: Step, *, spare: bool = False) -> Step:
        """Give everything back."""
        self.output.forget()
        self._undo_changes()
        failed = step is Step.BACK_OUT
        if failed:
            self.statistics.backed_out += 1
        else:
            self.statistics.split_batches += 1
        try:
            self.output.work.rollback(blame=failed and not spare)
        except MessagingProblem as problem:
            self.log(LogEvent("", f"messages come again when the server is back: {problem}", "warning"))
        return step

    def _remember(self, refusals: RefusalsByMessage, key: Callable[[int], Hashable], known: Refusals) -> bool:
        """Keep what was refused for the next attempt; False if the flow has been told before and did not heed it."""
        is_new = False
        for at, refused in refusals.items():
            is_new = self.refusals.add(key(at), known, refused) or is_new
        return is_new

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


def _key(envelope: Envelope) -> Hashable:
    """What a message is known by when it comes again."""
    return envelope.message_id or envelope.body

"""Units of work: a batch of messages goes through the flow, and its effects are committed together or not at all.

`flow.hosting` decides the next step (commit, back out, one by one, later); this module executes it.

The order of a commit is: effects outside of the unit of work; puts (whose answers are awaited) and files; databases
(committed, or prepared if the flow is coordinated); the server. A failure before the last step undoes everything but
the effects outside. Messages of a long batch are sent while the flow processes the rest of it, where a failure of the
rest cannot make a difference.
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
    """The server or the disk has refused some effects of a batch: refusals by message."""

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
        # State that is committed or rolled back with the unit of work.
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
        # A node that commits at once would do so again if the batch were repeated.
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
            self.resources.subscriptions.refresh()  # another process may have registered subscriptions
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
        """Run the flow; return the outcomes, and for how many of them messages were sent ahead.

        A long batch goes through the flow in pieces, so that server and flow work at the same time. An effect that
        cannot be undone must not be sent before the whole batch has succeeded: a later message might undo the batch,
        and the effect would happen twice. So messages are sent ahead only if all of the batch is in the unit of work (a
        rollback undoes them), or if none of it is and there are no changes that could be undone.
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
        """Execute the outcomes of a batch, or undo it.

        `key` identifies a message when it is delivered again; None if it never is. `known` are the refusals that the
        flow was given. The messages of the first `ahead` outcomes were sent already.
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
            self._careful = True  # a flow that ignores database errors may do so often
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
        """Send the messages and files of a batch: those in the unit of work, or those outside."""
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
            # The messages will be redelivered, so the databases must not be committed.
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
            # Either the server has committed, or it redelivers the messages: nothing is lost or done twice.
            self.log(LogEvent("", str(problem), "warning"))

    def _tell(self, outcomes: list[Outcome]) -> None:
        """Answer requests and write the log, once the unit of work has ended."""
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
        """Roll back: databases, and the messages, which the server redelivers. Only BACK_OUT counts as a failed
        delivery."""
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
        """Keep refusals for the next attempt. Return False if the flow knew all of them already and sent the same
        again."""
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
    """Return what identifies a message when it is redelivered."""
    return envelope.message_id or envelope.body

"""What to do next with a unit of work, given what happened to it."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto

from heliograph.flow.engine.database.connection import LOST
from heliograph.flow.engine.outcome import DeadLetter, LogEvent, Outcome, Result
from heliograph.flow.errors import DatabaseError
from heliograph.flow.formats.envelope import Envelope


class Step(Enum):
    """What a host does next with a unit of work. All but the first roll back changes in databases."""

    COMMIT = auto()
    """Carry out all effects and commit; the messages are done with."""
    COMMIT_EFFECTS = auto()
    """Carry out the effects that are left, such as dead letters, and commit; the messages are done with."""
    DEAD_LETTER = auto()
    """As COMMIT_EFFECTS, with a dead letter that the host adds."""
    ONE_BY_ONE = auto()
    """Roll back all. Nobody is to blame yet; take the messages again, one by one."""
    LATER = auto()
    """Roll back all, because a database cannot be reached. Nobody is to blame; wait, and take the messages again."""
    BACK_OUT = auto()
    """Carry out what does not belong to the unit of work, and roll back all else: this one message failed."""
    STOP = auto()
    """Roll back all and stop with an error; the task or process is started again from outside."""

    @property
    def is_done(self) -> bool:
        """Whether the messages are done with, in one way or another."""
        return self in _DONE


_DONE = frozenset({Step.COMMIT, Step.COMMIT_EFFECTS, Step.DEAD_LETTER})


@dataclass(frozen=True, slots=True)
class BatchDecision:
    """What to do next with a batch."""

    step: Step
    one_by_one: Sequence[int] = ()
    """The messages that are taken again, one by one."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of one kind of host."""

    gives_back: bool
    """Whether a message can be given back to where it came from, which then counts one more failed attempt."""
    keeps_apart: bool
    """Whether the effects of each message stand by themselves; otherwise those of a batch are one unit of work."""

    def after_batch(
        self, outcomes: Sequence[Outcome], refused: Collection[int] = (), *, changed: bool, spoilt: bool = False
    ) -> BatchDecision:
        """Several messages went through the flow.

        `refused` are those whose effects cannot be carried out. `changed` says whether anything was changed in
        databases; these have one transaction for the whole batch. `spoilt` says whether that can only be rolled back.
        """
        failed = [at for at, outcome in enumerate(outcomes) if outcome.result is not Result.DONE]
        if failed and unreachable(outcomes):
            return BatchDecision(Step.LATER)
        if spoilt:
            return BatchDecision(Step.ONE_BY_ONE, range(len(outcomes)))
        if not failed and not refused:
            return BatchDecision(Step.COMMIT)
        again = [at for at, outcome in enumerate(outcomes) if outcome.result is Result.BACKOUT or at in refused]
        # What failed must not be in the databases, and what did not fail must be.
        if changed or (again and not self.keeps_apart):
            return BatchDecision(Step.ONE_BY_ONE, range(len(outcomes)))
        return BatchDecision(Step.COMMIT_EFFECTS, again)

    def after_message(self, outcome: Outcome, *, spoilt: bool = False, attempts_left: int = 0) -> Step:
        """A message went through the flow alone.

        `attempts_left` matters where messages cannot be given back: what else can be tried with it.
        """
        if outcome.result is not Result.DONE and unreachable([outcome]):
            return Step.LATER
        if spoilt:
            return Step.ONE_BY_ONE
        if outcome.result is Result.DONE:
            return Step.COMMIT
        if outcome.result is Result.BACKOUT and (self.gives_back or attempts_left):
            return Step.BACK_OUT
        if outcome.result is Result.DEAD_LETTER or self.gives_back:
            return Step.COMMIT_EFFECTS
        return Step.DEAD_LETTER  # nothing is given back, and nothing is thrown away

    def after_refusal(self, *, alone: bool, is_new: bool) -> Step:
        """Some effects could not be carried out. `is_new` says whether the flow was not told of them before."""
        return Step.ONE_BY_ONE if is_new or not alone else self._given_up()

    def after_failed_commit(self, *, alone: bool, database_lost: bool = False, server_lost: bool = False) -> Step:
        """The commit failed, and nothing was committed as far as one can know."""
        if not self.gives_back:
            return Step.STOP  # its task is repeated
        if database_lost:
            return Step.LATER
        return self._given_up() if alone and not server_lost else Step.ONE_BY_ONE

    def _given_up(self) -> Step:
        return Step.BACK_OUT if self.gives_back else Step.STOP


INLINE = Rules(gives_back=True, keeps_apart=False)
"""Messages and the effects of their batch are one unit of work of the server."""
SPARK = Rules(gives_back=False, keeps_apart=True)
"""Effects are rows, by message; a task that stops is repeated by Spark."""

# Dead letters that a host adds itself. All others come from the engine, which has the reason at hand.


def with_dead_letters(outcome: Outcome, messages: Iterable[Envelope], queue: str, node: str) -> Outcome:
    """The outcome with a dead letter for each of these messages; its exception is the reason.

    For hosts that cannot give messages back. What is done, or has its dead letter already, stays as it is.
    """
    if outcome.result in {Result.DONE, Result.DEAD_LETTER}:
        return outcome
    record = outcome.exception
    assert record is not None, "what is not done has an exception"
    reason, exceptions = record.innermost().text, record.describe()
    letters = [DeadLetter(queue, message, reason, exceptions, node) for message in messages]
    return replace(outcome, effects=[*outcome.effects, *letters])


def unreadable(payload: bytes, problem: Exception, queue: str, node: str) -> Outcome:
    """The outcome of input that is no message: its bytes become a dead letter."""
    letter = DeadLetter(queue, Envelope(payload, persistent=True), str(problem), str(problem), node)
    return Outcome(Result.DEAD_LETTER, [letter], [LogEvent(node, str(problem))])


# Databases that cannot be reached.


def is_lost(error: DatabaseError) -> bool:
    """Whether the database cannot be reached, or is shutting down."""
    return error.state.startswith(LOST)


def unreachable(outcomes: Sequence[Outcome]) -> str:
    """What is said of a database that could not be reached, if that is why one of these failed."""
    for outcome in outcomes:
        for record in outcome.exception.chain() if outcome.exception is not None else ():
            if record.kind == "DatabaseException" and record.inserts and str(record.inserts[0]).startswith(LOST):
                return record.text
    return ""

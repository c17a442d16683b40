"""Dead letters that a host adds itself. All others come from the engine, which has the reason at hand."""

from collections.abc import Iterable
from dataclasses import replace

from heliograph.flow.engine.outcome import DeadLetter, LogEvent, Outcome, Result
from heliograph.flow.formats.envelope import Envelope


def with_dead_letters(outcome: Outcome, messages: Iterable[Envelope], queue: str, node: str) -> Outcome:
    """The outcome with a dead letter for each of these messages; the exception says why they are put away.

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
    """Something that came in and is no message: it is put away as bytes."""
    letter = DeadLetter(queue, Envelope(payload, persistent=True), str(problem), str(problem), node)
    return Outcome(Result.DEAD_LETTER, [letter], [LogEvent(node, str(problem))])

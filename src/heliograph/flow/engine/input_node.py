"""Input nodes: how a message enters a flow, and what becomes of it when an exception comes back.

| event | not in a unit of work | in a unit of work |
|---|---|---|
| error in the input node itself | failure path, else log and discard | failure path, else dead letter |
| exception behind `out` | catch path, else log and discard | catch path, else back out |
| exception behind `catch` | failure path, else log and discard | log and back out |
| exception behind `failure` | log and discard | back out |

A message in a unit of work that comes again goes to `out` as long as its backout count is below the threshold, then to
`failure` until the count is twice the threshold. When there is no path left for the next attempt, it becomes a dead
letter at once, while the reason is known, instead of being given back and delivered once more.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum, auto
from typing import Any

from heliograph.flow.definition import NodeDefinition
from heliograph.flow.engine.compilation import Compilation
from heliograph.flow.engine.exceptions import (
    BACKED_OUT,
    FAILURE_PATH_FAILED,
    TO_DEAD_LETTERS,
    ExceptionRecord,
    FlowException,
    record_of,
)
from heliograph.flow.engine.message import Message
from heliograph.flow.engine.node import Node
from heliograph.flow.engine.outcome import DeadLetter, Outcome, Result
from heliograph.flow.engine.run import Assembly, Resources, Run, Target
from heliograph.flow.formats.envelope import Envelope
from heliograph.flow.tree import Element

DEAD_LETTER_QUEUE = "SYSTEM.DEAD.LETTER.QUEUE"


class Path(Enum):
    """Where a message goes that enters the flow in a unit of work."""

    OUT = auto()
    FAILURE = auto()
    DEAD_LETTER = auto()
    """The backout queue or the dead-letter queue."""


@dataclass(frozen=True, slots=True)
class Backout:
    """What an input says about messages that fail."""

    threshold: int
    """Failed attempts after which a message takes the failure path; after twice as many it is a dead letter."""
    queues: tuple[str, ...]
    """Queues for dead letters, in the order in which they are tried."""

    @classmethod
    def of(cls, properties: Mapping[str, Any]) -> "Backout":
        """What the properties of an input node say."""
        attempts: int = properties.get("backout_threshold", 0) or 1
        queues = (properties.get("backout_queue", ""), properties.get("dead_letter_queue", ""))
        threshold = attempts + (properties.get("backout_counts") == "retries")
        return cls(threshold, tuple(queue for queue in queues if queue))

    @property
    def queue(self) -> str:
        """The first choice."""
        return self.queues[0] if self.queues else DEAD_LETTER_QUEUE

    def path(self, count: int, *, has_failure_path: bool) -> Path:
        """Where a message goes whose backout count is `count`."""
        if count < self.threshold:
            return Path.OUT
        return Path.FAILURE if has_failure_path and count < 2 * self.threshold else Path.DEAD_LETTER

    def last_counts(self) -> list[int]:
        """The counts that a host tries that cannot give messages back: the first, and the last for each path."""
        return sorted({0, self.threshold - 1, self.threshold, 2 * self.threshold - 1})


class InputNode(Node):
    """An input node. Nodes of the transports say what is in the local environment, and how an exception is answered."""

    def __init__(self, definition: NodeDefinition, compilation: Compilation) -> None:
        super().__init__(definition, compilation)
        properties: Mapping[str, Any] = definition.properties
        self._readings = (compilation.reading(definition), compilation.reading(definition, transactional=True))
        self._topic: str = properties.get("topic", "") if self.type == "QueueInput" else ""
        self._mode: str = properties.get("transaction", "no")
        self._immediate = properties.get("parse") == "immediate"
        self._backout = Backout.of(properties)
        self._threshold = self._backout.threshold
        # Shared by all messages: no node changes a tree that it received, so these stay empty.
        self._nothing_yet = Element("LocalEnvironment")
        self._no_exceptions = Element("ExceptionList")
        self._out: Target | None = None
        self._catch: Target | None = None

    def link(self, terminals: Mapping[str, Target]) -> None:
        """Its paths."""
        super().link(terminals)
        self._out = terminals.get("out")
        self._catch = terminals.get("catch")

    def take(
        self,
        envelope: Envelope,
        resources: Resources,
        now: datetime,
        refusals: Mapping[tuple[str, str], str] | None,
    ) -> Outcome:
        """Send a message through the flow."""
        transactional = self._mode == "yes" or (self._mode == "automatic" and envelope.persistent)
        run = Run(self.flow, envelope, resources, now, transactional, refusals)
        assembly = Assembly(self.message(envelope, transactional), self.local_environment(), self._no_exceptions)
        if transactional and envelope.backout_count >= self._threshold:
            return self._come_back(assembly, run)
        try:
            self.prepare(assembly, run)
        except Exception as error:
            return self._broken(assembly, run, record_of(error, self.flow, self.name, self.type))
        thrown = self._follow(self._out, assembly, run)
        if thrown is not None:
            return self._thrown(assembly, run, thrown)
        return Outcome(Result.DONE, run.effects, run.logged, None, transactional, run.handled)

    def message(self, envelope: Envelope, transactional: bool) -> Message:
        """The message that enters the flow."""
        if self._topic and not envelope.topic:
            envelope = replace(envelope, topic=self._topic)
        return Message(self._readings[transactional], envelope)

    def local_environment(self) -> Element:
        """What the message begins with."""
        return self._nothing_yet

    def prepare(self, assembly: Assembly, run: Run) -> None:
        """Make the assembly ready; an exception here is the node's own."""
        if self._immediate:
            for part in assembly.message.root.children:
                for _ in part.descendants():
                    pass
        elif assembly.message.envelope.format.startswith("MQHRF2"):
            _ = assembly.message.root  # headers that cannot be read are this node's error, not a later node's

    def discarded(self, run: Run, record: ExceptionRecord) -> None:
        """Called when the message is given up; a transport that owes an answer gives it here."""

    def _follow(self, path: Target | None, assembly: Assembly, run: Run) -> ExceptionRecord | None:
        """Send the message along a path; what comes back, if something does."""
        try:
            if path is not None:
                path(assembly, run)
        except FlowException as error:
            return error.record
        except RecursionError:
            return self.too_deep()
        return None

    # What comes back

    def _broken(self, assembly: Assembly, run: Run, record: ExceptionRecord) -> Outcome:
        """An error in this node itself."""
        if self.failure is not None:
            return self._fail_path(assembly, run, record)
        if run.transactional:
            return self._dead_letter(run, record)
        return self._discard(run, record)

    def _thrown(self, assembly: Assembly, run: Run, record: ExceptionRecord) -> Outcome:
        """An exception behind `out`."""
        if self._catch is None:
            return self._back_out(run, record) if run.transactional else self._discard(run, record)
        thrown = self._follow(self._catch, assembly.with_exception(record), run)
        if thrown is not None:
            run.log(self.name, thrown.describe())
            if run.transactional:
                return self._back_out(run, thrown)
            if self.failure is not None:
                return self._fail_path(assembly, run, thrown)
            return self._discard(run, thrown)
        return self._handled(run, record)

    def _fail_path(self, assembly: Assembly, run: Run, record: ExceptionRecord) -> Outcome:
        thrown = self._follow(self.failure, assembly.with_exception(record), run)
        if thrown is not None:
            return self._back_out(run, thrown) if run.transactional else self._discard(run, thrown)
        return self._handled(run, record)

    def _handled(self, run: Run, record: ExceptionRecord) -> Outcome:
        run.handle(record)
        return Outcome(Result.DONE, run.effects, run.logged, None, run.transactional, run.handled)

    def _come_back(self, assembly: Assembly, run: Run) -> Outcome:
        """A message that has been backed out too often for `out`."""
        count = run.origin.backout_count
        if self.failure is None:
            return self._dead_letter(run, self._record(TO_DEAD_LETTERS, f"The message was backed out {_times(count)}."))
        if self._backout.path(count, has_failure_path=True) is Path.DEAD_LETTER:
            text = f"The message was backed out {_times(count)}, on the failure path, too."
            return self._dead_letter(run, self._record(FAILURE_PATH_FAILED, text))
        text = f"The message was backed out {_times(count)}; it is sent to the failure path."
        return self._fail_path(assembly, run, self._record(BACKED_OUT, text))

    def _back_out(self, run: Run, record: ExceptionRecord) -> Outcome:
        following = self._backout.path(run.origin.backout_count + 1, has_failure_path=self.failure is not None)
        if following is Path.DEAD_LETTER:
            return self._dead_letter(run, record)
        run.log(self.name, record.describe())
        return Outcome(Result.BACKOUT, _kept(run), run.logged, record)

    def _dead_letter(self, run: Run, record: ExceptionRecord) -> Outcome:
        refusals = run.refusals or {}
        for queue in self._backout.queues:
            if (self.name, queue) in refusals:
                run.log(self.name, f"{queue} does not take the dead letter: {refusals[self.name, queue]}")
                continue
            run.log(self.name, record.describe())
            letter = replace(run.origin, backout_count=run.origin.backout_count + 1)
            effect = DeadLetter(queue, letter, str(FlowException(record)), record.describe(), self.name)
            return Outcome(Result.DEAD_LETTER, [*_kept(run), effect], run.logged, record)
        run.log(self.name, f"{record.describe()}\nNo queue takes the dead letter; the message stays where it is.")
        return Outcome(Result.BACKOUT, _kept(run), run.logged, record)

    def _discard(self, run: Run, record: ExceptionRecord) -> Outcome:
        run.log(self.name, f"{record.describe()}\nThe message is discarded.")
        run.effects = _kept(run)
        self.discarded(run, record)
        return Outcome(Result.DISCARDED, run.effects, run.logged, record, transactional=False)

    def _record(self, number: int, text: str) -> ExceptionRecord:
        return ExceptionRecord(text, number, type=self.type, name=self.name, label=f"{self.flow}.{self.name}")


def _kept(run: Run) -> list[Any]:
    """What is done even if the unit of work is not."""
    return [effect for effect in run.effects if not effect.transactional]


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"

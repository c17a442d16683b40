"""What becomes of a message when something fails: the tables for messages outside and inside a unit of work."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from heliograph.flow.engine.compiled_flow import CompiledFlow, compile_flow
from heliograph.flow.engine.outcome import DeadLetter, Outcome, Put, Result
from heliograph.flow.engine.run import Resources
from heliograph.flow.formats.envelope import Envelope
from heliograph.flow.loading.flow_loading import load_flow

NOW = datetime(2026, 11, 16, 12, 0, 0)

Build = Callable[..., CompiledFlow]


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """A flow whose input has these paths connected; a path either fails or puts the message on a queue of its name."""

    def build(paths: str, failing: str, transaction: str = "no", extra: str = "") -> CompiledFlow:
        bad_input = "domain: XML, parse: immediate, " if "input" in failing.split() else ""
        nodes = [f"  in: {{type: QueueInput, queue: Q, {bad_input}transaction: {transaction}, {extra}}}"]
        connections = []
        for path in paths.split():
            node = (
                f"{{type: Throw, text: {path} fails}}"
                if path in failing.split()
                else f"{{type: QueueOutput, queue: {path}}}"
            )
            nodes.append(f"  at_{path}: {node}")
            connections.append(f"  - in.{path} -> at_{path}")
        text = "\n".join(["flow: f", "nodes:", *nodes, "connections:", *connections])
        (tmp_path / "flow.yaml").write_text(text)
        return compile_flow(load_flow(tmp_path))

    return build


def take(flow: CompiledFlow, backout_count: int = 0, **refusals: str) -> Outcome:
    envelope = Envelope(b"<unfinished", message_id=b"m1", backout_count=backout_count)
    refused = {("in", queue.replace("_", ".")): why for queue, why in refusals.items()}
    (outcome,) = flow.process("in", [envelope], Resources(), NOW, refused or None)
    return outcome


def seen(outcome: Outcome) -> str:
    """What happened, in a word: the queue that a path has put the message on, or how it ended."""
    queues = [effect.queue for effect in outcome.effects if isinstance(effect, Put)]
    return queues[0] if queues else outcome.result.value


@pytest.mark.parametrize(
    ("failing", "paths", "expected"),
    [
        ("", "out", "out"),
        ("", "out failure catch", "out"),
        # an error in the input node itself
        ("input", "out failure", "failure"),
        ("input", "out", "discarded"),
        ("input", "out catch", "discarded"),
        # an exception in the out flow
        ("out", "out catch", "catch"),
        ("out", "out", "discarded"),
        ("out", "out failure", "discarded"),
        # an exception in the catch flow
        ("out catch", "out catch failure", "failure"),
        ("out catch", "out catch", "discarded"),
        # an exception in the failure flow
        ("input failure", "out failure", "discarded"),
        ("input failure", "out failure catch", "discarded"),
        ("out catch failure", "out failure catch", "discarded"),
    ],
)
def test_a_message_outside_a_unit_of_work(build: Build, failing: str, paths: str, expected: str) -> None:
    assert seen(take(build(paths, failing))) == expected


@pytest.mark.parametrize(
    ("failing", "paths", "expected"),
    [
        ("", "out", "out"),
        # an error in the input node itself
        ("input", "out failure", "failure"),
        ("input", "out", "dead letter"),
        ("input", "out catch", "dead letter"),
        # an exception in the out flow
        ("out", "out catch", "catch"),
        ("out", "out", "backout"),
        ("out", "out failure", "backout"),
        # an exception in the catch flow
        ("out catch", "out catch", "backout"),
        ("out catch", "out catch failure", "backout"),
        # an exception in the failure flow
        ("input failure", "out failure", "backout"),
        ("input failure", "out failure catch", "backout"),
    ],
)
def test_a_message_in_a_unit_of_work_that_may_be_tried_again(
    build: Build, failing: str, paths: str, expected: str
) -> None:
    assert seen(take(build(paths, failing, "yes", "backout_threshold: 5"))) == expected


@pytest.mark.parametrize(
    ("count", "threshold", "paths", "failing", "expected"),
    [
        # below the threshold: the out flow again
        (1, 3, "out", "", "out"),
        (2, 3, "out", "out", "dead letter"),
        (1, 3, "out", "out", "backout"),
        # at the threshold: the failure flow, if there is one
        (3, 3, "out failure", "", "failure"),
        (3, 3, "out", "", "dead letter"),
        (3, 3, "out catch", "", "dead letter"),
        # from there to twice the threshold: the failure flow again
        (4, 3, "out failure", "failure", "backout"),
        (5, 3, "out failure", "", "failure"),
        (5, 3, "out failure", "failure", "dead letter"),
        (6, 3, "out failure", "", "dead letter"),
        # no threshold is a threshold of one
        (0, 0, "out", "", "out"),
        (1, 0, "out failure", "", "failure"),
        (1, 0, "out", "", "dead letter"),
    ],
)
def test_a_message_that_was_backed_out(
    build: Build, count: int, threshold: int, paths: str, failing: str, expected: str
) -> None:
    flow = build(paths, failing, "yes", f"backout_threshold: {threshold}")
    assert seen(take(flow, count)) == expected


class Queue:
    """A queue that counts backouts: takes a flow's outcome as a server would."""

    def __init__(self, flow: CompiledFlow) -> None:
        self._flow = flow
        self.attempts: list[str] = []

    def run(self, most: int = 20) -> str:
        """Give the message to the flow until it does not come back."""
        for count in range(most):
            outcome = take(self._flow, count)
            self.attempts.append(outcome.result.value)
            if outcome.result is not Result.BACKOUT:
                return seen(outcome)
        return "still there"


@pytest.mark.parametrize(
    ("threshold", "paths", "failing", "counts", "attempts", "ends"),
    [
        (1, "out", "out", "attempts", 1, "dead letter"),
        (2, "out", "out", "attempts", 2, "dead letter"),
        (1, "out", "out", "retries", 2, "dead letter"),
        (1, "out failure", "out", "attempts", 2, "failure"),
        (3, "out failure", "out", "attempts", 4, "failure"),
        (1, "out failure", "out failure", "attempts", 2, "dead letter"),
        (3, "out failure", "out failure", "attempts", 6, "dead letter"),
        (2, "out catch failure", "out catch", "attempts", 3, "failure"),
    ],
)
def test_the_number_of_attempts(
    build: Build, threshold: int, paths: str, failing: str, counts: str, attempts: int, ends: str
) -> None:
    queue = Queue(build(paths, failing, "yes", f"backout_threshold: {threshold}, backout_counts: {counts}"))
    assert queue.run() == ends
    assert len(queue.attempts) == attempts


def dead_letter(outcome: Outcome) -> DeadLetter:
    (effect,) = outcome.effects
    assert isinstance(effect, DeadLetter)
    return effect


def test_a_dead_letter_goes_to_the_backout_queue_with_its_reason(build: Build) -> None:
    outcome = take(build("out", "out", "yes", "backout_queue: FAILED"))
    letter = dead_letter(outcome)
    assert (letter.queue, letter.reason) == ("FAILED", "out fails")
    assert letter.envelope.body == b"<unfinished"
    assert letter.envelope.backout_count == 1
    assert "UserException 3001 in f.at_out: out fails" in letter.exceptions


def test_without_a_backout_queue_it_goes_to_the_dead_letter_queue(build: Build) -> None:
    assert dead_letter(take(build("out", "out", "yes"))).queue == "SYSTEM.DEAD.LETTER.QUEUE"


def test_a_backout_queue_that_refuses_leaves_it_to_the_dead_letter_queue(build: Build) -> None:
    flow = build("out", "out", "yes", "backout_queue: FAILED, dead_letter_queue: DLQ")
    assert dead_letter(take(flow, FAILED="full")).queue == "DLQ"


def test_a_message_that_no_queue_takes_stays_where_it_is(build: Build) -> None:
    flow = build("out", "out", "yes", "backout_queue: FAILED, dead_letter_queue: DLQ")
    outcome = take(flow, FAILED="full", DLQ="full")
    assert outcome.result is Result.BACKOUT
    assert "stays where it is" in outcome.logged[-1].text


@pytest.mark.parametrize(
    ("transaction", "persistent", "expected"),
    [
        ("automatic", True, Result.DEAD_LETTER),
        ("automatic", False, Result.DISCARDED),
        ("yes", False, Result.DEAD_LETTER),
        ("no", True, Result.DISCARDED),
    ],
)
def test_automatic_takes_persistent_messages_in_a_unit_of_work(
    build: Build, transaction: str, persistent: bool, expected: Result
) -> None:
    flow = build("out", "out", transaction)
    (outcome,) = flow.process("in", [Envelope(b"", persistent=persistent)], Resources(), NOW)
    assert outcome.result is expected
    assert outcome.transactional is (expected is Result.DEAD_LETTER)


def test_what_is_discarded_is_logged(build: Build) -> None:
    outcome = take(build("out", "out"))
    assert [event.node for event in outcome.logged] == ["in"]
    assert "out fails" in outcome.logged[0].text
    assert "discarded" in outcome.logged[0].text


def test_a_batch_has_one_outcome_for_each_message(build: Build) -> None:
    flow = build("out", "", "automatic")
    outcomes = flow.process("in", [Envelope(b"1"), Envelope(b"2", persistent=True)], Resources(), NOW)
    assert [(outcome.effects[0].envelope.body, outcome.transactional) for outcome in outcomes] == [  # type: ignore[union-attr]
        (b"1", False),
        (b"2", True),
    ]

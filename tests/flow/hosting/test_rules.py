"""What a host does next with a unit of work: the same rules for the inline host and for Spark."""

import pytest

from heliograph.flow.engine.exceptions import ExceptionRecord
from heliograph.flow.engine.outcome import DeadLetter, Outcome, Put, Result
from heliograph.flow.errors import DatabaseError
from heliograph.flow.formats.envelope import Envelope
from heliograph.flow.hosting import INLINE, SPARK, Step, is_lost, unreadable, with_dead_letters

LOST = ExceptionRecord("DB cannot be reached", 2321, kind="DatabaseException", inserts=("08001", 0, "gone"))
WRONG = ExceptionRecord("no such table", 2321, kind="DatabaseException", inserts=("42P01", 0, "no such table"))
BOTH = pytest.mark.parametrize("host", [INLINE, SPARK])


def outcome(result: Result, record: ExceptionRecord = WRONG) -> Outcome:
    return Outcome(result, [], exception=None if result is Result.DONE else record)


DONE, BACKOUT = outcome(Result.DONE), outcome(Result.BACKOUT)
DEAD_LETTER, DISCARDED = outcome(Result.DEAD_LETTER), outcome(Result.DISCARDED)
UNREACHABLE = outcome(Result.BACKOUT, LOST)


class TestBatches:
    @BOTH
    def test_a_batch_of_which_all_is_done_is_committed(self, host):
        assert host.after_batch([DONE, DONE], changed=True).step is Step.COMMIT

    def test_inline_all_are_taken_singly_if_one_fails(self):
        decision = INLINE.after_batch([DONE, BACKOUT, DONE], changed=False)
        assert (decision.step, list(decision.one_by_one)) == (Step.ONE_BY_ONE, [0, 1, 2])

    def test_on_spark_only_those_that_fail_are_taken_singly_if_no_database_was_changed(self):
        decision = SPARK.after_batch([DONE, BACKOUT, DONE, DONE], refused={3}, changed=False)
        assert (decision.step, list(decision.one_by_one)) == (Step.COMMIT_EFFECTS, [1, 3])

    @BOTH
    @pytest.mark.parametrize("failed", [BACKOUT, DEAD_LETTER, DISCARDED])
    def test_changes_of_what_failed_are_undone_with_those_of_the_batch(self, host, failed):
        decision = host.after_batch([DONE, failed], changed=True)
        assert (decision.step, list(decision.one_by_one)) == (Step.ONE_BY_ONE, [0, 1])

    @BOTH
    def test_dead_letters_of_a_batch_without_changes_are_sent_with_it(self, host):
        decision = host.after_batch([DONE, DEAD_LETTER, DISCARDED], changed=False)
        assert (decision.step, list(decision.one_by_one)) == (Step.COMMIT_EFFECTS, [])

    @BOTH
    def test_a_database_that_cannot_be_reached_is_waited_for(self, host):
        assert host.after_batch([DONE, UNREACHABLE], changed=True, spoilt=True).step is Step.LATER

    @BOTH
    def test_a_transaction_that_can_only_be_rolled_back_is_done_again(self, host):
        assert host.after_batch([DONE, DONE], changed=True, spoilt=True).step is Step.ONE_BY_ONE


class TestSingleMessages:
    @BOTH
    @pytest.mark.parametrize(("came", "step"), [(DONE, Step.COMMIT), (DEAD_LETTER, Step.COMMIT_EFFECTS)])
    def test_what_the_engine_has_settled_is_carried_out(self, host, came, step):
        assert host.after_message(came) is step

    def test_inline_a_message_that_fails_is_given_back(self):
        assert INLINE.after_message(BACKOUT) is Step.BACK_OUT

    def test_on_spark_a_message_that_fails_has_all_its_attempts_and_is_then_a_dead_letter(self):
        steps = [SPARK.after_message(BACKOUT, attempts_left=left) for left in (2, 1, 0)]
        assert steps == [Step.BACK_OUT, Step.BACK_OUT, Step.DEAD_LETTER]

    def test_only_inline_may_a_message_be_discarded(self):
        assert INLINE.after_message(DISCARDED) is Step.COMMIT_EFFECTS
        assert SPARK.after_message(DISCARDED, attempts_left=3) is Step.DEAD_LETTER

    @BOTH
    @pytest.mark.parametrize("result", [Result.BACKOUT, Result.DEAD_LETTER, Result.DISCARDED])
    def test_no_message_is_blamed_for_a_database_that_cannot_be_reached(self, host, result):
        assert host.after_message(outcome(result, LOST)) is Step.LATER

    @BOTH
    def test_a_spoilt_transaction_is_done_again(self, host):
        assert host.after_message(DONE, spoilt=True) is Step.ONE_BY_ONE


class TestRefusals:
    @BOTH
    def test_the_flow_is_told_of_a_new_refusal(self, host):
        assert host.after_refusal(alone=True, is_new=True) is Step.ONE_BY_ONE

    @BOTH
    def test_a_refusal_in_a_batch_is_nobodys_fault_yet(self, host):
        assert host.after_refusal(alone=False, is_new=False) is Step.ONE_BY_ONE

    def test_if_the_flow_does_not_heed_it_the_message_is_given_back_or_the_task_stops(self):
        assert INLINE.after_refusal(alone=True, is_new=False) is Step.BACK_OUT
        assert SPARK.after_refusal(alone=True, is_new=False) is Step.STOP


class TestFailedCommits:
    def test_inline_a_message_that_is_alone_is_to_blame(self):
        assert INLINE.after_failed_commit(alone=True) is Step.BACK_OUT

    def test_inline_a_batch_is_taken_singly(self):
        assert INLINE.after_failed_commit(alone=False) is Step.ONE_BY_ONE

    @pytest.mark.parametrize("alone", [True, False])
    def test_inline_nobody_is_to_blame_for_a_lost_connection(self, alone):
        assert INLINE.after_failed_commit(alone=alone, database_lost=True) is Step.LATER
        assert INLINE.after_failed_commit(alone=alone, server_lost=True) is Step.ONE_BY_ONE

    @pytest.mark.parametrize("alone", [True, False])
    def test_on_spark_the_task_stops_and_is_repeated(self, alone):
        assert SPARK.after_failed_commit(alone=alone, database_lost=True) is Step.STOP


def test_messages_are_done_with_after_a_commit_of_any_kind():
    assert {step for step in Step if step.is_done} == {Step.COMMIT, Step.COMMIT_EFFECTS, Step.DEAD_LETTER}


WHY = ExceptionRecord("Node n failed.", 2230, label="f.n", cause=ExceptionRecord("no good", 2439, label="f.n"))


MESSAGE = Envelope(b"body")


@pytest.mark.parametrize("result", [Result.BACKOUT, Result.DISCARDED])
def test_what_cannot_be_given_back_is_put_away_behind_all_other_effects(result):
    put = Put("Q", MESSAGE, False, "out")
    finished = with_dead_letters(Outcome(result, [put], exception=WHY), [MESSAGE], "DEAD", "in")
    first, letter = finished.effects
    assert first is put
    assert isinstance(letter, DeadLetter)
    assert (letter.queue, letter.envelope, letter.node, letter.reason) == ("DEAD", MESSAGE, "in", "no good")
    assert letter.exceptions.splitlines() == [
        "RecoverableException 2230 in f.n: Node n failed.",
        "RecoverableException 2439 in f.n: no good",
    ]


@pytest.mark.parametrize("result", [Result.DONE, Result.DEAD_LETTER])
def test_what_is_settled_gets_no_second_letter(result):
    came = Outcome(result, [], exception=None if result is Result.DONE else WHY)
    assert with_dead_letters(came, [MESSAGE], "DEAD", "in") is came


def test_something_that_is_no_message_is_put_away_as_bytes():
    outcome = unreadable(b"\x00", ValueError("no section"), "DEAD", "in")
    (letter,) = outcome.effects
    assert isinstance(letter, DeadLetter)
    assert (outcome.result, letter.queue, letter.envelope.body, letter.reason) == (
        Result.DEAD_LETTER,
        "DEAD",
        b"\x00",
        "no section",
    )
    assert [event.text for event in outcome.logged] == ["no section"]


def test_a_database_that_shuts_down_is_waited_for_and_one_that_refuses_is_not():
    assert is_lost(DatabaseError("no connection", "08006"))
    assert is_lost(DatabaseError("shutting down", "57P01"))
    assert not is_lost(DatabaseError("no such table", "42P01"))

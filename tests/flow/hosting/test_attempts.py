"""What a host remembers of messages until they come again."""

import pytest

from heliograph.flow.formats.envelope import Envelope
from heliograph.flow.hosting import Attempts, BatchSize, RefusalMemory, Step, Waiting, may_be_put_away
from heliograph.flow.hosting import attempts as module


def message(identifier: bytes = b"m", count: int = 0) -> Envelope:
    return Envelope(b"", message_id=identifier, backout_count=count)


class TestAttempts:
    def test_the_first_failure_that_the_server_counts_may_be_that_of_another_message(self):
        assert Attempts().of(message(count=1)) == 0
        assert Attempts().of(message(count=3)) == 2

    def test_failures_in_this_flow_count_even_if_the_server_was_not_told(self):
        attempts = Attempts()
        attempts.failed(b"m")
        attempts.failed(b"m")
        assert attempts.of(message(count=1)) == 2

    def test_what_is_done_is_forgotten(self):
        attempts = Attempts()
        attempts.failed(b"m")
        attempts.forget(b"m")
        assert attempts.of(message()) == 0

    def test_messages_that_have_failed_are_suspect(self):
        attempts = Attempts()
        attempts.failed(b"m")
        assert attempts.suspect([message(b"other"), message(b"m")])
        assert attempts.suspect([message(b"other", count=1)])
        assert not attempts.suspect([message(b"other")])

    def test_messages_without_an_identifier_are_left_to_the_server_to_count(self):
        attempts = Attempts()
        attempts.failed(b"")
        assert attempts.of(message(b"")) == 0

    def test_what_is_oldest_is_forgotten_first(self, monkeypatch):
        monkeypatch.setattr(module, "_MOST_MESSAGES", 2)
        attempts = Attempts()
        for identifier in (b"1", b"2", b"3"):
            attempts.failed(identifier)
        assert [attempts.of(message(identifier)) for identifier in (b"1", b"2", b"3")] == [0, 1, 1]


class TestThresholdsOfTheServer:
    @pytest.mark.parametrize(("count", "threshold", "expected"), [(0, 0, False), (1, 3, False), (2, 3, True)])
    def test_the_last_failure_before_the_threshold_is_not_told(self, count, threshold, expected):
        assert may_be_put_away(message(count=count), threshold) is expected

    def test_only_the_server_can_count_messages_without_an_identifier(self):
        assert not may_be_put_away(message(b"", count=9), 3)


class TestRefusals:
    def test_they_are_told_once(self):
        memory = RefusalMemory()
        memory.add("m", {}, {("out", "FULL"): "full"})
        assert memory.take("m") == {("out", "FULL"): "full"}
        assert memory.take("m") is None

    def test_those_of_all_attempts_are_told(self):
        memory = RefusalMemory()
        assert memory.add("m", {("out", "A"): "full"}, {("out", "B"): "full"})
        assert memory.take("m") == {("out", "A"): "full", ("out", "B"): "full"}

    def test_what_is_refused_again_is_not_new(self):
        known = {("out", "A"): "full"}
        assert not RefusalMemory().add("m", known, {("out", "A"): "still full"})

    def test_what_is_oldest_is_forgotten_first(self, monkeypatch):
        monkeypatch.setattr(module, "_MOST_REFUSALS", 2)
        memory = RefusalMemory()
        for key in range(4):
            memory.add(key, {}, {("out", "A"): "full"})
        assert [memory.take(key) is not None for key in range(4)] == [False, False, True, True]


class TestBatchSizes:
    def test_as_many_are_taken_singly_as_were_given_back(self):
        size = BatchSize(100)
        size.after(Step.ONE_BY_ONE, 2)
        sizes = []
        for _ in range(3):
            sizes.append(size.most)
            size.after(Step.COMMIT, 1)
        assert sizes == [1, 1, 100]

    def test_a_message_that_was_backed_out_is_taken_singly_again(self):
        size = BatchSize(100)
        size.after(Step.ONE_BY_ONE, 1)
        size.after(Step.BACK_OUT, 1)
        assert size.most == 1

    def test_waiting_for_a_database_changes_nothing(self):
        size = BatchSize(100)
        size.after(Step.ONE_BY_ONE, 1)
        size.after(Step.LATER, 1)
        size.after(Step.COMMIT_EFFECTS, 1)
        assert size.most == 100

    def test_batches_are_large_again_if_others_have_taken_the_messages(self):
        size = BatchSize(100)
        size.after(Step.ONE_BY_ONE, 100)
        size.nothing_there()
        assert size.most == 100

    def test_batches_get_smaller_with_many_effects(self):
        size = BatchSize(100)
        size.after(Step.COMMIT, 100, effects=20_000)
        assert size.most == 10


def test_pauses_double_up_to_five_seconds():
    waiting = Waiting()
    assert [waiting.pause(0.0) for _ in range(8)] == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]


def test_they_begin_anew_after_a_success():
    waiting = Waiting()
    waiting.pause(0.0)
    waiting.pause(0.0)
    waiting.over()
    assert not waiting.has_begun
    assert waiting.pause(0.0) == 0.1


def test_patience_begins_with_the_first_failure():
    waiting = Waiting(patience=30.0)
    assert waiting.pause(100.0) == 0.1
    assert waiting.pause(130.0) == 0.2
    assert waiting.pause(130.1) is None

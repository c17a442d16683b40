"""Any sequence of messages, acknowledgements, crashes, checkpoints and compactions leaves what a simple model says."""

import errno
import os
import shutil
import tempfile
import time
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from heliograph.errors import Problem
from heliograph.log.kinds import MESSAGES
from heliograph.log.segment import segment_files
from log.accounts import Account, crash, unforced


class Model:
    """What the ledger is to know, as plain sets."""

    def __init__(self):
        self.cursors = {}
        """Number to payloads by offset."""
        self.facts = {}

    def copy(self):
        other = Model()
        other.cursors = {number: dict(payloads) for number, payloads in self.cursors.items()}
        other.facts = dict(self.facts)
        return other


class LedgerIsTheModel(RuleBasedStateMachine):
    SEGMENT_SIZE = 700
    CHUNK_SIZE = 400

    def __init__(self):
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="ledger-"))
        self.lives = 0
        self.patches = [
            mock.patch("heliograph.log.cursor.CHUNK_SIZE", self.CHUNK_SIZE),
            mock.patch("heliograph.log.upkeep.CHUNK_SIZE", self.CHUNK_SIZE, create=True),
            mock.patch("heliograph.log.upkeep._READ_AT_ONCE", 300),
            mock.patch("heliograph.log.cursor_reading._READ_AT_ONCE", 300),
            unforced(),
        ]
        for patch in self.patches:
            patch.__enter__()
        self.model = Model()
        self.acked = {}
        """Number to offsets that are acknowledged."""
        self.unlogged_acks = []
        self.history = []
        """Changes since the log was last known to be safe: where the record ends, and the model from then on."""
        self.work = None
        self.number = 0
        self.open(self.root / "0")

    def open(self, directory):
        self.account = Account(directory, segment_size=self.SEGMENT_SIZE)
        self.ledger = self.account.ledger
        self.readings = {}
        self.work = None
        self.history = []
        self.unlogged_acks = []
        self.all_is_safe()

    def all_is_safe(self):
        """From here on nothing may be lost any more."""
        self.safe = self.ledger.end
        self.safe_acks = {number: set(acked) for number, acked in self.acked.items()}
        self.history = [(self.safe, self.model.copy())]

    def changed(self):
        self.history.append((self.ledger.end, self.model.copy()))

    def some_cursor(self, data):
        return self.ledger.cursors[data.draw(st.sampled_from(sorted(self.model.cursors)))]

    # What happens to a ledger

    @precondition(lambda self: len(self.model.cursors) < 5)
    @rule()
    def new_cursor(self):
        cursor = self.ledger.new_cursor()
        assert cursor.number not in self.model.cursors
        self.model.cursors[cursor.number] = {}
        self.acked[cursor.number] = set()
        self.changed()

    @precondition(lambda self: self.model.cursors)
    @rule(data=st.data())
    def drop_cursor(self, data):
        cursor = self.some_cursor(data)
        self.ledger.drop_cursor(cursor)
        del self.model.cursors[cursor.number]
        self.readings.pop(cursor.number, None)
        self.changed()

    @precondition(lambda self: self.model.cursors)
    @rule(data=st.data(), count=st.integers(1, 4), size=st.sampled_from([0, 8, 60, 300]))
    def store(self, data, count, size):
        numbers = data.draw(st.sets(st.sampled_from(sorted(self.model.cursors))))
        payloads = [b"%06d" % (self.number + n) + bytes(size) for n in range(count)]
        self.number += count
        self.account.store([self.ledger.cursors[number] for number in numbers], payloads)
        for number in numbers:
            known = self.model.cursors[number]
            known.update(enumerate(payloads, len(known)))
        self.changed()

    @precondition(lambda self: any(self.model.cursors.values()))
    @rule(data=st.data(), in_order=st.booleans())
    def acknowledge(self, data, in_order):
        number = data.draw(st.sampled_from(sorted(n for n, known in self.model.cursors.items() if known)))
        known = self.model.cursors[number]
        pending = sorted(known.keys() - self.acked[number])
        if not pending:
            return
        lo = pending[0] if in_order else data.draw(st.sampled_from(pending))
        hi = data.draw(st.integers(lo + 1, len(known)))
        self.ledger.acknowledge(self.ledger.cursors[number], lo, hi)
        self.acked[number].update(range(lo, hi))

    @rule(key=st.sampled_from("abc"), value=st.text(max_size=3))
    def set_fact(self, key, value):
        self.account.set(key, value)
        self.model.facts[key] = value
        self.changed()

    @rule(key=st.sampled_from("abc"))
    def clear_fact(self, key):
        self.account.clear(key)
        self.model.facts.pop(key, None)
        self.changed()

    @rule()
    def end_turn(self):
        # All of it is written before the next turn, or how batches are cut would depend on the disk's mood. A crash
        # may lose it all the same.
        assert self.ledger.wait()

    @rule()
    def wait(self):
        assert self.ledger.wait()
        self.all_is_safe()

    # Upkeep, bit by bit or at once

    @precondition(lambda self: self.work is None)
    @rule(kind=st.sampled_from(["checkpoint", "tidy", "tidy all"]))
    def begin_work(self, kind):
        upkeep = self.account.upkeep
        self.work = upkeep._checkpoint() if kind == "checkpoint" else upkeep._tidy(0.25 if kind == "tidy" else 1.0)

    @precondition(lambda self: self.work is not None)
    @rule(steps=st.integers(1, 5))
    def go_on_with_work(self, steps):
        for _ in range(steps):
            waits_for = next(self.work, None)
            if waits_for is None:
                self.work = None
                return
            if waits_for:
                self.wait()

    @precondition(lambda self: self.work is None)
    @rule()
    def compact(self):
        self.account.upkeep.compact()
        self.wait()

    # Ends

    def next_directory(self):
        self.lives += 1
        return self.root / str(self.lives)

    @rule(data=st.data())
    def crash(self, data):
        assert self.ledger.wait()
        end = self.ledger.end
        safe_acks = self.safe_acks
        directory = self.next_directory()
        crash(self.account.directory, directory, data.draw(st.integers(self.safe, end), label="cut"))
        history, acked = self.history, self.acked
        self.account.close()
        self.open(directory)
        # What is there is all up to some point after what was safe.
        self.model = [model for position, model in history if position <= self.ledger.end][-1].copy()
        self.acked = {number: self.acked_now(number) for number in self.model.cursors}
        for number, found in self.acked.items():
            known = self.model.cursors[number].keys()
            assert safe_acks.get(number, set()) & known <= found <= acked[number], "acknowledgements"
        self.all_is_safe()
        self.everything_can_be_read()

    @rule()
    def close_and_open(self):
        self.account.close()
        self.open(self.account.directory)
        self.everything_can_be_read()

    def acked_now(self, number):
        cursor = self.ledger.cursors[number]
        pending = {o for lo, hi in cursor.pending_ranges() for o in range(lo, hi)}
        return set(range(cursor.next)) - pending

    # What holds

    @precondition(lambda self: self.model.cursors)
    @rule(data=st.data())
    def read(self, data):
        """Whoever has been reading goes on, or back, whatever upkeep has done meanwhile."""
        cursor = self.some_cursor(data)
        known = self.model.cursors[cursor.number]
        pending = sorted(known.keys() - self.acked[cursor.number])
        if not pending:
            return
        reading = self.readings.setdefault(cursor.number, self.ledger.reading(cursor))
        offset = data.draw(st.sampled_from(pending))
        found = self.account.payload(reading, offset)
        if found is None:
            assert self.ledger.wait()
            self.all_is_safe()
            found = self.account.payload(reading, offset)
        assert found == known[offset]

    def everything_can_be_read(self):
        for number, known in self.model.cursors.items():
            expected = {o: payload for o, payload in known.items() if o not in self.acked[number]}
            assert self.account.pending(self.ledger.cursors[number]) == expected

    @invariant()
    def cursors_are_the_same(self):
        assert self.ledger.cursors.keys() == self.model.cursors.keys()
        for number, known in self.model.cursors.items():
            cursor = self.ledger.cursors[number]
            acked = self.acked[number]
            assert cursor.next == len(known)
            assert cursor.pending == len(known) - len(acked)
            assert cursor.first == min(known.keys() - acked, default=len(known))
            for chunk in cursor.chunks:
                assert cursor.pending_within(chunk.first, chunk.next), "a chunk that nobody needs"

    @invariant()
    def facts_are_the_same(self):
        assert self.account.facts == self.model.facts
        positions = [record.position for record in self.account.seen]
        assert positions == sorted(positions)

    def teardown(self):
        try:
            if self.work is not None:
                self.go_on_with_work(1_000_000)
            assert self.ledger.wait()
            self.everything_can_be_read()
            self.account.upkeep.compact()
            self.everything_can_be_read()
            self.little_is_left()
        finally:
            self.account.close()
            for patch in self.patches:
                patch.__exit__(None, None, None)
            shutil.rmtree(self.root)

    def little_is_left(self):
        """The room on the disk is that of what is pending, for each who waits for it, and a constant."""
        live = 0
        for number, known in self.model.cursors.items():
            cursor = self.ledger.cursors[number]
            reading = self.ledger.reading(cursor)
            found = {reading.find(o).record for o in known.keys() - self.acked[number]}
            live += sum(record.end - record.position for record in found)
        assert self.account.size() <= 4 * live + 6000


class WithLargeChunks(LedgerIsTheModel):
    """Chunks that span many segments."""

    CHUNK_SIZE = 256 << 10


SETTINGS = settings(max_examples=60, stateful_step_count=50, deadline=None)
TestLedgerIsTheModel = LedgerIsTheModel.TestCase
TestLedgerIsTheModel.settings = SETTINGS
TestWithLargeChunks = WithLargeChunks.TestCase
TestWithLargeChunks.settings = SETTINGS


def segments(account: Account) -> int:
    return len(segment_files(account.directory))


@pytest.fixture
def account(tmp_path):
    with unforced():
        account = Account(tmp_path / "log", segment_size=2000)
        yield account
        account.close()


def fill(account: Account, cursor, number: int, size: int = 100) -> None:
    for n in range(number):
        account.store([cursor], [b"%05d" % n + bytes(size)])
        account.ledger.wait()


def test_compacting_leaves_nothing_of_what_is_acknowledged(account) -> None:
    cursor = account.ledger.new_cursor()
    fill(account, cursor, 100)
    assert segments(account) > 5
    account.ledger.acknowledge(cursor, 0, 100)
    account.upkeep.compact()
    assert segments(account) <= 2
    assert account.size() < 3000


def test_compacting_copies_the_few_that_are_left(account) -> None:
    cursor = account.ledger.new_cursor()
    fill(account, cursor, 100)
    expected = account.pending(cursor)
    for n in range(100):
        if n % 10:
            account.ledger.acknowledge(cursor, n, n + 1)
    before = account.size()
    account.upkeep.compact()
    assert account.size() < before / 2
    assert account.pending(cursor) == {n: expected[n] for n in range(0, 100, 10)}


def test_what_stands_between_copies_stays_where_it_is(account) -> None:
    """A segment with copies has early and late messages of a cursor; those between them may be elsewhere."""
    one, other = account.ledger.new_cursor(), account.ledger.new_cursor()
    fill(account, one, 2)
    fill(account, other, 20)
    fill(account, one, 30)
    fill(account, other, 20)
    fill(account, one, 2)
    account.ledger.acknowledge(other, 0, 40)
    expected = account.pending(one)
    for _ in range(4):
        account.upkeep.checkpoint()
        account.upkeep._finish(account.upkeep._tidy(0.5))
        assert account.pending(one) == expected
    account.upkeep.compact()
    assert account.pending(one) == expected


def test_moving_messages_does_not_make_their_cursor_larger(account) -> None:
    one, other = account.ledger.new_cursor(), account.ledger.new_cursor()
    for _ in range(20):
        fill(account, other, 5)
        fill(account, one, 1)
    before = one.bytes
    account.ledger.acknowledge(other, 0, 100)
    account.upkeep.compact()
    assert one.bytes <= before


def test_a_ledger_is_opened_from_its_last_checkpoint_on(account) -> None:
    cursor = account.ledger.new_cursor()
    fill(account, cursor, 50)
    account.set("a", "1")
    account.upkeep.checkpoint()
    fill(account, cursor, 3)
    account.close()
    account.__init__(account.directory, segment_size=2000)
    assert [record.kind for record in account.seen].count(MESSAGES) == 3
    assert account.facts == {"a": "1"}
    assert account.ledger.cursors[cursor.number].pending == 53


def test_a_segment_is_not_deleted_before_its_copies_are_safe(account, monkeypatch) -> None:
    cursor = account.ledger.new_cursor()
    fill(account, cursor, 40)
    for n in range(40):
        if n % 10:
            account.ledger.acknowledge(cursor, n, n + 1)
    account.upkeep.checkpoint()
    before = segment_files(account.directory)

    def full(*_) -> None:
        raise OSError(errno.ENOSPC, "no room")

    write = os.pwritev
    monkeypatch.setattr("heliograph.log.upkeep._LOOK_AFTER", 0)
    monkeypatch.setattr(os, "pwritev", full)
    monkeypatch.setattr("heliograph.log.upkeep._LIVE_ENOUGH", 0.9)
    account.set("a", "1")
    for _ in range(10):
        account.upkeep.work(0.01)
    assert segment_files(account.directory) == before
    monkeypatch.setattr(os, "pwritev", write)
    while not account.ledger.wait():
        time.sleep(0.01)
    while account.upkeep.busy:
        account.upkeep.work(0.01)
    assert not set(before[:-2]) & set(segment_files(account.directory))
    assert len(account.pending(cursor)) == 4


def test_reading_waits_for_messages_behind_a_batch_that_was_never_finished(account, tmp_path) -> None:
    cursor = account.ledger.new_cursor()
    account.store([cursor], [b"first"])
    account.ledger.wait()
    end = account.ledger.end
    account.set("a", "1")
    account.ledger.wait()
    crash(account.directory, tmp_path / "copy", end + 40)  # the start of a batch is there, and nothing of it
    again = Account(tmp_path / "copy")
    cursor = again.ledger.cursors[1]
    reading = again.ledger.reading(cursor)
    assert again.payload(reading, 0) == b"first"
    assert again.ledger.end > end
    again.store([cursor], [b"second"])
    assert again.payload(reading, 1) is None
    again.ledger.wait()
    assert again.payload(reading, 1) == b"second"
    again.close()


def test_upkeep_at_once_gives_up_when_the_disk_is_full(account, monkeypatch) -> None:
    """Or a server could not be stopped before somebody has made room."""
    cursor = account.ledger.new_cursor()
    fill(account, cursor, 3)

    def full(*_) -> None:
        raise OSError(errno.ENOSPC, "no room")

    monkeypatch.setattr(os, "pwritev", full)
    with pytest.raises(Problem, match="no room"):
        account.upkeep.checkpoint()
    with pytest.raises(Problem, match="no room"):
        account.upkeep.compact()
    assert account.ledger.trouble is not None

"""Any sequence of messages, acknowledgements, crashes, checkpoints and compactions leaves what a simple model says."""

import errno
import os
import random
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
from heliograph.log.log_kinds import MESSAGES
from heliograph.log.segment import segment_files
from log.recording_logs import Account, crash, unforced

WAYS = ["store", "store_queued", "store_mixed"]
"""Of an account, to store messages in each form."""
FORMS = st.sampled_from(WAYS)


class Model:
    """What the ledger is to know, as plain sets."""

    def __init__(self):
        self.cursors = {}
        """Number to payloads by offset."""
        self.facts = {}
        self.group_acks = set()
        """Number and offset of all that was acknowledged in groups."""

    def copy(self):
        other = Model()
        other.cursors = {number: dict(payloads) for number, payloads in self.cursors.items()}
        other.facts = dict(self.facts)
        other.group_acks = set(self.group_acks)
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
            mock.patch("heliograph.log.maintenance.CHUNK_SIZE", self.CHUNK_SIZE, create=True),
            mock.patch("heliograph.log.maintenance._READ_AT_ONCE", 300),
            mock.patch("heliograph.log.maintenance._LOOK_AT_ONCE", 1),
            mock.patch("heliograph.log.cursor_reader._READ_AT_ONCE", 300),
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
        self.model.group_acks = {ack for ack in self.model.group_acks if ack[0] != cursor.number}
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
    @rule(data=st.data(), count=st.integers(1, 4), size=st.sampled_from([0, 8, 60, 300]), form=FORMS)
    def store(self, data, count, size, form):
        numbers = data.draw(st.sets(st.sampled_from(sorted(self.model.cursors))))
        self.store_for(numbers, count, size, form)
        self.changed()

    def store_for(self, numbers, count, size, form):
        """Messages of one topic have one length, others differ."""
        payloads = [b"%06d" % (self.number + n) + bytes(size + n * (form != "store")) for n in range(count)]
        self.number += count
        store = getattr(self.account, form)
        store([self.ledger.cursors[number] for number in numbers], payloads)
        for number in numbers:
            known = self.model.cursors[number]
            known.update(enumerate(payloads, len(known)))

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
        self.acknowledge_for(number, lo, hi)

    def acknowledge_for(self, number, lo, hi):
        self.ledger.acknowledge(self.ledger.cursors[number], lo, hi)
        self.acked[number].update(range(lo, hi))

    @precondition(lambda self: self.model.cursors)
    @rule(data=st.data(), steps=st.integers(0, 5))
    def group(self, data, steps):
        """Several things at once: after any crash, all of them have happened or none."""
        with self.ledger.group():
            self.some_steps(data, steps)
        self.changed()

    @precondition(lambda self: self.model.cursors)
    @rule(data=st.data(), steps=st.integers(0, 5))
    def group_that_fails(self, data, steps):
        before = self.model.copy(), {n: set(acked) for n, acked in self.acked.items()}, dict(self.account.facts)
        end = self.ledger.end
        with pytest.raises(LookupError), self.ledger.group():
            self.some_steps(data, steps)
            raise LookupError
        self.model, self.acked, self.account.facts = before
        assert self.ledger.end == end

    def some_steps(self, data, steps):
        numbers = st.sampled_from(sorted(self.model.cursors))
        for _ in range(steps):
            match data.draw(st.sampled_from(["store", "acknowledge", "fact"])):
                case "store":
                    count, size = data.draw(st.integers(1, 4)), data.draw(st.sampled_from([0, 60, 300]))
                    self.store_for(data.draw(st.sets(numbers)), count, size, data.draw(FORMS))
                case "acknowledge":
                    number = data.draw(numbers)
                    lo = data.draw(st.integers(0, len(self.model.cursors[number])))
                    self.acknowledge_in_group(number, lo, data.draw(st.integers(lo, len(self.model.cursors[number]))))
                case "fact":
                    self.note_fact(data.draw(st.sampled_from("abc")), str(self.number))

    def acknowledge_in_group(self, number, lo, hi):
        self.model.group_acks.update((number, offset) for offset in set(range(lo, hi)) - self.acked[number])
        self.acknowledge_for(number, lo, hi)

    @rule(key=st.sampled_from("abc"), value=st.text(max_size=3))
    def set_fact(self, key, value):
        self.note_fact(key, value)
        self.changed()

    def note_fact(self, key, value):
        self.account.set(key, value)
        self.model.facts[key] = value

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

    @precondition(lambda self: self.work is None)
    @rule(live_enough=st.sampled_from([0.3, 0.6, 1.0]))
    def checkpoint_and_tidy(self, live_enough):
        """As compacting, but segments of which much is needed stay, so that messages get out of order."""
        self.account.upkeep.checkpoint()
        self.work = self.account.upkeep._tidy(live_enough)
        self.wait()
        self.go_on_with_work(1_000_000)

    # Ends

    def next_directory(self):
        self.lives += 1
        return self.root / str(self.lives)

    @rule(data=st.data())
    def crash(self, data):
        assert self.ledger.wait()
        self.crash_at(data.draw(st.integers(self.safe, self.ledger.end), label="cut"))

    def crash_at(self, cut):
        """All of the log is written; a crash leaves it up to this position, which is somewhere behind what was safe."""
        safe_acks = self.safe_acks
        directory = self.next_directory()
        crash(self.account.directory, directory, cut)
        history, acked, group_acks = self.history, self.acked, self.model.group_acks
        self.account.close()
        self.open(directory)
        # What is there is all up to some point after what was safe.
        self.model = [model for position, model in history if position <= self.ledger.end][-1].copy()
        self.acked = {number: self.acked_now(number) for number in self.model.cursors}
        for number, found in self.acked.items():
            known = self.model.cursors[number].keys()
            assert safe_acks.get(number, set()) & known <= found <= acked[number], "acknowledgements"
            there, lost = self.model.group_acks, group_acks - self.model.group_acks
            assert {offset for n, offset in there if n == number} <= found, "acknowledgements in groups"
            assert not {offset for n, offset in lost if n == number} & found, "part of a group"
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
        reading = self.readings.setdefault(cursor.number, self.ledger.cursor_reader(cursor))
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
            reading = self.ledger.cursor_reader(cursor)
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


class Life:
    """Many random steps of the model, chosen so that segments fill, a few messages of each stay, and they are moved.

    That takes hundreds of steps that fit each other, more than Hypothesis puts together.
    """

    def __init__(self, seed, kind):
        self.random = random.Random(seed)
        self.machine = kind()

    def live(self, steps):
        machine, rng = self.machine, self.random
        for _ in range(3):
            machine.new_cursor()
        for _ in range(steps):
            (step,) = rng.choices(
                [self.store, self.group, self.acknowledge, self.tidy, self.read, self.crash, self.others],
                [30, 10, 25, 8, 8, 4, 3],
            )
            step()
            machine.cursors_are_the_same()
            machine.facts_are_the_same()
        machine.teardown()

    def store(self):
        self.store_some()
        self.machine.changed()
        if self.random.random() < 0.7:
            self.machine.end_turn()

    def store_some(self):
        rng, numbers = self.random, sorted(self.machine.model.cursors)
        chosen = rng.sample(numbers, rng.choice([1, 1, 1, min(2, len(numbers))]))
        self.machine.store_for(chosen, rng.choice([1, 1, 3]), rng.choice([8, 60, 200]), rng.choice(WAYS))

    def group(self):
        with self.machine.ledger.group():
            for _ in range(self.random.randint(1, 6)):
                if self.random.random() < 0.6:
                    self.store_some()
                else:
                    number, pending = self.pending()
                    for offset in pending[: self.random.choice([0, 1, 20])]:
                        self.machine.acknowledge_in_group(number, offset, offset + 1)
        self.machine.changed()
        if self.random.random() < 0.7:
            self.machine.end_turn()

    def pending(self):
        machine = self.machine
        number = self.random.choice(sorted(machine.model.cursors))
        return number, sorted(machine.model.cursors[number].keys() - machine.acked[number])

    def acknowledge(self):
        number, pending = self.pending()
        share = self.random.choice([0.1, 0.5, 0.9])
        for offset in pending:
            if self.random.random() < share:
                self.machine.acknowledge_for(number, offset, offset + 1)

    def tidy(self):
        """A checkpoint, and some segments emptied, while other things happen and maybe a crash in between."""
        machine, rng = self.machine, self.random
        if machine.work is None:
            if rng.random() < 0.7:
                machine.account.upkeep.checkpoint()
                machine.wait()
            machine.work = machine.account.upkeep._tidy(rng.choice([0.25, 0.5, 1.0]))
        while machine.work is not None:
            waits_for = next(machine.work, None)
            if waits_for is None:
                machine.work = None
            elif waits_for and rng.random() < 0.1:
                self.crash()
            elif waits_for:
                machine.wait()
            elif rng.random() < 0.3:
                rng.choice([self.store, self.group, self.acknowledge, self.read])()

    def read(self):
        machine = self.machine
        number, pending = self.pending()
        cursor = machine.ledger.cursors[number]
        reading = machine.readings.setdefault(number, machine.ledger.cursor_reader(cursor))
        for offset in self.random.sample(pending, min(3, len(pending))):
            found = machine.account.payload(reading, offset)
            assert found in (None, machine.model.cursors[number][offset])

    def crash(self):
        machine = self.machine
        if self.random.random() < 0.5:
            machine.end_turn()
        assert machine.ledger.wait()
        machine.crash_at(self.random.choice([machine.safe, self.random.randint(machine.safe, machine.ledger.end)]))
        while len(machine.model.cursors) < 2:
            machine.new_cursor()

    def others(self):
        machine = self.machine
        match self.random.randrange(4):
            case 0 if len(machine.model.cursors) > 2:
                number = self.random.choice(sorted(machine.model.cursors))
                machine.ledger.drop_cursor(machine.ledger.cursors[number])
                del machine.model.cursors[number]
                machine.readings.pop(number, None)
                machine.changed()
            case 1 if len(machine.model.cursors) < 5:
                machine.new_cursor()
            case 2:
                machine.close_and_open()
            case _:
                machine.set_fact(self.random.choice("abc"), str(self.random.random()))


@pytest.mark.parametrize("kind", [LedgerIsTheModel, WithLargeChunks])
@pytest.mark.parametrize("seed", range(12))
def test_a_long_life_leaves_what_the_model_says(kind, seed) -> None:
    Life(seed, kind).live(200)


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
    monkeypatch.setattr("heliograph.log.maintenance._LOOK_AFTER", 0)
    monkeypatch.setattr(os, "pwritev", full)
    monkeypatch.setattr("heliograph.log.maintenance._LIVE_ENOUGH", 0.9)
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
    reading = again.ledger.cursor_reader(cursor)
    assert again.payload(reading, 0) == b"first"
    assert again.ledger.end > end
    again.store([cursor], [b"second"])
    assert again.payload(reading, 1) is None
    again.ledger.wait()
    assert again.payload(reading, 1) == b"second"
    again.close()


def test_looking_for_what_is_needed_is_done_bit_by_bit(account, monkeypatch) -> None:
    monkeypatch.setattr("heliograph.log.maintenance._LOOK_AT_ONCE", 10)
    cursors = [account.ledger.new_cursor() for _ in range(100)]
    account.store(cursors, [bytes(100)])
    fill(account, cursors[0], 30)
    account.upkeep.checkpoint()
    account.ledger.wait()
    steps = 0
    for waits_for in account.upkeep._tidy(0.25):
        assert not waits_for  # nothing is deleted or copied
        steps += 1
    assert steps >= 10


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


def test_what_is_acknowledged_while_it_is_moved_cannot_be_missed_after_a_crash(account, tmp_path) -> None:
    """Acknowledged messages are not copied: a crash that forgets the acknowledgement must forget the move, too."""
    cursor = account.ledger.new_cursor()
    fill(account, cursor, 20)
    for n in range(20):
        if n % 5 > 1:  # some of each segment is needed
            account.ledger.acknowledge(cursor, n, n + 1)
    account.upkeep.checkpoint()
    before = account.ledger.end
    for n in range(1, 20, 5):
        account.ledger.acknowledge(cursor, n, n + 1)
    for waits_for in account.upkeep._tidy(1.0):
        if waits_for:  # something has been moved, and nothing deleted yet
            account.ledger.wait()
            break
    for cut in range(before, account.ledger.end + 1, 8):
        directory = tmp_path / f"copy-{cut}"
        crash(account.directory, directory, cut)
        again = Account(directory)
        found = again.ledger.cursors[1]
        assert len(again.pending(found)) == found.pending
        again.close()

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
from log.recording_logs import RecordingLog, crash, unforced

WAYS = ["store", "store_queued", "store_mixed"]
"""Of an recorded, to store messages in each form."""
FORMS = st.sampled_from(WAYS)


class Model:
    """What the log is to know, as plain sets."""

    def __init__(self):
        self.cursors = {}
        """Number to payloads by offset."""
        self.values = {}
        self.group_acks = set()
        """Number and offset of all that was acknowledged in groups."""

    def copy(self):
        other = Model()
        other.cursors = {number: dict(payloads) for number, payloads in self.cursors.items()}
        other.values = dict(self.values)
        other.group_acks = set(self.group_acks)
        return other


class LogIsTheModel(RuleBasedStateMachine):
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
        self.recorded = RecordingLog(directory, segment_size=self.SEGMENT_SIZE)
        self.message_log = self.recorded.message_log
        self.readings = {}
        self.work = None
        self.history = []
        self.unlogged_acks = []
        self.all_is_safe()

    def all_is_safe(self):
        """From here on nothing may be lost any more."""
        self.safe = self.message_log.end
        self.safe_acks = {number: set(acked) for number, acked in self.acked.items()}
        self.history = [(self.safe, self.model.copy())]

    def changed(self):
        self.history.append((self.message_log.end, self.model.copy()))

    def some_cursor(self, data):
        return self.message_log.cursors[data.draw(st.sampled_from(sorted(self.model.cursors)))]

    # What happens to a ledger

    @precondition(lambda self: len(self.model.cursors) < 5)
    @rule()
    def new_cursor(self):
        cursor = self.message_log.new_cursor()
        assert cursor.number not in self.model.cursors
        self.model.cursors[cursor.number] = {}
        self.model.group_acks = {ack for ack in self.model.group_acks if ack[0] != cursor.number}
        self.acked[cursor.number] = set()
        self.changed()

    @precondition(lambda self: self.model.cursors)
    @rule(data=st.data())
    def drop_cursor(self, data):
        cursor = self.some_cursor(data)
        self.message_log.drop_cursor(cursor)
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
        store = getattr(self.recorded, form)
        store([self.message_log.cursors[number] for number in numbers], payloads)
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
        self.message_log.acknowledge(self.message_log.cursors[number], lo, hi)
        self.acked[number].update(range(lo, hi))

    @precondition(lambda self: self.model.cursors)
    @rule(data=st.data(), steps=st.integers(0, 5))
    def group(self, data, steps):
        """Several things at once: after any crash, all of them have happened or none."""
        with self.message_log.group():
            self.some_steps(data, steps)
        self.changed()

    @precondition(lambda self: self.model.cursors)
    @rule(data=st.data(), steps=st.integers(0, 5))
    def group_that_fails(self, data, steps):
        before = self.model.copy(), {n: set(acked) for n, acked in self.acked.items()}, dict(self.recorded.values)
        end = self.message_log.end
        with pytest.raises(LookupError), self.message_log.group():
            self.some_steps(data, steps)
            raise LookupError
        self.model, self.acked, self.recorded.values = before
        assert self.message_log.end == end

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
        self.recorded.set(key, value)
        self.model.values[key] = value

    @rule(key=st.sampled_from("abc"))
    def clear_fact(self, key):
        self.recorded.clear(key)
        self.model.values.pop(key, None)
        self.changed()

    @rule()
    def end_turn(self):
        # All of it is written before the next turn, or how batches are cut would depend on the disk's mood. A crash
        # may lose it all the same.
        assert self.message_log.wait()

    @rule()
    def wait(self):
        assert self.message_log.wait()
        self.all_is_safe()

    # Upkeep, bit by bit or at once

    @precondition(lambda self: self.work is None)
    @rule(kind=st.sampled_from(["checkpoint", "tidy", "tidy all"]))
    def begin_work(self, kind):
        upkeep = self.recorded.maintenance
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
        self.recorded.maintenance.compact()
        self.wait()

    @precondition(lambda self: self.work is None)
    @rule(live_enough=st.sampled_from([0.3, 0.6, 1.0]))
    def checkpoint_and_tidy(self, live_enough):
        """As compacting, but segments of which much is needed stay, so that messages get out of order."""
        self.recorded.maintenance.checkpoint()
        self.work = self.recorded.maintenance._tidy(live_enough)
        self.wait()
        self.go_on_with_work(1_000_000)

    # Ends

    def next_directory(self):
        self.lives += 1
        return self.root / str(self.lives)

    @rule(data=st.data())
    def crash(self, data):
        assert self.message_log.wait()
        self.crash_at(data.draw(st.integers(self.safe, self.message_log.end), label="cut"))

    def crash_at(self, cut):
        """All of the log is written; a crash leaves it up to this position, which is somewhere behind what was safe."""
        safe_acks = self.safe_acks
        directory = self.next_directory()
        crash(self.recorded.directory, directory, cut)
        history, acked, group_acks = self.history, self.acked, self.model.group_acks
        self.recorded.close()
        self.open(directory)
        # What is there is all up to some point after what was safe.
        self.model = [model for position, model in history if position <= self.message_log.end][-1].copy()
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
        self.recorded.close()
        self.open(self.recorded.directory)
        self.everything_can_be_read()

    def acked_now(self, number):
        cursor = self.message_log.cursors[number]
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
        reading = self.readings.setdefault(cursor.number, self.message_log.cursor_reader(cursor))
        offset = data.draw(st.sampled_from(pending))
        found = self.recorded.payload(reading, offset)
        if found is None:
            assert self.message_log.wait()
            self.all_is_safe()
            found = self.recorded.payload(reading, offset)
        assert found == known[offset]

    def everything_can_be_read(self):
        for number, known in self.model.cursors.items():
            expected = {o: payload for o, payload in known.items() if o not in self.acked[number]}
            assert self.recorded.pending(self.message_log.cursors[number]) == expected

    @invariant()
    def cursors_are_the_same(self):
        assert self.message_log.cursors.keys() == self.model.cursors.keys()
        for number, known in self.model.cursors.items():
            cursor = self.message_log.cursors[number]
            acked = self.acked[number]
            assert cursor.next == len(known)
            assert cursor.pending == len(known) - len(acked)
            assert cursor.first == min(known.keys() - acked, default=len(known))
            for chunk in cursor.chunks:
                assert cursor.pending_within(chunk.first, chunk.next), "a chunk that nobody needs"

    @invariant()
    def facts_are_the_same(self):
        assert self.recorded.values == self.model.values
        positions = [record.position for record in self.recorded.seen]
        assert positions == sorted(positions)

    def teardown(self):
        try:
            if self.work is not None:
                self.go_on_with_work(1_000_000)
            assert self.message_log.wait()
            self.everything_can_be_read()
            self.recorded.maintenance.compact()
            self.everything_can_be_read()
            self.little_is_left()
        finally:
            self.recorded.close()
            for patch in self.patches:
                patch.__exit__(None, None, None)
            shutil.rmtree(self.root)

    def little_is_left(self):
        """The room on the disk is that of what is pending, for each who waits for it, and a constant."""
        live = 0
        for number, known in self.model.cursors.items():
            cursor = self.message_log.cursors[number]
            reading = self.message_log.cursor_reader(cursor)
            found = {reading.find(o).record for o in known.keys() - self.acked[number]}
            live += sum(record.end - record.position for record in found)
        assert self.recorded.size() <= 4 * live + 6000


class WithLargeChunks(LogIsTheModel):
    """Chunks that span many segments."""

    CHUNK_SIZE = 256 << 10


SETTINGS = settings(max_examples=60, stateful_step_count=50, deadline=None)
TestLogIsTheModel = LogIsTheModel.TestCase
TestLogIsTheModel.settings = SETTINGS
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
        with self.machine.message_log.group():
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
                machine.recorded.maintenance.checkpoint()
                machine.wait()
            machine.work = machine.recorded.maintenance._tidy(rng.choice([0.25, 0.5, 1.0]))
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
        cursor = machine.message_log.cursors[number]
        reading = machine.readings.setdefault(number, machine.message_log.cursor_reader(cursor))
        for offset in self.random.sample(pending, min(3, len(pending))):
            found = machine.recorded.payload(reading, offset)
            assert found in (None, machine.model.cursors[number][offset])

    def crash(self):
        machine = self.machine
        if self.random.random() < 0.5:
            machine.end_turn()
        assert machine.message_log.wait()
        machine.crash_at(self.random.choice([machine.safe, self.random.randint(machine.safe, machine.message_log.end)]))
        while len(machine.model.cursors) < 2:
            machine.new_cursor()

    def others(self):
        machine = self.machine
        match self.random.randrange(4):
            case 0 if len(machine.model.cursors) > 2:
                number = self.random.choice(sorted(machine.model.cursors))
                machine.message_log.drop_cursor(machine.message_log.cursors[number])
                del machine.model.cursors[number]
                machine.readings.pop(number, None)
                machine.changed()
            case 1 if len(machine.model.cursors) < 5:
                machine.new_cursor()
            case 2:
                machine.close_and_open()
            case _:
                machine.set_fact(self.random.choice("abc"), str(self.random.random()))


@pytest.mark.parametrize("kind", [LogIsTheModel, WithLargeChunks])
@pytest.mark.parametrize("seed", range(12))
def test_a_long_life_leaves_what_the_model_says(kind, seed) -> None:
    Life(seed, kind).live(200)


def segments(recorded: RecordingLog) -> int:
    return len(segment_files(recorded.directory))


def fill(recorded: RecordingLog, cursor, number: int, size: int = 100) -> None:
    for n in range(number):
        recorded.store([cursor], [b"%05d" % n + bytes(size)])
        recorded.message_log.wait()


def test_compacting_leaves_nothing_of_what_is_acknowledged(recorded) -> None:
    cursor = recorded.message_log.new_cursor()
    fill(recorded, cursor, 100)
    assert segments(recorded) > 5
    recorded.message_log.acknowledge(cursor, 0, 100)
    recorded.maintenance.compact()
    assert segments(recorded) <= 2
    assert recorded.size() < 3000


def test_compacting_copies_the_few_that_are_left(recorded) -> None:
    cursor = recorded.message_log.new_cursor()
    fill(recorded, cursor, 100)
    expected = recorded.pending(cursor)
    for n in range(100):
        if n % 10:
            recorded.message_log.acknowledge(cursor, n, n + 1)
    before = recorded.size()
    recorded.maintenance.compact()
    assert recorded.size() < before / 2
    assert recorded.pending(cursor) == {n: expected[n] for n in range(0, 100, 10)}


def test_what_stands_between_copies_stays_where_it_is(recorded) -> None:
    """A segment with copies has early and late messages of a cursor; those between them may be elsewhere."""
    one, other = recorded.message_log.new_cursor(), recorded.message_log.new_cursor()
    fill(recorded, one, 2)
    fill(recorded, other, 20)
    fill(recorded, one, 30)
    fill(recorded, other, 20)
    fill(recorded, one, 2)
    recorded.message_log.acknowledge(other, 0, 40)
    expected = recorded.pending(one)
    for _ in range(4):
        recorded.maintenance.checkpoint()
        recorded.maintenance._finish(recorded.maintenance._tidy(0.5))
        assert recorded.pending(one) == expected
    recorded.maintenance.compact()
    assert recorded.pending(one) == expected


def test_moving_messages_does_not_make_their_cursor_larger(recorded) -> None:
    one, other = recorded.message_log.new_cursor(), recorded.message_log.new_cursor()
    for _ in range(20):
        fill(recorded, other, 5)
        fill(recorded, one, 1)
    before = one.bytes
    recorded.message_log.acknowledge(other, 0, 100)
    recorded.maintenance.compact()
    assert one.bytes <= before


def test_a_log_is_opened_from_its_last_checkpoint_on(recorded) -> None:
    cursor = recorded.message_log.new_cursor()
    fill(recorded, cursor, 50)
    recorded.set("a", "1")
    recorded.maintenance.checkpoint()
    fill(recorded, cursor, 3)
    recorded.close()
    recorded.__init__(recorded.directory, segment_size=2000)
    assert [record.kind for record in recorded.seen].count(MESSAGES) == 3
    assert recorded.values == {"a": "1"}
    assert recorded.message_log.cursors[cursor.number].pending == 53


def test_a_segment_is_not_deleted_before_its_copies_are_safe(recorded, monkeypatch) -> None:
    cursor = recorded.message_log.new_cursor()
    fill(recorded, cursor, 40)
    for n in range(40):
        if n % 10:
            recorded.message_log.acknowledge(cursor, n, n + 1)
    recorded.maintenance.checkpoint()
    before = segment_files(recorded.directory)

    def full(*_) -> None:
        raise OSError(errno.ENOSPC, "no room")

    write = os.pwritev
    monkeypatch.setattr("heliograph.log.maintenance._LOOK_AFTER", 0)
    monkeypatch.setattr(os, "pwritev", full)
    monkeypatch.setattr("heliograph.log.maintenance._LIVE_ENOUGH", 0.9)
    recorded.set("a", "1")
    for _ in range(10):
        recorded.maintenance.work(0.01)
    assert segment_files(recorded.directory) == before
    monkeypatch.setattr(os, "pwritev", write)
    while not recorded.message_log.wait():
        time.sleep(0.01)
    while recorded.maintenance.busy:
        recorded.maintenance.work(0.01)
    assert not set(before[:-2]) & set(segment_files(recorded.directory))
    assert len(recorded.pending(cursor)) == 4


def test_reading_waits_for_messages_behind_a_batch_that_was_never_finished(recorded, tmp_path) -> None:
    cursor = recorded.message_log.new_cursor()
    recorded.store([cursor], [b"first"])
    recorded.message_log.wait()
    end = recorded.message_log.end
    recorded.set("a", "1")
    recorded.message_log.wait()
    crash(recorded.directory, tmp_path / "copy", end + 40)  # the start of a batch is there, and nothing of it
    again = RecordingLog(tmp_path / "copy")
    cursor = again.message_log.cursors[1]
    reading = again.message_log.cursor_reader(cursor)
    assert again.payload(reading, 0) == b"first"
    assert again.message_log.end > end
    again.store([cursor], [b"second"])
    assert again.payload(reading, 1) is None
    again.message_log.wait()
    assert again.payload(reading, 1) == b"second"
    again.close()


def test_looking_for_what_is_needed_is_done_bit_by_bit(recorded, monkeypatch) -> None:
    monkeypatch.setattr("heliograph.log.maintenance._LOOK_AT_ONCE", 10)
    cursors = [recorded.message_log.new_cursor() for _ in range(100)]
    recorded.store(cursors, [bytes(100)])
    fill(recorded, cursors[0], 30)
    recorded.maintenance.checkpoint()
    recorded.message_log.wait()
    steps = 0
    for waits_for in recorded.maintenance._tidy(0.25):
        assert not waits_for  # nothing is deleted or copied
        steps += 1
    assert steps >= 10


def test_maintenance_at_once_gives_up_when_the_disk_is_full(recorded, monkeypatch) -> None:
    """Or a server could not be stopped before somebody has made room."""
    cursor = recorded.message_log.new_cursor()
    fill(recorded, cursor, 3)

    def full(*_) -> None:
        raise OSError(errno.ENOSPC, "no room")

    monkeypatch.setattr(os, "pwritev", full)
    with pytest.raises(Problem, match="no room"):
        recorded.maintenance.checkpoint()
    with pytest.raises(Problem, match="no room"):
        recorded.maintenance.compact()
    assert recorded.message_log.trouble is not None


def test_what_is_acknowledged_while_it_is_moved_cannot_be_missed_after_a_crash(recorded, tmp_path) -> None:
    """Acknowledged messages are not copied: a crash that forgets the acknowledgement must forget the move, too."""
    cursor = recorded.message_log.new_cursor()
    fill(recorded, cursor, 20)
    for n in range(20):
        if n % 5 > 1:  # some of each segment is needed
            recorded.message_log.acknowledge(cursor, n, n + 1)
    recorded.maintenance.checkpoint()
    before = recorded.message_log.end
    for n in range(1, 20, 5):
        recorded.message_log.acknowledge(cursor, n, n + 1)
    for waits_for in recorded.maintenance._tidy(1.0):
        if waits_for:  # something has been moved, and nothing deleted yet
            recorded.message_log.wait()
            break
    for cut in range(before, recorded.message_log.end + 1, 8):
        directory = tmp_path / f"copy-{cut}"
        crash(recorded.directory, directory, cut)
        again = RecordingLog(directory)
        found = again.message_log.cursors[1]
        assert len(again.pending(found)) == found.pending
        again.close()

"""Whatever happens: nothing is lost, nothing comes twice, order is kept, and no unit of work happens by halves.

The model is plain lists. A message is in one queue, in one of these states: `uncommitted`, `pending` (put, but not safe
yet), `waiting`, `taken`, or `in work`.
"""

import shutil
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from unittest.mock import patch

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from broker.queue_scenes import Consumer, Scene, message, text_of
from heliograph.broker.core.queue_definition import DEAD_LETTER_QUEUE, Order
from heliograph.broker.queues.consumer import ACCEPTED, FAILED, RELEASED, rejected

QUEUES = {
    "FIFO": {"order": Order.FIFO},
    "PRIORITY": {},
    "BACKOUT": {"backout_threshold": 2, "backout_queue": "FIFO"},
}
NAMES = [*QUEUES, DEAD_LETTER_QUEUE]


@dataclass
class Known:
    """What the model knows of a message."""

    text: str
    persistent: bool
    priority: int
    queue: str
    state: str = "pending"
    order: int = 0
    deliveries: int = 0


@dataclass
class KnownWork:
    """What the model knows of a unit of work."""

    work: object
    puts: list[Known] = field(default_factory=list)
    gets: list[Known] = field(default_factory=list)


class QueueGuarantees(RuleBasedStateMachine):
    """The rules are all that can happen to queues; each checks what it sees."""

    def __init__(self):
        super().__init__()
        self.unforced = patch("os.fsync")  # which takes more time than all the rest
        self.unforced.start()
        self.root = Path(tempfile.mkdtemp())
        self.scene = Scene(self.root)
        self.scene.queues.memory.budget = 2_000
        for name, attributes in QUEUES.items():
            self.scene.queue(name, **attributes)
        self.scene.turn()
        self.number = 0
        self.order = 0
        self.messages: list[Known] = []
        self.waits_for_safety: list[Known] = []
        self.taken: dict[str, object] = {}
        """Entries that were delivered, by text."""
        self.works: list[KnownWork] = []
        self._is_safe()

    # The model

    def _is_safe(self):
        """Everything up to here is safe: that is what a crash leaves at the least."""
        for known in self.waits_for_safety:
            self._becomes_visible(known)
        self.waits_for_safety = []
        self.safe_position = self.scene.store.ledger.safe
        self.safe_messages = [
            replace(known, state="waiting")
            for known in self.messages
            if known.persistent and known.state != "uncommitted"
        ]
        self.works_since: list[KnownWork] = []
        self.gone_since: set[str] = set()

    def _becomes_visible(self, known):
        self.order += 1
        known.order = self.order
        known.state = "waiting"

    def _waiting(self, name):
        """The messages of a queue that can be got, in order."""
        found = [known for known in self.messages if known.queue == name and known.state == "waiting"]
        fifo = QUEUES.get(name, {}).get("order") is Order.FIFO
        return sorted(found, key=lambda known: (0 if fifo else -known.priority, known.order))

    def _goes(self, known):
        self.messages.remove(known)
        self.gone_since.add(known.text)

    def _dies(self, known, name):
        """A message becomes a dead letter."""
        known.queue = name
        known.deliveries = 0
        self.gone_since.add(known.text)
        if known.persistent:
            known.state = "pending"
            self.waits_for_safety.append(known)
        else:
            self._becomes_visible(known)

    def _fails(self, known):
        known.deliveries += 1
        if known.queue == "BACKOUT" and known.deliveries >= 2:
            self._dies(known, "FIFO")
        else:
            known.state = "waiting"

    # Rules

    @rule(
        name=st.sampled_from(list(QUEUES)),
        run=st.lists(st.tuples(st.booleans(), st.sampled_from([4, 4, 7])), min_size=1, max_size=5),
        data=st.data(),
    )
    def put(self, name, run, data):
        work = data.draw(st.sampled_from([None, *self.works]), "work")
        new = []
        for persistent, priority in run:
            self.number += 1
            new.append(Known(f"m{self.number}", persistent, priority, name))
        payloads = [message(k.text, durable=k.persistent, priority=k.priority, subject="x" * 50) for k in new]
        answer = self.scene.queues.find(name).put(payloads, work=work.work if work else None)
        assert not answer.refused
        self.messages += new
        if work is not None:
            assert not answer.stored
            for known in new:
                known.state = "uncommitted"
            work.puts += new
            return
        assert answer.stored == any(known.persistent for known in new)
        for known in new:
            if known.persistent:
                self.waits_for_safety.append(known)
            else:
                self._becomes_visible(known)

    @rule(name=st.sampled_from(NAMES), most=st.integers(1, 7))
    def get(self, name, most):
        queue = self.scene.queues.find(name)
        consumer = Consumer(credit=most)
        queue.add_consumer(consumer)
        queue.serve(consumer)
        queue.remove_consumer(consumer)
        expected = self._waiting(name)[:most]
        assert consumer.texts == [known.text for known in expected]
        assert [entry.deliveries for entry in consumer.entries] == [known.deliveries for known in expected]
        for known, entry in zip(expected, consumer.entries, strict=True):
            known.state = "taken"
            self.taken[known.text] = entry

    @precondition(lambda self: self.taken)
    @rule(data=st.data(), outcome=st.sampled_from([ACCEPTED, ACCEPTED, RELEASED, FAILED, rejected("no")]))
    def settle(self, data, outcome):
        chosen = data.draw(
            st.lists(st.sampled_from(sorted(self.taken)), min_size=1, max_size=4, unique=True), "messages"
        )
        by_text = {known.text: known for known in self.messages}
        groups = {name: [by_text[text] for text in chosen if by_text[text].queue == name] for name in NAMES}
        for name, some in groups.items():
            entries = [self.taken.pop(known.text) for known in some]
            if some:
                self.scene.queues.find(name).settle(entries, outcome)
            for known in some:
                if outcome.accepted:
                    self._goes(known)
                elif outcome.rejected and known.queue != DEAD_LETTER_QUEUE:
                    self._dies(known, DEAD_LETTER_QUEUE)
                elif outcome.rejected:
                    known.deliveries += 1
                    known.state = "waiting"
                elif outcome.failed:
                    self._fails(known)
                else:
                    known.state = "waiting"

    @precondition(lambda self: len(self.works) < 3)
    @rule()
    def begin(self):
        self.works.append(KnownWork(self.scene.queues.begin()))

    @precondition(lambda self: self.works and self.taken)
    @rule(data=st.data())
    def settle_in_work(self, data):
        work = data.draw(st.sampled_from(self.works), "work")
        chosen = data.draw(
            st.lists(st.sampled_from(sorted(self.taken)), min_size=1, max_size=4, unique=True), "messages"
        )
        by_text = {known.text: known for known in self.messages}
        for text in chosen:
            known = by_text[text]
            self.scene.queues.find(known.queue).settle([self.taken.pop(text)], ACCEPTED, work=work.work)
            known.state = "in work"
            work.gets.append(known)

    @precondition(lambda self: self.works)
    @rule(data=st.data())
    def commit(self, data):
        work = data.draw(st.sampled_from(self.works), "work")
        self.works.remove(work)
        answers = []
        work.work.commit(answers.append)
        for known in work.gets:
            self._goes(known)
        if any(known.persistent for known in work.puts + work.gets):
            assert not answers
            self.works_since.append(work)
            by_queue = sorted(work.puts, key=lambda known: NAMES.index(known.queue))
            self.waits_for_safety += by_queue
            for known in by_queue:
                known.state = "pending"
        else:
            assert answers == [None]
            for known in work.puts:
                self._becomes_visible(known)

    @precondition(lambda self: self.works)
    @rule(data=st.data())
    def roll_back(self, data):
        work = data.draw(st.sampled_from(self.works), "work")
        self.works.remove(work)
        work.work.roll_back()
        for known in work.puts:
            self.messages.remove(known)
        for known in work.gets:
            self._fails(known)

    @rule()
    def turn_ends(self):
        """But nothing becomes safe yet."""
        self.scene.broker.turn.write_down()

    @rule()
    def all_is_safe(self):
        self.scene.turn()
        self._is_safe()

    @rule()
    def look(self):
        self._check()

    @rule()
    def checkpoint(self):
        self.scene.turn()
        self._is_safe()
        self.scene.store.upkeep.compact()
        self.safe_position = self.scene.store.ledger.safe

    @rule(stopped=st.booleans())
    def restart(self, stopped):
        self.scene.turn()
        self._is_safe()
        self._start_again(self.scene.restart if stopped else self.scene.crash)
        self._check()

    @rule()
    def crash_without_what_was_not_safe(self):
        self._start_again(lambda: self.scene.crash(cut=self.safe_position))
        self._check()

    @rule(share=st.floats(0, 1))
    def crash_with_part_of_what_was_not_safe(self, share):
        """Any part of what was written may be there: whole records of it count."""
        self.scene.broker.turn.write_down()
        end = self.scene.store.ledger.end
        cut = self.safe_position + int((end - self.safe_position) * share)
        new = [known for known in self.waits_for_safety if known.persistent]
        works, gone = self.works_since, self.gone_since
        self._start_again(lambda: self.scene.crash(cut=cut))
        there = {name: [text_of(e.payload) for e in self.scene.queues.find(name).browse()] for name in NAMES}
        texts = [text for found in there.values() for text in found]
        assert len(texts) == len(set(texts))
        before = {known.text for known in self.messages}
        assert set(texts) <= before | {known.text for known in new}
        assert before - gone <= set(texts)
        for work in works:
            put = {known.text in texts for known in work.puts if known.persistent}
            kept = {known.text in texts for known in work.gets if known.persistent and known.text in before}
            assert len(put) <= 1
            assert len(kept) <= 1
            assert not put or not kept or put != kept
        by_text = {known.text: known for known in self.messages} | {
            known.text: known for known in new if known.text in texts and known.text not in before
        }
        moved = {known.text: known for known in new}
        self.messages = []
        for name, found in there.items():
            for text in found:
                known = by_text[text]
                if known.queue != name:
                    known = moved[text]
                    assert known.queue == name
                self.messages.append(known)
        for name in NAMES:  # those that were safe are before those that were not, in the order that they came
            known_here = [known for known in self.messages if known.queue == name]
            for known in [k for k in new if k in known_here]:
                self._becomes_visible(known)
            assert [known.text for known in self._waiting(name)] == there[name]
            entries = list(self.scene.queues.find(name).browse())
            for known, entry in zip(self._waiting(name), entries, strict=True):
                known.deliveries = entry.deliveries
        self._is_safe()

    def _start_again(self, start):
        start()
        self.scene.queues.memory.budget = 2_000
        self.messages = [replace(known) for known in self.safe_messages]
        self.waits_for_safety, self.works, self.taken = [], [], {}
        works, gone = self.works_since, self.gone_since
        self._is_safe()
        self.works_since, self.gone_since = works, gone

    # What must be true

    def _check(self):
        for name in NAMES:
            queue = self.scene.queues.find(name)
            expected = self._waiting(name)
            found = [(text_of(entry.payload), entry.deliveries) for entry in queue.browse()]
            assert found == [(k.text, k.deliveries) for k in expected], (name, found, expected)
            assert queue.depth == sum(known.queue == name for known in self.messages) + self._on_the_way(name)
            assert queue.in_flight == sum(
                known.queue == name and known.state in {"taken", "in work"} for known in self.messages
            ) + sum(known.queue == name for work in self.works_since for known in work.gets)

    def _on_the_way(self, name):
        """Messages that were got in units of work whose commit is not safe yet count until it is."""
        return sum(known.queue == name for work in self.works_since for known in work.gets)

    def teardown(self):
        try:
            self.scene.turn()
            self._is_safe()
            self._check()
            self._empty()
        finally:
            self.scene.close()
            shutil.rmtree(self.root)
            self.unforced.stop()

    def _empty(self):
        """Get everything; then nothing is left anywhere."""
        by_text = {known.text: known for known in self.messages}
        for text, entry in self.taken.items():
            self.scene.queues.find(by_text[text].queue).settle([entry], ACCEPTED)
        for known in [known for known in self.messages if known.state == "taken"]:
            self._goes(known)
        for work in self.works:
            work.work.roll_back()
            for known in work.gets:
                self._fails(known)
        self.scene.turn()
        self._is_safe()
        for name in NAMES:
            queue = self.scene.queues.find(name)
            assert self.scene.get(queue) == [known.text for known in self._waiting(name)]
            assert (queue.depth, queue.in_flight, queue.waiting) == (0, 0, 0)
        assert self.scene.queues.memory.held == 0
        assert [cursor.pending for cursor in self.scene.store.ledger.cursors.values() if cursor.pending] == []


TestQueueGuarantees = QueueGuarantees.TestCase
TestQueueGuarantees.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)

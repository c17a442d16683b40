"""Queues to test with: a broker with or without a log, consumers that note what they get, and messages."""

import os
import shutil

from heliograph.amqp.messages.message import Message, Value, decode_message, encode_message
from heliograph.broker.broker import Broker
from heliograph.broker.core.limits import Limits
from heliograph.broker.core.names import random_name
from heliograph.broker.core.queue_definition import QueueDefinition
from heliograph.broker.core.timers import Clock
from heliograph.broker.queues.consumer import ACCEPTED
from heliograph.broker.storage.store import Store
from heliograph.log.log import LogOptions
from heliograph.log.segment import read_segment, segment_files

WALL = 1_700_000_000


def message(text, **fields):
    """An encoded message."""
    return encode_message(Message(body=Value(text), **fields))


def persistent(text, **fields):
    return message(text, durable=True, **fields)


def text_of(payload):
    return decode_message(payload).body.value


def texts(entries):
    return [text_of(entry.payload) for entry in entries]


class Consumer:
    """Notes the runs that it gets; settles nothing by itself."""

    def __init__(self, credit=1_000_000, selector=None, browse=False, correlation_id=None):
        self.credit = credit
        self.selector = selector
        self.browse = browse
        self.correlation_id = correlation_id
        self.runs = []
        self.refusal = None

    def deliver(self, entries):
        assert len(entries) <= self.credit
        self.credit -= len(entries)
        self.runs.append(entries)

    def ended(self, refusal):
        self.refusal = refusal

    @property
    def entries(self):
        return [entry for run in self.runs for entry in run]

    @property
    def texts(self):
        return texts(self.entries)

    def forget(self):
        entries = self.entries
        self.runs = []
        return entries


class Scene:
    """A broker with queues, in memory only."""

    def __init__(self, directory=None):
        self.clock = 0.0
        self.directory = directory
        self.lives = 0
        self.store = None
        self._start()

    def _start(self):
        if self.directory is not None:
            clock = Clock(lambda: self.clock, lambda: self.clock + WALL)
            options = LogOptions(force=False, retry=0.01)
            self.log = self.directory / str(self.lives)
            self.store = Store(self.log, clock, lambda: None, options)
        self.broker = Broker(
            Limits(), lambda: self.clock, random_name, store=self.store, wall=lambda: self.clock + WALL
        )
        self.queues = self.broker.queues

    @property
    def now(self):
        """Milliseconds since 1970."""
        return int((self.clock + WALL) * 1000)

    def queue(self, name="Q", **attributes):
        """Make a queue."""
        return self.queues.define(QueueDefinition(name, **attributes))

    def consumer(self, queue, **options):
        """A consumer that has got what there is."""
        consumer = Consumer(**options)
        refusal = queue.add_consumer(consumer)
        assert refusal is None, refusal
        self.turn()
        return consumer

    def put(self, queue, *texts, **fields):
        """Put messages and let the turn end."""
        put = queue.put([message(text, **fields) for text in texts])
        assert not put.refused, put
        self.turn()

    def get(self, queue, most=1_000_000):
        """Get messages for good; their texts."""
        consumer = self.consumer(queue, credit=most)
        queue.settle(consumer.entries, ACCEPTED)
        queue.remove_consumer(consumer)
        self.turn()
        return consumer.texts

    def commit(self, work):
        """Commit and let it become safe; what the answer was."""
        answers = []
        work.commit(answers.append)
        self.turn()
        assert len(answers) == 1
        return answers[0]

    def turn(self):
        """The end of a turn, and everything becomes safe."""
        self.broker.turn.end()
        while self.store is not None:
            assert self.store.ledger.wait()
            self.broker.turn.more_is_safe()
            self.broker.turn.end()
            if not (not self.broker.turn.held.is_empty or self.queues.awake) and self.store.ledger.wait():
                break

    def finish(self):
        """Do all work that is done bit by bit, with a turn after each slice; how many turns that took."""
        turns = 0
        while self.broker.slices.busy:
            self.broker.slices.run()
            self.turn()
            turns += 1
        return turns

    def passes(self, seconds):
        """Time passes."""
        self.clock += seconds
        self.broker.timers.run(self.clock)
        self.turn()

    def crash(self, cut=None):
        """Another broker takes over what is on the disk; with `cut`, nothing from that position on is there."""
        self.store.ledger.close()
        old = self.log
        self.lives += 1
        shutil.copytree(old, self.directory / str(self.lives))
        if cut is not None:
            segments = [read_segment(path) for path in segment_files(self.directory / str(self.lives))]
            while segments[-1].base > cut:
                segments.pop().path.unlink()
            os.truncate(segments[-1].path, segments[-1].place(cut))
        self._start()

    def restart(self):
        """The server is stopped and started."""
        self.turn()
        self.store.close()
        self._start()

    def close(self):
        if self.store is not None:
            self.store.ledger.close()

"""A run with a pipeline: its driver, a worker or the server is killed at random moments, and what came of it."""

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from faults.brokers import Heliograph, free_port
from faults.durable_clients import MOMENT, News, PublishingClient
from faults.history import History, Stream
from faults.kill_run import LONGEST_START, STARTS_KILLED, Ending
from faults.pipelines.driver import Driver
from faults.pipelines.outputs import Checkpoint, stored
from faults.pipelines.rules import Story, violations
from faults.pipelines.subjects import OUTPUT, STREAM, Subject, ToFiles
from faults.rules import Violation
from heliograph.log.streams.stream_reader import StreamReader
from paho_client import V5

PATIENCE = 300.0
"""Seconds for one more micro-batch, with a start of Java in them and much else to do for the machine."""
LONGEST_LIFE = 3.0
"""Something is killed within so many seconds of a micro-batch that was completed."""
LONGEST_SEARCH = 60.0
"""Seconds within which a worker is killed that has a task in hand; a few kills of idle ones come before."""
LONGEST_PAUSE = 0.5
"""The longest pause between these kills. It is random, or all of them might come between two micro-batches."""
TOLD = 0.2
"""Seconds in which Spark says that a task has lost its worker; if it takes longer, one more is killed."""
LONGEST_AWAY = 1.0
"""Seconds that the server is away, so that others come in vain."""
WORKERS_LEFT = 0.5
"""The part of all kills of the driver that leave its workers alone."""
LONGEST_DRIVER_START = 8.0
TOPICS = 8
LEAD = 500
"""Messages that the publisher is ahead of the pipeline: it always has work, and never too much of it."""
BURST = 100
"""Messages besides, just before the server is killed, so that it has some in hand."""
LONGEST_BURST = 0.1
MOST_EXITS = 5
"""Ends of the driver's own, one after the other, that are too many."""

MORE = """
[[listener]]
protocol = "amqp"
port = {amqp_port}
[[stream]]
name = "{stream}"
filter = "{stream}/#"
partitions = 2
[[queue]]
name = "{output}"
max_depth = 10000000
"""


class Victim(StrEnum):
    """What is killed."""

    DRIVER = "driver"
    WORKER = "worker"
    SERVER = "server"


@dataclass(frozen=True)
class Figures:
    """A run in numbers."""

    seed: int
    rounds: int
    kills: Counter[Victim]
    lost_tasks: int
    exits: int
    batches: int
    acknowledged: int
    stored: int
    rows: int
    queued: int

    def __str__(self) -> str:
        kills = ", ".join(f"{self.kills[victim]} of {victim}" for victim in Victim)
        return (
            f"{self.rounds} rounds, kills: {kills}; {self.lost_tasks} tasks lost their workers, {self.exits} times "
            f"the driver gave up; {self.batches} batches; "
            f"{self.acknowledged} messages acknowledged, {self.stored} in the stream, {self.rows} rows in files, "
            f"{self.queued} in the queue; seed {self.seed}"
        )


class PacedPublisher(PublishingClient):
    """Publishes with QoS 1, but not too far ahead of the pipeline."""

    def __init__(self, port: int, history: History, news: News, streams: list[Stream], done: Checkpoint) -> None:
        super().__init__("publisher", V5, port, history, news, streams)
        self._done = done
        self._look, self._allowed, self._besides = 0.0, 0, 0

    def burst(self) -> None:
        """Send some more, however far ahead it is."""
        self._besides += BURST
        self._look = 0.0

    def work(self) -> None:
        if time.monotonic() > self._look:
            self._look = time.monotonic() + 10 * MOMENT
            self._allowed = sum(self._done.done().values()) + LEAD + self._besides
        if sum(stream.sent for stream in self._streams) < self._allowed:
            super().work()


class PipelineRun:
    """The server, its publisher, and a pipeline."""

    def __init__(self, folder: Path, seed: int, make: Callable[[Path], Subject] = ToFiles) -> None:
        """`make` is the pipeline: one of `PIPELINES`."""
        self.seed = seed
        self._random = random.Random(seed)
        http_port, amqp_port = free_port(), free_port()
        self._amqp = f"amqp://127.0.0.1:{amqp_port}"
        more = MORE.format(amqp_port=amqp_port, stream=STREAM, output=OUTPUT)
        self._server = Heliograph(folder, "disk", more, http_port)
        self._data = folder / "data"
        self._subject = make(folder)
        self._checkpoint = Checkpoint(self._subject.checkpoint)
        # By this name, tasks take the server for one on another machine, and do not just read its files.
        self._driver = Driver(self._subject.command(f"http://127.1:{http_port}"), folder, self._random)
        self.history = History(
            streams=[Stream(f"publisher-{number}", f"{STREAM}/{number}", 1) for number in range(TOPICS)]
        )
        self._publisher = PacedPublisher(
            self._server.port, self.history, News(), self.history.streams, self._checkpoint
        )
        self.story = Story(self.history.streams)
        self.kills: Counter[Victim] = Counter()
        self._exits = 0
        self._batches = 0

    def run(
        self,
        rounds: int,
        ending: Ending = Ending.KILL,
        *,
        victims: Sequence[Victim] = (),
        progress: Callable[[str], None] = lambda _: None,
    ) -> Figures:
        """Do it all; `victims` are killed in turn, or else all kinds equally often, in a random order."""
        assert ending is Ending.KILL, "there is no other way here"
        chosen = iter(victims) if victims else self._victims()
        with self._everybody_at_work():
            for number in range(1, rounds + 1):
                self._another_batch()
                time.sleep(self._random.uniform(0, LONGEST_LIFE))
                victim = next(chosen)
                self.kill(victim)
                progress(f"round {number} of {rounds}: the {victim}, after {self._batches} batches; seed {self.seed}")
            self._finish()
        return self.figures(rounds)

    def kill(self, victim: Victim) -> None:
        """Kill it, and start what does not start by itself."""
        if victim is Victim.DRIVER:
            self._kill_driver()
        elif victim is Victim.WORKER:
            self._kill_worker()
        else:
            self._kill_server()

    def violations(self) -> list[Violation]:
        return violations(self.story)

    def figures(self, rounds: int) -> Figures:
        """The numbers so far; the last three are not known before the end."""
        story = self.story
        counts = len(story.stored), len(story.rows or ()), len(story.queue or ())
        ends = self._driver.lost_tasks(), self._exits
        return Figures(self.seed, rounds, self.kills.copy(), *ends, self._batches, self._acknowledged, *counts)

    def _victims(self) -> Iterator[Victim]:
        while True:
            yield from self._random.sample(list(Victim), len(Victim))

    # The course of events

    @contextmanager
    def _everybody_at_work(self) -> Iterator[None]:
        self._server.start()
        self._publisher.start()
        self._driver.start()
        try:
            yield
        finally:
            self._publisher.end()
            self._driver.kill()
            self._server.kill()

    def _another_batch(self) -> None:
        """Wait for one that is completed after all that has happened."""
        before = self._checkpoint.batches
        self._expect("a micro-batch is completed", lambda: self._checkpoint.batches > before)
        self._batches = self._checkpoint.batches

    def _kill_driver(self) -> None:
        self._driver.kill(workers=self._random.random() >= WORKERS_LEFT)
        self._driver.start()
        self.kills[Victim.DRIVER] += 1
        if self._random.random() < STARTS_KILLED:
            time.sleep(self._random.uniform(0, LONGEST_DRIVER_START))
            self._driver.kill()
            self._driver.start()
            self.kills[Victim.DRIVER] += 1

    def _kill_worker(self) -> None:
        """Kill workers until one of them had a task. Spark itself has to say so, or the wrong ones might be killed."""
        before = self._driver.lost_tasks()

        def one_had_a_task() -> bool:
            time.sleep(self._random.uniform(0, LONGEST_PAUSE))
            if not self._driver.kill_worker():
                return False
            self.kills[Victim.WORKER] += 1
            time.sleep(TOLD)
            return self._driver.lost_tasks() > before

        what = "a task loses its worker (if never, are those that are killed the ones that do tasks?)"
        self._expect(what, one_had_a_task, LONGEST_SEARCH)

    def _kill_server(self) -> None:
        self._publisher.burst()
        time.sleep(self._random.uniform(0, LONGEST_BURST))
        self._server.kill()
        self.kills[Victim.SERVER] += 1
        if self._random.random() < STARTS_KILLED:
            self._server.begin_to_start()
            time.sleep(self._random.uniform(0, LONGEST_START))
            self._server.kill()
            self.kills[Victim.SERVER] += 1
        time.sleep(self._random.uniform(0, LONGEST_AWAY))
        self._server.start()

    def _finish(self) -> None:
        """All is sent and acknowledged, and the pipeline has come to the end of the stream; then look."""
        self._publisher.only(0)
        self._expect("the publisher finishes", self._publisher.is_done)
        self._expect("the pipeline comes to the end", self._at_the_end)
        self._batches = self._checkpoint.batches
        self._driver.kill()
        self.story.stored = stored(self._data, STREAM)
        self.story.rows = self._subject.rows()
        self.story.queue = self._subject.queue(self._amqp)

    def _at_the_end(self) -> bool:
        """Whether all there is has been done. Readers see messages a moment after they were acknowledged."""
        with StreamReader(self._data, STREAM) as reader:
            ends = {partition: latest for partition, (_, latest) in enumerate(reader.extents())}
        return sum(ends.values()) >= self._acknowledged and self._checkpoint.done() == ends

    @property
    def _acknowledged(self) -> int:
        return sum(len(stream.acknowledged) for stream in self.history.streams)

    def _expect(self, what: str, condition: Callable[[], bool], longest: float | None = None) -> None:
        """Wait for it. A driver that ends is started again, as whoever watches over it would do.

        Without `longest`, there is no end to it as long as micro-batches are completed.
        """
        give_up, exits, batches = time.monotonic() + (longest or PATIENCE), 0, self._checkpoint.batches
        while not condition():
            if self._checkpoint.batches > batches:
                exits, batches = 0, self._checkpoint.batches
                if longest is None:
                    give_up = time.monotonic() + PATIENCE
            if not self._driver.runs:
                exits += 1
                assert exits < MOST_EXITS, f"{what}: the driver ends again and again\n{self._driver.log()}"
                self._exits += 1
                self._driver.start()
            assert time.monotonic() < give_up, f"{what}: waited for in vain; seed {self.seed}\n{self._driver.log()}"
            time.sleep(MOMENT)

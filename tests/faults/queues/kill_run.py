"""A run with queues: programs under load, a server that is killed at random moments, and what came of it."""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from faults.brokers import Heliograph, free_port
from faults.kill_run import LONGEST_LIFE, LONGEST_START, STARTS_KILLED, Ending
from faults.queues import rules
from faults.queues.clients import (
    Mover,
    PlainProducer,
    Program,
    ReconnectingProducer,
    Taker,
    TransactedProducer,
    TransactedTaker,
    note,
)
from faults.queues.history import Fate
from faults.queues.proton_clients import ProtonMover, ProtonProducer, ProtonProgram, ProtonTaker
from faults.queues.records import read_records
from faults.queues.world import BACKED_OUT, THRESHOLD, TOPIC_PLACES, World
from faults.rules import Violation
from heliograph.client import Connection, Consumer, Message, Queue, Session, Topic, connect

QUIET = 20.0
"""Seconds without any news after which nothing is expected to come any more."""
EMPTY = 0.3
"""Seconds without a message after which the server is asked whether a queue is empty."""
BATCH = 500

QUEUES = """
[[listener]]
protocol = "amqp"
port = {amqp_port}

[[queue]]
name = "work"
max_depth = 10000000
backout_threshold = {threshold}
backout_queue = "work{backed_out}"
[[queue]]
name = "news.queue"
max_depth = 10000000
topics = ["news/#"]
"""
PLAIN_QUEUES = ("picked", "line", "moved", f"work{BACKED_OUT}")
ALL_QUEUES = ("work", "news.queue", *PLAIN_QUEUES)
ORDERED = {"line", *TOPIC_PLACES}
SUBSCRIPTIONS = {"reader": "client-reader", "proton-reader": "proton-proton-reader"}
"""Durable subscriptions, and the containers that they belong to."""
SUBSCRIPTION_QUEUE = "$subscription/durable/{container}/{name}"
"""What the server calls the queue of a durable subscription."""


def configuration(amqp_port: int) -> str:
    """What a server needs in its configuration for these runs."""
    config = QUEUES.format(amqp_port=amqp_port, threshold=THRESHOLD, backed_out=BACKED_OUT)
    return config + "".join(f'[[queue]]\nname = "{name}"\nmax_depth = 10000000\n' for name in PLAIN_QUEUES)


@dataclass(frozen=True)
class Figures:
    """A run in numbers."""

    seed: int
    rounds: int
    kills: int
    put: int
    got: int
    done: int
    undone: int
    in_doubt: int
    recovered: int

    def __str__(self) -> str:
        return (
            f"{self.rounds} rounds, {self.kills} kills; {self.put} messages put, {self.got} times one was got; "
            f"units of work: {self.done} done, {self.undone} undone, {self.in_doubt} in doubt, "
            f"{self.recovered} of these happened; seed {self.seed}"
        )


class QueueRun:
    """The server, all programs that use its queues, and the history they make."""

    def __init__(self, folder: Path, seed: int, durability: str = "disk") -> None:
        amqp_port = free_port()
        self.broker, self.seed = Heliograph(folder, durability, configuration(amqp_port)), seed
        self.kills = 0
        self._folder = folder
        self._before_a_start: Callable[[], object] = lambda: None
        self._random = random.Random(seed)
        self.world = world = World(f"amqp://127.0.0.1:{amqp_port}", seed)
        world.history.ordered = set(ORDERED)
        world.history.thresholds = {"work": THRESHOLD}
        self._producers: list[Program | ProtonProgram] = [
            TransactedProducer("one", world, ["work", "picked", "line", "news/one"]),
            PlainProducer("two", world, ["work", "line", "news/two"], persistent=True),
            PlainProducer("three", world, ["work", "line", "news/three"], persistent=False),
            ReconnectingProducer("four", world, ["picked", "line", "news/four"]),
            ProtonMover("five", world, "", ["work", "line", "news/five"]),
            ProtonProducer("six", world, "work"),
        ]
        self._consumers: list[Program | ProtonProgram] = [
            Mover("mover-1", world, "work", "moved"),
            Mover("mover-2", world, "work", "moved"),
            ProtonMover("mover-3", world, "work", ["moved"]),
            Taker("picker-red", world, "picked", colour="red"),
            TransactedTaker("picker-blue", world, "picked", colour="blue"),
            TransactedTaker("line-reader", world, "line"),
            Taker("news-reader", world, "news.queue", "client"),
            TransactedTaker("reader", world, "news/#", place="reader", subscription="reader", durable=True),
            ProtonTaker("proton-reader", world, "news/#", place="proton-reader"),
            Taker("taker", world, "moved", "individual"),
            ProtonTaker("proton-taker", world, "moved"),
        ]

    def run(
        self,
        rounds: int,
        ending: Ending = Ending.KILL,
        *,
        progress: Callable[[str], None] = lambda _: None,
        before_a_start: Callable[[], object] = lambda: None,
    ) -> Figures:
        """Do it all. `before_a_start` can make it go wrong, to see whether that is noticed."""
        self._before_a_start = before_a_start
        with self._everybody_at_work():
            for number in range(1, rounds + 1):
                self._round(ending)
                progress(
                    f"round {number} of {rounds}: {self.kills} kills, {len(self.world.history.units)} units of work"
                )
            self.world.finishing.set()
        try:
            self._empty_everything()
            self._restart(Ending.STOP if ending is Ending.NONE else ending)
            self._empty_everything()
        finally:
            self.broker.kill()
        self.world.history.records = read_records(self._folder / "data")
        return self.figures(rounds)

    def violations(self) -> list[Violation]:
        return rules.violations(self.world.history)

    def figures(self, rounds: int) -> Figures:
        units = self.world.history.units
        fates = [unit.fate for unit in units if unit.puts or unit.gets]
        return Figures(
            self.seed,
            rounds,
            self.kills,
            sum(len(unit.puts) for unit in units),
            sum(len(unit.gets) for unit in units),
            fates.count(Fate.DONE) + fates.count(Fate.TOLD),
            fates.count(Fate.UNDONE),
            fates.count(Fate.IN_DOUBT),
            rules.recovered(self.world.history),
        )

    @contextmanager
    def _everybody_at_work(self) -> Iterator[None]:
        """The server runs, everybody has subscribed before the first message is sent, and all end afterwards."""
        self._start()
        started: list[Program | ProtonProgram] = []
        try:
            for group in (self._consumers, self._producers):
                for program in group:
                    program.start()
                    started.append(program)
                self._expect("everybody connects", lambda: all(one.ready for one in group))  # noqa: B023
            yield
        except BaseException:
            self.broker.kill()
            raise
        finally:
            for program in started:
                program.end()

    def _round(self, ending: Ending) -> None:
        """All get something done; then, at a random moment under load, the server is killed and started again."""
        before = [program.done for program in self._producers]
        for producer, done in zip(self._producers, before, strict=True):
            self._expect(f"{producer.name} gets something done", lambda: producer.done > done)  # noqa: B023
        time.sleep(self._random.uniform(0, LONGEST_LIFE))
        self._restart(ending)

    def _restart(self, ending: Ending) -> None:
        if ending is Ending.NONE:
            return
        self.world.up.clear()
        if ending is Ending.STOP:
            self.broker.stop()
            self.world.history.stopped.add(self.world.history.life)
        else:
            self._kill()
        self.world.history.life += 1
        if ending is Ending.KILL and self._random.random() < STARTS_KILLED:
            self.broker.begin_to_start()
            time.sleep(self._random.uniform(0, LONGEST_START))
            self._kill()
            self.world.history.life += 1
        self._start()

    def _start(self) -> None:
        self._before_a_start()
        self.broker.start()
        self.world.up.set()

    def _kill(self) -> None:
        self.broker.kill()
        self.kills += 1

    # The end

    def _empty_everything(self) -> None:
        """Get all messages that are anywhere, for good, and ask the server whether it thinks so too."""
        for place, container in SUBSCRIPTIONS.items():
            with connect(self.world.url, client_id=container) as connection:
                queue = SUBSCRIPTION_QUEUE.format(container=container, name=place)
                self._empty(connection, place, queue, lambda session, place=place: subscriber(session, place))  # type: ignore[misc]
        with connect(self.world.url) as connection:
            for queue in ALL_QUEUES:
                self._empty(connection, queue, queue, lambda session, queue=queue: session.consumer(Queue(queue)))  # type: ignore[misc]

    def _empty(self, connection: Connection, place: str, queue: str, consumer: Callable[[Session], Consumer]) -> None:
        """Get until the server says that there is no more: on a busy machine, messages may be long on their way."""
        give_up = time.monotonic() + QUIET
        with connection.session("transacted") as session, connection.session() as asking:
            source = consumer(session)
            depth = -1
            while depth and time.monotonic() < give_up:
                self._get_all(session, source, place)
                request = Message({"name": queue}, properties={"operation": "queue-show"})
                depth = asking.request("$management", request, timeout=QUIET).body["depth"]
            self.world.history.left_over[place] = depth

    def _get_all(self, session: Session, source: Consumer, place: str) -> None:
        backed_out = place.endswith(BACKED_OUT)
        more = True
        while more:
            notes = self.world.unit("drain", self.world.history.life)
            while more and len(notes.unit.gets) < BATCH:
                message = source.receive(EMPTY)
                more = message is not None
                if message is not None:
                    note(notes, place.removesuffix(BACKED_OUT), message, backed_out=backed_out)
            session.commit()
            notes.end(Fate.DONE)

    def _expect(self, what: str, condition: Callable[[], bool]) -> None:
        def come_about() -> bool:
            for one in (*self._producers, *self._consumers):
                if one.crash is not None:
                    raise AssertionError(f"{one.name} crashed: {one.crash!r}; seed {self.seed}") from one.crash
            return condition()

        assert self.world.news.wait_until(come_about, QUIET), f"{what}: waited for in vain; seed {self.seed}"


def subscriber(session: Session, name: str) -> Consumer:
    """The consumer of a durable subscription of this run."""
    return session.consumer(Topic("news/#"), subscription=name, durable=True)

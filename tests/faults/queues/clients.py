"""Programs that use queues through our own client, over any number of crashes of the server, and note what happens."""

import threading
import time
from abc import abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from faults.durable_clients import LONG
from faults.queues.history import Fate, Put
from faults.queues.world import Notes, Numbers, World, body_of, colour_of, is_topic
from heliograph.client import Destination, Message, Producer, Queue, Session, Topic, connect
from heliograph.client.errors import MessagingProblem, TransactionInDoubt, TransactionRolledBack

MOMENT = 0.02
"""Seconds between two looks at a server that is down, or for messages where there are none."""
ANSWER = 20.0
"""Seconds that the server has for any answer."""
DEFECTION = 0.03
"""The part of units of work in the middle of which a program disconnects, if it is one of those."""


class Program(threading.Thread):
    """One program: connects, works, and connects again whenever it has to."""

    mode = "auto"
    reconnect = False

    def __init__(self, name: str, world: World) -> None:
        super().__init__(name=name, daemon=True)
        self.world = world
        self.random = world.random(name)
        self.life = 0
        """Of the server that it is connected to."""
        self.done = 0
        """Units of work of which it is certain that they have happened."""
        self.ready = False
        """Whether it has been connected, with all links."""
        self.crash: BaseException | None = None
        """What ended it, if it was not told to end."""
        self._ending = threading.Event()

    def end(self) -> None:
        """Close everything in good order."""
        self._ending.set()
        self.join(LONG)

    def run(self) -> None:
        try:
            while not self._ending.is_set():
                if self.world.up.wait(MOMENT):
                    with suppress(MessagingProblem):  # the server was killed
                        self._connected()
        except BaseException as crash:
            self.crash = crash
            self.world.news.tell()
            raise

    def _connected(self) -> None:
        client_id = f"client-{self.name}"
        life = self.world.history.life
        with connect(self.world.url, client_id=client_id, reconnect=self.reconnect, timeout=ANSWER) as connection:
            if self.world.history.life != life:
                return  # it is not known to which of the two this connection leads
            self.life = life
            session = connection.session(self.mode)
            self.begin(session)
            self.ready = True
            self.world.news.tell()
            while not self._ending.is_set() and not self.wants_to_leave():
                notes = self.begin_unit()
                try:
                    fate = self.work(session, notes)
                except BaseException:
                    notes.end(notes.unit.fate)
                    raise
                if fate in {Fate.DONE, Fate.TOLD}:
                    self.done += 1
                notes.end(fate)

    def begin_unit(self) -> Notes:
        """Write down what happens from now on."""
        return self.world.unit(self.name, self.life)

    def wants_to_leave(self) -> bool:
        """Whether to close the connection now, having said goodbye."""
        return False

    def chance(self, part: float) -> bool:
        """Whether to make trouble on purpose."""
        return self.random.random() < part and not self.world.finishing.is_set()

    @abstractmethod
    def begin(self, session: Session) -> None:
        """Make producers and consumers."""

    @abstractmethod
    def work(self, session: Session, notes: Notes) -> Fate:
        """Do one unit of work; the fate in the notes counts if it raises."""

    def desert(self, notes: Notes) -> None:
        """Perhaps leave in the middle of a unit of work, without a word to the server about what was done in it."""
        if self.chance(DEFECTION):
            notes.unit.deserted = True
            raise MessagingProblem("this program leaves in the middle")

    def finish(self, session: Session, notes: Notes, *, commit: bool) -> Fate:
        """Commit or roll back."""
        if not commit:
            session.rollback()
            return Fate.UNDONE
        notes.unit.fate = Fate.IN_DOUBT
        try:
            session.commit()
        except TransactionRolledBack:
            return Fate.UNDONE
        except TransactionInDoubt:
            return Fate.IN_DOUBT
        return Fate.DONE


class Sending(Program):
    """What programs that send have in common."""

    def __init__(self, name: str, world: World, addresses: Sequence[str]) -> None:
        super().__init__(name, world)
        self.numbers = Numbers(name)
        self._addresses = addresses

    def begin(self, session: Session) -> None:
        self.producer = session.producer()

    def next(self, *, persistent: bool = True) -> tuple[str, Put]:
        """A new message for one of the addresses."""
        address = self.random.choice(self._addresses)
        return address, self.numbers.next(address, persistent=persistent)

    def pause(self) -> None:
        """Not too fast: others have to receive it all."""
        if self.world.finishing.is_set():
            self._ending.wait(ANSWER)  # enough was sent
        else:
            time.sleep(self.random.uniform(0, MOMENT))


class TransactedProducer(Sending):
    """Puts several messages for each commit; rolls back now and then, or leaves in the middle."""

    mode = "transacted"

    def work(self, session: Session, notes: Notes) -> Fate:
        self.pause()
        for _ in range(self.random.randint(1, 8)):
            address, put = self.next(persistent=self.random.random() < 0.8)
            notes.put(put)
            send(self.producer, address, put)
        self.desert(notes)
        return self.finish(session, notes, commit=not self.chance(0.15))


class ReconnectingProducer(TransactedProducer):
    """The same, with a client that connects again by itself."""

    reconnect = True

    def begin_unit(self) -> Notes:
        # Here a connection is not one life. What is begun before a kill is not done after it.
        return self.world.unit(self.name, self.world.history.life)


class PlainProducer(Sending):
    """Sends messages one by one, or some at a time, and is told of each."""

    def __init__(self, name: str, world: World, addresses: Sequence[str], *, persistent: bool) -> None:
        super().__init__(name, world, addresses)
        self._persistent = persistent

    def work(self, session: Session, notes: Notes) -> Fate:
        self.pause()
        sent = []
        for _ in range(self.random.choice((1, 1, 10))):
            address, put = self.next(persistent=self._persistent)
            one = self.begin_unit()
            one.unit.fate = Fate.IN_DOUBT
            one.put(put)
            sent.append((one, send(self.producer, address, put)))
        problems = []
        for one, receipt in sent:
            try:
                receipt.result(ANSWER)
                one.unit.fate = Fate.DONE
            except MessagingProblem as problem:
                problems.append(problem)
            one.end(one.unit.fate)
        if problems:
            raise problems[0]
        return Fate.DONE


class Receiving(Program):
    """What programs that receive have in common."""

    def __init__(self, name: str, world: World, queue: str, *, place: str = "", colour: str = "", **how: Any) -> None:
        """`how` is for the consumer; `colour` is what it selects."""
        super().__init__(name, world)
        self._queue, self._place, self._colour, self._how = queue, place or queue, colour, how
        if colour:
            self._how["selector"] = f"colour = '{colour}'"

    def begin(self, session: Session) -> None:
        self.consumer = session.consumer(
            destination(self._queue), prefetch=self.random.choice((1, 10, 100)), **self._how
        )

    def receive(self, notes: Notes, timeout: float = MOMENT) -> Message | None:
        """The next message, noted."""
        message = self.consumer.receive(timeout)
        if message is not None:
            note(notes, self._place, message, selected=self._colour)
        return message


class Taker(Receiving):
    """Receives messages that are acknowledged without an answer."""

    def __init__(self, name: str, world: World, queue: str, mode: str = "auto", **how: Any) -> None:
        super().__init__(name, world, queue, **how)
        self.mode = mode

    def work(self, session: Session, notes: Notes) -> Fate:
        message = self.receive(notes)
        if message is not None and self.mode != "auto":
            message.acknowledge()
        return Fate.TOLD

    def wants_to_leave(self) -> bool:
        return self.chance(0.002)


class TransactedTaker(Receiving):
    """Gets some messages for each commit; rolls back now and then."""

    mode = "transacted"

    def work(self, session: Session, notes: Notes) -> Fate:
        for _ in range(self.random.randint(1, 20)):
            if self.receive(notes) is None:
                break
        return self.finish(session, notes, commit=not self.chance(0.15))


class Mover(Receiving):
    """Gets messages and puts as many into another queue, in one unit of work. Sometimes it fails in the middle."""

    mode = "transacted"

    def __init__(self, name: str, world: World, queue: str, target: str) -> None:
        super().__init__(name, world, queue)
        self._target = target
        self.numbers = Numbers(name)

    def begin(self, session: Session) -> None:
        super().begin(session)
        self.producer = session.producer(self._target)

    def work(self, session: Session, notes: Notes) -> Fate:
        for _ in range(self.random.randint(1, 6)):
            if self.receive(notes) is None:
                break
        for _ in range(len(notes.unit.gets)):
            put = self.numbers.next(self._target)
            notes.put(put)
            send(self.producer, None, put)
        self.desert(notes)
        return self.finish(session, notes, commit=not self.chance(0.25))


def note(notes: Notes, place: str, message: Message, *, selected: str = "", backed_out: bool = False) -> None:
    """Write down a message that our client received."""
    failures = message.annotations["x-opt-dead-letter-count"] if backed_out else message.delivery_count - 1
    colour = str(message.properties.get("colour"))
    notes.got(place, message.body, failures, colour=colour, selected=selected, backed_out=backed_out)


def send(producer: Producer, address: str | None, put: Put) -> Any:
    """Send a message, to an address unless the producer has one; the receipt."""
    message = Message(body_of(put), properties={"colour": colour_of(put.number)})
    return producer.send_async(message, None if address is None else destination(address), persistent=put.persistent)


def destination(address: str) -> Destination:
    return Topic(address) if is_topic(address) else Queue(address)

"""What all who take part in a run share: the server's address, the history, and the way messages are written."""

import random
import threading
from dataclasses import dataclass, field
from itertools import count

from faults.durable_clients import News
from faults.queues.history import Fate, Get, History, Key, Put, Unit

COLOURS = ("red", "blue")
NEWS = "news"
"""The first level of all topics."""
TOPIC_PLACES = ("news.queue", "reader", "proton-reader")
"""Who gets what is published: a queue that is bound to the topics, and two durable subscriptions."""
BACKED_OUT = ".failed"
"""What the name of a queue for messages that have failed too often ends with."""
THRESHOLD = 4


@dataclass
class World:
    """One run, as its clients see it."""

    url: str
    seed: int
    history: History = field(default_factory=History)
    news: News = field(default_factory=News)
    up: threading.Event = field(default_factory=threading.Event)
    """Set while the server is there. To try in vain all the time would cost more than all the rest."""
    finishing: threading.Event = field(default_factory=threading.Event)
    """Set when nobody is to make trouble of his own any more."""

    def random(self, name: str) -> random.Random:
        """What a client does by chance depends on the seed and on its name only."""
        return random.Random(f"{self.seed} {name}")

    def unit(self, who: str, life: int) -> "Notes":
        """A unit of work begins, over a connection of this life of the server."""
        return Notes(self, Unit(who, life))


class Notes:
    """What is written down about a unit of work as it happens."""

    def __init__(self, world: World, unit: Unit) -> None:
        self._world = world
        self.unit = unit

    def put(self, put: Put) -> None:
        """Note a message before it is sent, so that it cannot arrive before."""
        self.unit.puts.append(put)

    def got(
        self, place: str, body: object, failures: int, *, colour: str = "", selected: str = "", backed_out: bool = False
    ) -> None:
        """Note a message that came; `selected` is the colour that was asked for."""
        said = read(body)
        if said is None:
            self._world.history.damaged.append(f"{body!r:.200} in {place}")
            return
        key = Key(place, *said)
        moment = next(self._world.history.moments)
        matches = not selected or selected == colour == colour_of(key.number)
        self.unit.gets.append(Get(key, moment, failures, backed_out, matches))

    def end(self, fate: Fate) -> None:
        """What became of it is known now."""
        self.unit.fate = fate
        if self.unit.puts or self.unit.gets:
            self._world.history.units.append(self.unit)
            self._world.news.tell()


@dataclass
class Numbers:
    """The messages of one sender, one after the other."""

    sender: str
    counter: "count[int]" = field(default_factory=lambda: count(1))

    def next(self, address: str, *, persistent: bool = True) -> Put:
        """The next message, for a queue or a topic."""
        places = TOPIC_PLACES if is_topic(address) else (address,)
        return Put(self.sender, next(self.counter), places, persistent)


def is_topic(address: str) -> bool:
    return address.startswith(f"{NEWS}/")


def colour_of(number: int) -> str:
    """A property of a message, for selectors."""
    return COLOURS[number % len(COLOURS)]


def body_of(put: Put) -> str:
    """The body of a message; its length changes, so that its place in files and frames does."""
    return f"{put.sender} {put.number} {_filling(put.number)}"


def read(body: object) -> tuple[str, int] | None:
    """The sender and number in a body, unless it has been damaged."""
    if not isinstance(body, str) or body.count(" ") != 2:
        return None
    sender, number, filling = body.split(" ")
    if not number.isdigit() or filling != _filling(int(number)):
        return None
    return sender, int(number)


def _filling(number: int) -> str:
    # Once in a while one that is larger than a frame.
    return "." * (70_000 if number % 500 == 0 else number * 7 % 100)

"""What happened to queues in a run: units of work with their puts and gets, and what became of each. Nothing live.

Everything that a client does is a unit of work here: a message that is sent outside of transactions is one with a
single put, a message that is acknowledged for itself is one with a single get.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from itertools import count
from typing import NamedTuple


class Fate(StrEnum):
    """What became of a unit of work, as its client knows it."""

    DONE = "done"
    """The server has said so: accepted, or committed."""
    UNDONE = "undone"
    """Rolled back or refused, or lost before anybody asked the server to do it."""
    IN_DOUBT = "in doubt"
    """The server was asked to do it, and the answer never came."""
    TOLD = "told"
    """The server was told that messages were received, in a way that has no answer."""


class Key(NamedTuple):
    """A message in a place. What is sent to a topic is in several places: with each who gets it for himself."""

    place: str
    sender: str
    number: int
    """Counted up by each sender, from 1."""

    def __str__(self) -> str:
        return f"{self.sender} {self.number} in {self.place}"


@dataclass(frozen=True)
class Put:
    """A message was put into all of these places."""

    sender: str
    number: int
    places: tuple[str, ...]
    persistent: bool = True

    @property
    def keys(self) -> list[Key]:
        return [Key(place, self.sender, self.number) for place in self.places]


@dataclass(frozen=True)
class Get:
    """An application had a message."""

    key: Key
    moment: int
    """When, counted over all that happened in the run."""
    failures: int = 0
    """How many deliveries had failed before, as the message said."""
    backed_out: bool = False
    """Whether it came from the queue for messages that have failed too often."""
    selected: bool = True
    """Whether it was one of those that the application had asked for."""


@dataclass
class Unit:
    """A unit of work."""

    who: str
    life: int
    """In which life of the server, counted from 1."""
    puts: list[Put] = field(default_factory=list)
    gets: list[Get] = field(default_factory=list)
    fate: Fate = Fate.UNDONE
    blameless: bool = False
    """Whether its consumer was closed before it acknowledged anything: messages come back without a failure counted."""
    deserted: bool = False
    """Whether its program left in the middle of it without a word on what it had: its consumer is lost."""


@dataclass
class Records:
    """What the server's log tells of persistent messages, by positions that `helio log dump --from` takes."""

    stored: dict[Key, int] = field(default_factory=dict)
    done: dict[Key, int] = field(default_factory=dict)
    """Those that are acknowledged, for whatever reason."""


@dataclass
class History:
    """A whole run. At its end all queues have been emptied."""

    units: list[Unit] = field(default_factory=list)
    life: int = 1
    """The life that the server is in, the last one in the end."""
    stopped: set[int] = field(default_factory=set)
    """Lives that ended in good order, not by a kill."""
    ordered: set[str] = field(default_factory=set)
    """Places that had one consumer at a time, so that it is known what came first."""
    thresholds: dict[str, int] = field(default_factory=dict)
    """After how many failures messages of a place are backed out."""
    damaged: list[str] = field(default_factory=list)
    """What came and was not a message of ours."""
    left_over: dict[str, int] = field(default_factory=dict)
    """How many messages the server says are in a queue that gives none."""
    records: Records | None = None
    """What the log tells in the end, unless it has been compacted."""
    moments: count = field(default_factory=lambda: count(1))  # type: ignore[type-arg]

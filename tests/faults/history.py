"""What happened in a run: who sent what, what was acknowledged, and what arrived where. Data only, nothing live."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from paho.mqtt.client import topic_matches_sub


class Arrival(NamedTuple):
    """A message as a subscriber's application got it."""

    publisher: str
    topic: str
    number: int
    qos: int
    dup: bool
    connection: int
    """Which of the subscriber's connections it came over, counted from 1."""


@dataclass
class Stream:
    """What one publisher sent to one topic that nobody else publishes to: the numbers 1, 2, 3 and so on."""

    publisher: str
    topic: str
    qos: int
    sent: int = 0
    """The last number handed to the client library; it may be on the wire or not."""
    acknowledged: set[int] = field(default_factory=set)
    """Numbers for which PUBACK or PUBCOMP has come."""


@dataclass
class Subscriber:
    """A durable subscription, and all that came through it."""

    name: str
    filter: str
    """Without the prefix of a shared subscription."""
    qos: int
    group: str = ""
    """Members of one group share one subscription."""
    arrivals: list[Arrival] = field(default_factory=list)

    def matches(self, stream: Stream) -> bool:
        """Whether this subscription is for the messages of that stream."""
        return topic_matches_sub(self.filter, stream.topic)

    def of(self, stream: Stream) -> list[Arrival]:
        """What came of one stream."""
        return [one for one in self.arrivals if one.topic == stream.topic]


@dataclass
class RetainedLook:
    """What a new subscriber found retained, and what had been acknowledged before it looked."""

    acknowledged: dict[str, int]
    """Topic to the last number of which it was certain that it had to be there."""
    found: dict[str, int]


@dataclass
class History:
    """A whole run."""

    streams: list[Stream] = field(default_factory=list)
    subscribers: list[Subscriber] = field(default_factory=list)
    retained_streams: list[Stream] = field(default_factory=list)
    looks: list[RetainedLook] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)
    """Clients that were told "no session present" although the server had acknowledged their session before."""

    def audiences(self) -> Iterator[tuple[str, list[Subscriber]]]:
        """Who is to get every message that matches: each subscriber for itself, and each group as a whole."""
        for one in self.subscribers:
            if not one.group:
                yield f"subscriber {one.name}", [one]
        for group in sorted({one.group for one in self.subscribers if one.group}):
            yield f"group {group}", [one for one in self.subscribers if one.group == group]

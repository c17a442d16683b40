"""What must hold in the history of a run, however often the server was killed in it. No I/O: history in, faults out.

The rule about order needs a word. MQTT (4.6) lets a QoS 1 message come again, and asks that what is sent again is sent
in the order in which it was sent first. So a subscriber may see 1 2 3 2 3 4: the server did not learn that 2 and 3 had
been taken, or the publisher did not learn that the server had them and sent them a second time. Two things follow:

* The first arrivals of a stream are in order: 1 2 4 3 is wrong, with or without repetitions between them.
* Within one connection no number is skipped: a step is to the next number, or back. Clients here acknowledge in order,
  as does the server, so what is unacknowledged is a run without holes, and so is what comes again. A new connection may
  begin anywhere in the stream as the server has it (1 2 3 1 | 3 1 2 3 4, where the publisher had sent 1 2 3 twice), and
  that is why steps are looked at within a connection only.

A member of a group gets some of the messages only, and what one member did not take may be given to another, later than
what came after it. MQTT promises no order there, so none is looked for.
"""

from collections import Counter
from collections.abc import Collection, Iterator
from itertools import pairwise
from typing import NamedTuple

from faults.history import Arrival, History, Stream, Subscriber


class Violation(NamedTuple):
    """A broken rule."""

    rule: str
    text: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.text}"


def violations(history: History) -> list[Violation]:
    """Everything in this history that a server with durable storage must not let happen."""
    return [
        *_lost(history),
        *_twice(history),
        *_out_of_order(history),
        *_never_sent(history),
        *_retained(history),
        *_forgotten(history),
    ]


def _lost(history: History) -> Iterator[Violation]:
    """What was acknowledged arrives at every subscriber that matches, and at one member at least of every group."""
    for audience, members in history.audiences():
        for stream in _matching(history, members):
            arrived = {one.number for member in members for one in member.of(stream)}
            if missing := stream.acknowledged - arrived:
                yield Violation("lost", f"{audience} never got {_some(missing)} of {stream.topic}, acknowledged")


def _twice(history: History) -> Iterator[Violation]:
    """What was published and subscribed with QoS 2 arrives once; in a group, at one member only."""
    for audience, members in history.audiences():
        for stream in _matching(history, members):
            if stream.qos == 2 and all(member.qos == 2 for member in members):
                times = Counter(one.number for member in members for one in member.of(stream))
                if repeated := [number for number, count in times.items() if count > 1]:
                    yield Violation("twice", f"{audience} got {_some(repeated)} of {stream.topic} more than once")


def _out_of_order(history: History) -> Iterator[Violation]:
    """Messages of one stream come in order, as the text at the top says it."""
    for subscriber in history.subscribers:
        if subscriber.group:
            continue
        for stream in _matching(history, [subscriber]):
            where = f"at {subscriber.name}, {stream.topic}"
            arrivals = subscriber.of(stream)
            first_arrivals = list(dict.fromkeys(one.number for one in arrivals))
            for before, after in pairwise(first_arrivals):
                if after < before:
                    yield Violation("order", f"{where}: {after} came first after {before}")
            for one, other in pairwise(arrivals):
                if _skips(one, other):
                    yield Violation(
                        "order", f"{where}: {other.number} came right after {one.number} in connection {one.connection}"
                    )


def _skips(one: Arrival, other: Arrival) -> bool:
    return one.connection == other.connection and other.number > one.number + 1


def _never_sent(history: History) -> Iterator[Violation]:
    """What arrives was sent, by the publisher it names, and has the QoS it has to have."""
    by_topic = {stream.topic: stream for stream in history.streams}
    for subscriber in history.subscribers:
        for one in subscriber.arrivals:
            stream = by_topic.get(one.topic)
            if stream is None or not subscriber.matches(stream) or one.publisher != stream.publisher:
                yield Violation("never sent", f"{subscriber.name} got {one}, which nobody sent there")
            elif not 1 <= one.number <= stream.sent:
                yield Violation("never sent", f"{subscriber.name} got {one}, the last one sent is {stream.sent}")
            elif one.qos != min(stream.qos, subscriber.qos):
                yield Violation("qos", f"{subscriber.name} subscribed with QoS {subscriber.qos} and got {one}")


def _retained(history: History) -> Iterator[Violation]:
    """A new subscriber finds, for each topic, the last acknowledged retained message or one sent after it."""
    last_sent = {stream.topic: stream.sent for stream in history.retained_streams}
    for look in history.looks:
        for topic, acknowledged in look.acknowledged.items():
            found = look.found.get(topic)
            if found is None:
                yield Violation("retained", f"{topic}: nothing there, {acknowledged} was acknowledged")
            elif found < acknowledged:
                yield Violation("retained", f"{topic}: found {found}, {acknowledged} was acknowledged")
        for topic, found in look.found.items():
            if not 1 <= found <= last_sent.get(topic, 0):
                yield Violation("retained", f"{topic}: found {found}, which nobody sent")


def _forgotten(history: History) -> Iterator[Violation]:
    """A durable session that was acknowledged is there when its client comes back."""
    for name, times in Counter(history.forgotten).items():
        yield Violation("forgotten", f"{name} came back {times} times to a server that did not know its session")


def _matching(history: History, members: list[Subscriber]) -> list[Stream]:
    return [stream for stream in history.streams if members[0].matches(stream)]


def _some(numbers: Collection[int]) -> str:
    """A few of many numbers, so that a report stays readable."""
    ordered = sorted(numbers)
    more = f" and {len(ordered) - 5} more" if len(ordered) > 5 else ""
    return ", ".join(str(number) for number in ordered[:5]) + more

"""What must hold at the end of a run with a pipeline, whatever was killed in it. No I/O: history in, faults out.

What is exactly once needs a word. A publisher that was not told that the server has a message sends it again, and with
QoS 1 the stream then has it twice, under two offsets: that is no fault, and no pipeline can see it. So there are two
halves:

* The stream has every acknowledged message at least once, and nothing that nobody sent.
* The output has every offset of the stream exactly once, with what the stream has there, and nothing else.

Messages in a queue do not say which offset they were made of. There, each payload comes up exactly as often as in the
stream.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from faults.durable_clients import arrival_of
from faults.history import Stream
from faults.rules import Violation


class Stored(NamedTuple):
    """A message of the stream."""

    topic: str
    payload: bytes


class Row(NamedTuple):
    """A row of the output."""

    partition: int
    offset: int
    payload: bytes


@dataclass
class Story:
    """All that is known at the end of a run."""

    sent: list[Stream]
    """What was published, by topic."""
    stored: Mapping[tuple[int, int], Stored] = field(default_factory=dict)
    """The stream: partition and offset to message."""
    rows: list[Row] | None = None
    """The files, as a reader of them sees them; None if the pipeline has none."""
    queue: list[bytes] | None = None
    """The payloads in the queue; None if the pipeline has none."""


def violations(story: Story) -> list[Violation]:
    """Everything that must not be."""
    return [*_stream(story), *_files(story), *_queue(story)]


def _stream(story: Story) -> Iterator[Violation]:
    """The stream has what was acknowledged, and nothing else."""
    found: Counter[tuple[str, int]] = Counter()
    for (partition, offset), message in story.stored.items():
        arrival = arrival_of(message.topic, message.payload, 1, False, 1)
        by_topic = {stream.topic: stream for stream in story.sent}
        stream = by_topic.get(message.topic)
        if stream is None or arrival.publisher != stream.publisher or not 0 < arrival.number <= stream.sent:
            yield Violation("never sent", f"stream, partition {partition}, offset {offset}: {message}")
        found[message.topic, arrival.number] += 1
    for stream in story.sent:
        for number in sorted(stream.acknowledged):
            if not found[stream.topic, number]:
                yield Violation("lost", f"{stream.topic} {number} was acknowledged and is not in the stream")
    for partition in {partition for partition, _ in story.stored}:
        offsets = sorted(offset for found_in, offset in story.stored if found_in == partition)
        if offsets != list(range(len(offsets))):
            yield Violation("gap", f"stream, partition {partition}: offsets are not 0 to {len(offsets) - 1}")


def _files(story: Story) -> Iterator[Violation]:
    """The files have each offset once."""
    if story.rows is None:
        return
    times = Counter((row.partition, row.offset) for row in story.rows)
    for place in story.stored:
        if not times[place]:
            yield Violation("missing", f"files: partition {place[0]}, offset {place[1]}")
    for (partition, offset), number in times.items():
        if number > 1:
            yield Violation("twice", f"files: partition {partition}, offset {offset}, {number} times")
    for row in story.rows:
        message = story.stored.get((row.partition, row.offset))
        if message is None or message.payload != row.payload:
            yield Violation("invented", f"files: {row}; the stream has there: {message}")


def _queue(story: Story) -> Iterator[Violation]:
    """The queue has each payload as often as the stream."""
    if story.queue is None:
        return
    expected = Counter(message.payload for message in story.stored.values())
    found = Counter(story.queue)
    for payload, number in (expected - found).items():
        yield Violation("missing", f"queue: {payload!r}, {number} times")
    for payload, number in (found - expected).items():
        yield Violation("twice" if payload in expected else "invented", f"queue: {payload!r}, {number} times too often")

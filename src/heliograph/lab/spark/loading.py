"""Fills streams: publishers of MQTT at QoS 1 as fast as the server takes it, and a look whether all is there."""

import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from heliograph.errors import Problem
from heliograph.lab import wire
from heliograph.lab.bench.case import QUICK, Site
from heliograph.lab.bench.closed_loop import Load
from heliograph.lab.bytestream import Address
from heliograph.lab.flows.messages import simple_text
from heliograph.lab.probes.meter import Meter
from heliograph.lab.publishers import Publisher
from heliograph.lab.ring import Ring
from heliograph.log.stream_reader import StreamReader

PUBLISHERS = 4
MIXED_TOPICS = 100
RING_BYTES = 8 << 20
"""More than Parquet keeps in a dictionary: payloads that come again soon would flatter it."""
_WINDOW_BYTES = 4 << 20
_PATIENCE = 60.0

Payload = Callable[[int], bytes]


def text_payload(size: int) -> Payload:
    """JSON with digits that cannot be compressed away."""
    chance = random.Random(size)  # the same each time

    def payload(number: int) -> bytes:
        front = b'{"number":%d,"data":"' % number
        more = chance.randbytes(size).hex().encode()
        return front + more[: size - len(front) - 2] + b'"}'

    return payload


def xml_payload(size: int) -> Payload:
    """What the flow of simple compute takes."""
    return lambda number: simple_text(size, number).encode()


def fill(address: Address, pid: int, topics: Sequence[str], count: int, payload: Payload) -> None:
    """Publish so many messages; with more topics than publishers, each message goes to another topic than the last."""
    size = len(payload(0))
    packets = max(len(topics), min(30_000, RING_BYTES // size, count))
    window = max(1, min(packets // 2, _WINDOW_BYTES // size))
    shares = [count * (n + 1) // PUBLISHERS - count * n // PUBLISHERS for n in range(PUBLISHERS)]
    with Load(Site(address, Meter(pid), QUICK)) as load:
        publishers: list[tuple[Publisher, int]] = []
        for number, share in enumerate(shares):
            mine = topics[number::PUBLISHERS] or topics[:1]
            link = load.open(f"fill-{number}")
            publisher = Publisher(link, _ring(mine, packets, payload), 1, window, [])
            load.add_publisher(publisher)
            publishers.append((publisher, share))
        _pump(load, publishers)


def _ring(topics: Sequence[str], packets: int, payload: Payload) -> Ring:
    shape = wire.Shape(qos=1)
    return Ring([shape.publish(topics[n % len(topics)], payload(n), n + 1) for n in range(packets)])


def _pump(load: Load, publishers: Sequence[tuple[Publisher, int]]) -> None:
    settled, give_up = 0, time.monotonic() + _PATIENCE
    while any(publisher.settled < share for publisher, share in publishers):
        for publisher, share in publishers:
            if (many := min(publisher.batch(), share - publisher.sent)) > 0:
                publisher.send(many)
        load.turn(0.1)
        done = sum(publisher.settled for publisher, _ in publishers)
        if done > settled:
            settled, give_up = done, time.monotonic() + _PATIENCE
        elif time.monotonic() > give_up:
            raise Problem(f"the server acknowledged {settled} messages, then no more")
    if strange := sum(publisher.strange for publisher, _ in publishers):
        raise Problem(f"the server sent {strange} packets that have no place in the load")


def await_messages(data: Path, stream: str, count: int) -> None:
    """Wait until the stream has so many messages; a Problem if it has more, or stays behind."""
    give_up = time.monotonic() + _PATIENCE
    with StreamReader(data, stream) as reader:
        while (there := sum(latest for _, latest in reader.extents())) < count:
            if time.monotonic() > give_up:
                raise Problem(f"stream {stream} has {there} messages, expected {count}")
            time.sleep(0.05)
    if there > count:
        raise Problem(f"stream {stream} has {there} messages, expected {count}: some are there twice")

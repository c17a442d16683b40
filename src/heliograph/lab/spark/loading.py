"""Fills streams: publishers of MQTT at QoS 1 as fast as the server takes it, and a look whether all is there."""

import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from heliograph.lab.errors import MeasurementFailed
from heliograph.lab.flows.messages import simple_text
from heliograph.lab.load.client_loop import ClientLoop, give_up
from heliograph.lab.load.mqtt.packet_cycle import PacketCycle
from heliograph.lab.load.mqtt.repeating_publisher import RepeatingPublisher, RepeatingPublishers
from heliograph.lab.load.plan import Address, Group, Plan
from heliograph.log.streams import StreamReader
from heliograph.mqtt import Publish, encode

PUBLISHERS = 4
MIXED_TOPICS = 100
CYCLE_BYTES = 8 << 20
"""More than Parquet keeps in a dictionary: payloads that come again soon would flatter it."""
_WINDOW_BYTES = 4 << 20
_PATIENCE = 60.0
_VERSION = 4  # MQTT 3.1.1

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


def fill(address: Address, topics: Sequence[str], count: int, payload: Payload) -> None:
    """Publish so many messages; with more topics than publishers, each message goes to another topic than the last."""
    size = len(payload(0))
    packets = max(len(topics), min(30_000, CYCLE_BYTES // size, count))
    window = max(1, min(packets // 2, _WINDOW_BYTES // size))
    shares = [count * (n + 1) // PUBLISHERS - count * n // PUBLISHERS for n in range(PUBLISHERS)]
    cycles = [_cycle(topics[number::PUBLISHERS] or topics[:1], packets, payload) for number in range(PUBLISHERS)]
    group = Group("fill", "publish", PUBLISHERS, destination="any", qos=1, window=window)
    loop = ClientLoop(give_up)
    try:
        clients = RepeatingPublishers(Plan((group,), 1.0), 0, address, loop.poller, cycles)
        loop.connect(clients)
        _pump(loop, list(zip(clients.publishers, shares, strict=True)))
        if clients.meter.errors:
            raise MeasurementFailed(f"the server sent {clients.meter.errors} packets that have no place in the load")
    finally:
        loop.close()


def _cycle(topics: Sequence[str], packets: int, payload: Payload) -> PacketCycle:
    return PacketCycle(
        [encode(Publish(topics[n % len(topics)], payload(n), 1, packet_id=n + 1), _VERSION) for n in range(packets)]
    )


def _pump(loop: ClientLoop, publishers: Sequence[tuple[RepeatingPublisher, int]]) -> None:
    settled, give_up_at = 0, time.monotonic() + _PATIENCE
    while any(publisher.settled < share for publisher, share in publishers):
        for publisher, share in publishers:
            if (many := min(publisher.batch(), share - publisher.sent)) > 0:
                publisher.send_next(many)
        loop.turn(0.1)
        done = sum(publisher.settled for publisher, _ in publishers)
        if done > settled:
            settled, give_up_at = done, time.monotonic() + _PATIENCE
        elif time.monotonic() > give_up_at:
            raise MeasurementFailed(f"the server acknowledged {settled} messages, then no more")


def await_messages(data: Path, stream: str, count: int) -> None:
    """Wait until the stream has so many messages; a Problem if it has more, or stays behind."""
    give_up = time.monotonic() + _PATIENCE
    with StreamReader(data, stream) as reader:
        while (there := sum(latest for _, latest in reader.extents())) < count:
            if time.monotonic() > give_up:
                raise MeasurementFailed(f"stream {stream} has {there} messages, expected {count}")
            time.sleep(0.05)
    if there > count:
        raise MeasurementFailed(f"stream {stream} has {there} messages, expected {count}: some are there twice")

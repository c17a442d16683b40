"""Fills streams: over MQTT as fast as the server takes it, or in its log before it starts.

A log that is written beforehand has as many messages in a record as is wanted. How many messages of a turn a server
puts into one record depends on its clients and on the machine; servers of the first release had a record for each
message with another topic than the one before. `docs/reference/log-format.md` describes the format.
"""

import json
import random
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import cycle, islice
from pathlib import Path
from zlib import crc32

from heliograph.lab.errors import MeasurementFailed
from heliograph.lab.flows.messages import simple_text
from heliograph.lab.load.client_loop import ClientLoop, give_up
from heliograph.lab.load.mqtt.packet_cycle import PacketCycle
from heliograph.lab.load.mqtt.repeating_publisher import RepeatingPublisher, RepeatingPublishers
from heliograph.lab.load.plan import Address, Group, Plan
from heliograph.log import FIRST_APPLICATION_KIND, LogOptions, MessageLog, MixedMessages, UniformMessages, topic_start
from heliograph.log.streams import StreamReader
from heliograph.mqtt import Publish, encode

PUBLISHERS = 4
MIXED_TOPICS = 100
CYCLE_BYTES = 8 << 20
"""More than Parquet keeps in a dictionary: payloads that repeat soon would make it look better than it is."""
_WINDOW_BYTES = 4 << 20
_PATIENCE = 60.0
_VERSION = 4  # MQTT 3.1.1

Payload = Callable[[int], bytes]

_STREAM = FIRST_APPLICATION_KIND + 7
_QOS, _IDENTIFIER = 1, 2
_UNSAFE = 16 << 20
"""Bytes that may wait to be written."""


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
            raise MeasurementFailed(f"the server sent {clients.meter.errors} unexpected packets")
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
            raise MeasurementFailed(f"the server acknowledged {settled} messages, then stalled")


def await_messages(data: Path, stream: str, count: int) -> None:
    """Wait until the stream has so many messages; a Problem if it has more, or stays behind."""
    give_up = time.monotonic() + _PATIENCE
    with StreamReader(data, stream) as reader:
        while (there := sum(latest for _, latest in reader.extents())) < count:
            if time.monotonic() > give_up:
                raise MeasurementFailed(f"stream {stream} has {there} messages, expected {count}")
            time.sleep(0.05)
    if there > count:
        raise MeasurementFailed(f"stream {stream} has {there} messages, expected {count}: there are duplicates")


def write_stream(
    directory: Path, name: str, topics: Sequence[str], payloads: Sequence[bytes], count: int, in_record: int
) -> None:
    """Write so many messages, to these topics in turn, shared out between two partitions as a server does it.

    Records of the partitions alternate, as those of a server's turns do. Payloads repeat.
    """
    ledger = MessageLog(
        directory, lambda _fact: None, lambda _record, _receivers: None, options=LogOptions(force=False)
    )
    try:
        cursors = [ledger.new_cursor() for _ in range(2)]
        fact = {"filter": f"{name}/#", "retention_bytes": 0, "retention_age": 0, "cursors": [c.number for c in cursors]}
        ledger.append_record(_STREAM, json.dumps({"stream": name, **fact, "made": True, "identity": name}).encode())
        rows = zip(cycle(topics), islice(cycle(payloads), count), strict=False)
        while some := list(islice(rows, in_record * len(cursors))):
            shares: list[list[tuple[str, bytes]]] = [[] for _ in cursors]
            for topic, payload in some:
                packet = encode(Publish(topic, payload, _QOS, packet_id=1), _VERSION)
                shares[crc32(topic.encode()) % len(cursors)].append((topic, packet))
            for cursor, share in zip(cursors, shares, strict=True):
                for messages in _records(share, in_record):
                    ledger.store(messages, [cursor], [0])
            if ledger.waiting > _UNSAFE:
                ledger.wait()
        ledger.wait()
    finally:
        ledger.close()


def _records(share: Sequence[tuple[str, bytes]], in_record: int) -> Iterable[UniformMessages | MixedMessages]:
    if in_record == 1:
        return [_alone(topic, packet) for topic, packet in share]
    return [_mixed(share)] if share else []


def _mixed(share: Sequence[tuple[str, bytes]]) -> MixedMessages:
    packets = [packet for _, packet in share]
    sizes = [*map(len, packets)]
    ends = [topic_start(size) + len(topic.encode()) for (topic, _), size in zip(share, sizes, strict=True)]
    return MixedMessages(b"".join(packets), sizes, ends, [end + _IDENTIFIER for end in ends], _QOS, False)


def _alone(topic: str, packet: bytes) -> UniformMessages:
    end = topic_start(len(packet)) + len(topic.encode())
    return UniformMessages(
        topic.encode(), packet, 1, end + _IDENTIFIER, _QOS, end, False, False, True, False, b"", publisher=0, expires=0
    )

"""Streams that are written into a log before a server starts with it, with as many messages in a record as is wanted.

How many messages of a turn a server finds to put into one record depends on its clients and on the machine; and
servers of the first release had a record for each message whose topic was not that of the one before. The format is
described in docs/reference/log-format.md.
"""

import json
from collections.abc import Iterable, Sequence
from itertools import cycle, islice
from pathlib import Path
from zlib import crc32

from heliograph.log import FIRST_APPLICATION_KIND, LogOptions, MessageLog, MixedMessages, UniformMessages, topic_start
from heliograph.mqtt import Publish, encode

_STREAM = FIRST_APPLICATION_KIND + 7
_VERSION = 4  # MQTT 3.1.1
_QOS, _IDENTIFIER = 1, 2
_UNSAFE = 16 << 20
"""Bytes that may wait to be written."""


def write_stream(
    directory: Path, name: str, topics: Sequence[str], payloads: Sequence[bytes], count: int, in_record: int
) -> None:
    """Write so many messages, to these topics in turn, shared out between two partitions as a server does it.

    Records of the partitions alternate, as those of a server's turns do. Payloads come again and again.
    """
    ledger = MessageLog(
        directory, lambda _fact: None, lambda _record, _receivers: None, options=LogOptions(force=False)
    )
    try:
        cursors = [ledger.new_cursor() for _ in range(2)]
        fact = {"filter": f"{name}/#", "retention_bytes": 0, "retention_age": 0, "cursors": [c.number for c in cursors]}
        ledger.note(_STREAM, json.dumps({"stream": name, **fact, "made": True, "identity": name}).encode())
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

"""Streams read by Spark, beside a source of generated rows, Parquet files, and the bytes alone through a socket."""

import os
import shutil
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from heliograph.lab.errors import MeasurementFailed
from heliograph.lab.spark.site import CORES, SparkSite
from heliograph.lab.spark.spark_rows import SparkEffort, SparkRow, SparkRun, middle, run_of
from heliograph.lab.spark.streams import (
    CYCLE_BYTES,
    MIXED_TOPICS,
    PUBLISHERS,
    Payload,
    await_messages,
    fill,
    text_payload,
    write_stream,
)

_AT_ONCE = 1 << 20

ACCESSES = ("http", "directory")
MOST_TIMES = {"http": 1.3, "directory": 1.3}
"""How many times as long a stream may take as rows that are made up."""
MOST_TIMES_MIXED = {"http": 1.7, "directory": 1.3}
RECORDS = (1, 10, 300)
"""How many messages are in a record of the streams that are not published: servers of the first release wrote one if
topics changed from message to message; later ones write what came in one turn."""
_BASE, _FILES = "=", "Parquet"
Place = Mapping[str, object]
"""A format and its options."""


def bytes_alone(data: Path, size: int, count: int) -> SparkRun:
    """Send as many bytes as so many messages of a size have, out of the log in this directory."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        receiver = os.fork()
        if not receiver:
            os._exit(_receive(server.getsockname(), size * count))
        sock, _ = server.accept()
    started, before = time.perf_counter(), time.process_time()
    with sock:
        _send(sock, data, size * count)
        sent = time.process_time() - before
        _, status, used = os.wait4(receiver, 0)
    seconds = time.perf_counter() - started
    if status:
        raise RuntimeError("not all bytes that were sent arrived")
    return SparkRun(count, seconds, (used.ru_utime + used.ru_stime) / count * 1e6, sent / count * 1e6, 0.0)


def _send(sock: socket.socket, data: Path, left: int) -> None:
    files = sorted(data.glob("*.log"), key=lambda path: path.stat().st_size)
    with files[-1].open("rb") as largest:
        size = os.fstat(largest.fileno()).st_size
        while left:
            at = 0
            while at < size and left:
                done = os.sendfile(sock.fileno(), largest.fileno(), at, min(_AT_ONCE, size - at, left))
                at += done
                left -= done


def _receive(address: tuple[str, int], left: int) -> int:
    """Take so many bytes; 0 if they have come."""
    memory = memoryview(bytearray(_AT_ONCE))
    with socket.create_connection(address) as sock:
        while left and (more := sock.recv_into(memory)):
            left -= more
    return int(left > 0)


@dataclass(frozen=True, slots=True)
class StreamLoad:
    """Messages of one kind in a stream."""

    stream: str
    size: int
    count: int
    topics: Sequence[str]
    goals: Mapping[str, float] = field(default_factory=dict)
    in_record: int = 0
    """Messages in a record, if they are written into the log; 0 if they are published."""

    @property
    def title(self) -> str:
        """What a row calls it."""
        if self.in_record:
            return f"{self.in_record} in a record"
        return f"{len(self.topics)} topics in turn" if len(self.topics) > PUBLISHERS else "stream"

    @property
    def payload(self) -> Payload:
        return text_payload(self.size)


def loads(effort: SparkEffort) -> list[StreamLoad]:
    """What is read."""
    return [
        StreamLoad("small", 100, effort.small, _topics("small", PUBLISHERS), MOST_TIMES),
        StreamLoad("large", 4096, effort.large, _topics("large", PUBLISHERS), MOST_TIMES),
        StreamLoad("mixed", 100, effort.small // 2, _topics("mixed", MIXED_TOPICS), MOST_TIMES_MIXED),
        *written(effort),
    ]


def written(effort: SparkEffort) -> list[StreamLoad]:
    """Those of them that are in the log when the server starts."""
    return [
        StreamLoad(name, 100, effort.small // 2, _topics(name, MIXED_TOPICS), goals, in_record)
        for in_record, goals in zip(RECORDS, ({}, {}, MOST_TIMES_MIXED), strict=True)
        for name in (f"written-{in_record}",)
    ]


def write(data: Path, effort: SparkEffort) -> None:
    """Write them."""
    for load in written(effort):
        payloads = [*map(load.payload, range(min(load.count, CYCLE_BYTES // load.size)))]
        write_stream(data, load.stream, load.topics, payloads, load.count, load.in_record)


def _topics(stream: str, number: int) -> list[str]:
    return [f"{stream}/{topic:03}" for topic in range(number)]


def measure(site: SparkSite, effort: SparkEffort) -> Iterator[SparkRow]:
    """All loads, one after the other."""
    for load in loads(effort):
        if not load.in_record:
            fill(site.mqtt, load.topics, load.count, load.payload)
        await_messages(site.data, load.stream, load.count)
        same = _parquet(str(site.folder / "same-rows"))
        site.ask("copy", {"from": site.stream(load.stream, "http"), "to": same})
        _check(site, same, load)
        yield from _to_nowhere(site, load, effort.rounds, same)
        yield from _to_parquet(site, load, effort.rounds, same)
        shutil.rmtree(site.folder / "same-rows")


def _to_nowhere(site: SparkSite, load: StreamLoad, rounds: int, same: Place) -> Iterator[SparkRow]:
    options = {"rows": load.count, "size": load.size, "tasks": CORES}
    contenders: dict[str, Place] = {
        _BASE: {"format": "made-up", "options": {name: str(value) for name, value in options.items()}},
        _FILES: same,
        **{access: site.stream(load.stream, access) for access in ACCESSES},
    }
    runs: dict[str, list[SparkRun]] = {name: [] for name in contenders}
    for number in range(rounds + 1):
        for name, source in contenders.items():
            answer, spent = site.ask("copy", {"from": source, "to": {"format": "noop"}})
            if number:  # the first round was warming up
                runs[name].append(run_of(load.count, answer["seconds"], spent))
    base = middle(runs[_BASE])
    yield SparkRow("= rows made up -> noop", load.size, base)
    yield SparkRow("Parquet -> noop", load.size, middle(runs[_FILES]), base)
    yield SparkRow("the bytes alone through a socket", load.size, bytes_alone(site.data, load.size, load.count), base)
    for access in ACCESSES:
        yield SparkRow(
            f"{load.title} by {access} -> noop", load.size, middle(runs[access]), base, load.goals.get(access)
        )


def _to_parquet(site: SparkSite, load: StreamLoad, rounds: int, same: Place) -> Iterator[SparkRow]:
    contenders: dict[str, Place] = {
        _BASE: same,
        **{access: site.stream(load.stream, access) for access in ACCESSES},
    }
    runs: dict[str, list[SparkRun]] = {name: [] for name in contenders}
    for number in range(rounds):
        for name, source in contenders.items():
            written = site.folder / "written"
            answer, spent = site.ask("copy", {"from": source, "to": _parquet(str(written))})
            runs[name].append(run_of(load.count, answer["seconds"], spent))
            if number == 0:
                _check(site, _parquet(str(written)), load)
            shutil.rmtree(written)
    base = middle(runs[_BASE])
    yield SparkRow("= Parquet -> Parquet", load.size, base)
    for access in ACCESSES:
        yield SparkRow(f"{load.title} by {access} -> Parquet", load.size, middle(runs[access]), base)


def _parquet(path: str) -> Place:
    return {"format": "parquet", "options": {"path": path}}


def _check(site: SparkSite, place: Place, load: StreamLoad) -> None:
    """Each message is there, once and whole."""
    found = site.worker.ask("count", {"from": place})
    expected = {"rows": load.count, "different": load.count, "bytes": load.count * load.size}
    if found != expected:
        raise MeasurementFailed(f"{load.stream} to Parquet: expected {expected}, found {found}")

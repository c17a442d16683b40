"""Damaged folders of a log: a server starts with one, or refuses with a Problem; so do the tools for operators."""

import functools
import io
import random
import struct
from collections.abc import Sequence
from contextlib import closing, redirect_stderr, redirect_stdout
from pathlib import Path

from google_crc32c import value as crc_of

from broker.amqp.amqp_clients import AmqpScene, text
from broker.clients import WALL
from fuzz.target import Target, scratch
from heliograph.amqp import Modified
from heliograph.broker.broker import Broker
from heliograph.broker.core.limits import Limits
from heliograph.broker.core.timers import Clock
from heliograph.broker.storage.store import Store
from heliograph.broker.storage.streams import StreamOptions
from heliograph.cli.main import main
from heliograph.errors import Problem
from heliograph.log.log import LogOptions
from heliograph.log.record import HEADER_SIZE, padded
from heliograph.log.segment import SEGMENT_HEADER_SIZE
from heliograph.log.streams.stream_reader import StreamReader
from heliograph.mqtt import Will

_HEAD = struct.Struct(">HI")
_ACTIONS = (["info"], ["check"], ["dump"], ["repair"], ["compact"])


def packed(files: dict[str, bytes]) -> bytes:
    """Files as one string of bytes."""
    return b"".join(_file(name, data) for name, data in files.items())


def _file(name: str, data: bytes) -> bytes:
    return _HEAD.pack(len(name), len(data)) + name.encode() + data


def _files(data: bytes) -> list[tuple[str, bytes]]:
    found, at = [], 0
    while at + _HEAD.size <= len(data):
        name_size, size = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        name = data[at : at + name_size].decode(errors="replace")
        found.append((name, data[at + name_size : at + name_size + size]))
        at += name_size + size
    return found


class Log(Target):
    """An input is all files of a folder, with their names."""

    name = "log"
    time = 5.0
    allowed = (Problem,)
    words = (b"HELIOLOG", b"null", b"[]", b"{}", b'"', b"-1", b"1e400", b"\xff" * 8, b"\0" * 8, b"\xed\xa0\x80")

    def seeds(self) -> list[bytes]:
        return [_written(), _written(streams=True)]

    def split(self, data: bytes) -> list[bytes]:
        return [_file(name, content) for name, content in _files(data)]

    def change_unit(self, unit: bytes, chance: random.Random) -> bytes:
        files = _files(unit)
        if len(files) != 1:
            return unit
        name, data = files[0]
        if name.endswith(".log") and chance.random() < 0.8:
            return _file(name, self._with_other_record(data, chance))
        if chance.random() < 0.2:
            return _file(name, data[: chance.randrange(len(data) + 1)])
        return _file(name, super().change_unit(data, chance))

    def _with_other_record(self, data: bytes, chance: random.Random) -> bytes:
        """A segment in which one record says something else, and has the check sum for it."""
        starts, at = [], SEGMENT_HEADER_SIZE
        while at + HEADER_SIZE <= len(data):
            length = int.from_bytes(data[at + 4 : at + 8], "little")
            if length < HEADER_SIZE:
                break
            starts.append((at, length))
            at += padded(length)
        if not starts:
            return data
        at, length = chance.choice(starts)
        record = data[at : at + length]
        body = super().change_unit(record[HEADER_SIZE:], chance) if len(record) > HEADER_SIZE else b""
        head = record[8:HEADER_SIZE]
        if chance.random() < 0.2:
            head = super().change_unit(head, chance)[: HEADER_SIZE - 8].ljust(HEADER_SIZE - 8, b"\0")
        covered = struct.pack("<I", HEADER_SIZE + len(body)) + head + body
        record = struct.pack("<I", crc_of(covered)) + covered
        return data[:at] + record.ljust(padded(len(record)), b"\0") + data[at + padded(length) :]

    def run(self, data: bytes) -> None:
        with scratch() as folder:
            log = folder / "log"
            for name, content in _files(data):
                _put(log, name, content)
            if not log.is_dir():
                return
            for action in _ACTIONS[:-2]:
                _helio(["log", *action, str(log)])
            _open(log)
            for action in _ACTIONS[-2:]:
                _helio(["log", *action, str(log)])
            _read_streams(log)


def _put(folder: Path, name: str, content: bytes) -> None:
    parts = name.split("/")
    if "\0" in name or not all(parts) or {".", ".."} & set(parts) or max(map(len, parts)) > 100:
        return
    path = folder.joinpath(*parts)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError:  # a file where another one wants a folder
        return


def _helio(words: Sequence[str]) -> None:
    """Run a command; `main` answers problems, and everything else comes through."""
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        main(list(words))


def _open(log: Path) -> None:
    """What a server does when it starts, and stops."""
    clock = Clock(lambda: 1000.0, lambda: 1000.0 + WALL)
    store = Store(log, clock, lambda: None, LogOptions(force=False, retry=0.01))
    try:
        broker = Broker(Limits(), lambda: 1000.0, lambda: "new", store=store, streams=[StreamOptions("all", "#")])
        broker.turn.end()
        assert store.ledger.wait()
        broker.turn.more_is_safe()
    finally:
        store.ledger.close()


def _read_streams(log: Path) -> None:
    for folder in sorted((log / "streams").glob("*")):
        try:
            reader = StreamReader(log, folder.name)
            for partition in range(min(reader.partitions, 3)):
                reader.earliest(partition), reader.latest(partition), reader.size(partition)
            reader.close()
        except Problem:
            pass


@functools.cache
def _written(*, streams: bool = False) -> bytes:
    """The folder of a server that had clients of all kinds."""
    with scratch() as folder, closing(AmqpScene(folder)) as scene:
        if streams:
            scene.store.make_stream(StreamOptions("all", "#"))
            scene.store.make_stream(StreamOptions("parts", "a/#", partitions=2))
        scene.queue("q")
        will = Will("a/will", b"gone", 1, True, {"will_delay_interval": 100})
        kept = scene.client("kept", clean=False, session_expiry_interval=1000, will=will)
        kept.subscribe("a/#", 2)
        kept.subscribe("$share/g/b", 1)
        sender = scene.client("sender", clean=False, session_expiry_interval=1000)
        for number in range(3):
            sender.publish("a/b", b"x" * number, qos=number, retain=number == 1, message_expiry_interval=500)
            sender.publish("b", b"y", 1, content_type="text", user_property=[("k", "v")])
        kept.lose()
        sender.publish("a/b", b"waits", 2)
        client = scene.amqp("amqp")
        link = client.sender("q")
        client.send(link, text("a", durable=True, application_properties={"n": 1}), text("b", priority=9, durable=True))
        receiver = client.receiver("q", credit=1)
        for delivery in client.messages(receiver):
            receiver.settle(delivery.number, delivery.number, Modified(delivery_failed=True))
        scene.run()
        scene.turn_ends()
        if streams:
            scene.store.streams.update_index()
        log = scene.log
        files = {str(path.relative_to(log)): path.read_bytes() for path in sorted(log.rglob("*")) if path.is_file()}
        return packed(files)

"""Streams whose records have messages of several topics, from a real server: all ways to read them tell the same."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

from broker.storage.test_streams import DurableScene
from cli.queue_server import helio
from configurations import PLANT
from heliograph.broker.storage.streams import StreamOptions
from heliograph.log.streams.remote_stream_reader import RemoteStreamReader
from heliograph.log.streams.stream_reader import StreamReader
from heliograph.log.streams.stream_span import MixedStreamSpan, StreamMessage, UniformStreamSpan
from heliograph.mqtt import Publish, encode_properties
from log.test_mixed_messages import mixed
from running import PATIENCE, RunningServer, servers

PARTITIONS = 2
TOPICS = [f"plant/{number}/ü" for number in range(20)]
TEXT = encode_properties({"content_type": "text/plain"})[1:]


def written(directory: Path) -> dict[int, list[tuple[str, bytes, int, bytes]]]:
    """Make a log with runs of one topic and mixed ones, alone and in groups; topic, payload, QoS and properties."""
    chance = random.Random(7)
    scene = DurableScene(directory, StreamOptions("plant", "plant/#", partitions=PARTITIONS))
    stream, ledger = scene.store.streams.by_name["plant"], scene.store.ledger
    expected: dict[int, list[tuple[str, bytes, int, bytes]]] = {p: [] for p in range(PARTITIONS)}
    partitions = {topic: stream.cursors.index(stream.cursor_for(topic.encode())) for topic in TOPICS}
    client = scene.client("p")

    def store_mixed(partition: int) -> None:
        mine = [topic for topic in TOPICS if partitions[topic] == partition]
        qos, version5 = chance.randrange(3), chance.random() < 0.5
        rows = []
        for _ in range(chance.choice([1, 2, 10, 300])):
            properties = chance.choice([b"", TEXT]) if version5 else b""
            rows.append((chance.choice(mine), chance.randbytes(chance.choice([0, 5, 200])), properties))
        messages = [(topic.encode(), payload, properties, 9, 0) for topic, payload, properties in rows]
        ledger.store(mixed(messages, qos, version5), [stream.cursors[partition]], [0])
        expected[partition] += [(topic, payload, qos, properties) for topic, payload, properties in rows]

    for turn in range(60):
        if turn % 3:
            store_mixed(turn % PARTITIONS)
        else:
            topic, payloads = chance.choice(TOPICS), [b"%03d" % turn] * 5
            client.send(*[Publish(topic, payload) for payload in payloads])
            expected[partitions[topic]] += [(topic, payload, 0, b"") for payload in payloads]
        if turn % 10 == 9:
            with ledger.group():
                store_mixed(0)
                store_mixed(1)
                store_mixed(0)
        scene.settle()
    scene.store.close()
    return expected


@pytest.fixture(scope="module")
def filled(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[RunningServer, dict[int, list[tuple[str, bytes, int, bytes]]]]]:
    folder = tmp_path_factory.mktemp("mixed")
    expected = written(folder / "data")
    with servers(folder) as serve:
        yield serve(f"{PLANT}partitions = {PARTITIONS}\n"), expected


def told(message: StreamMessage) -> tuple[str, bytes, int, bytes]:
    return message.topic, message.payload, message.qos, message.properties


def directory(server: RunningServer) -> Path:
    return server.config.parent / "data"


def test_files_and_pages_tell_what_was_stored(filled) -> None:
    server, expected = filled
    with (
        StreamReader(directory(server), "plant") as files,
        RemoteStreamReader(server.url("http"), "plant") as pages,
    ):
        for partition, messages in expected.items():
            found = list(files.messages(partition, 0))
            assert [told(message) for message in found] == messages
            assert [message.offset for message in found] == list(range(len(messages)))
            assert list(pages.messages(partition, 0)) == found
            assert {type(span) for span in files.read(partition, 0)} == {MixedStreamSpan, UniformStreamSpan}
            for offset, limit in ((1, 1), (7, 300), (len(found) - 3, 50)):
                part = found[offset : offset + limit]
                assert list(files.messages(partition, offset, limit)) == part
                assert list(pages.messages(partition, offset, limit)) == part
            late = found[len(found) // 2]
            assert files.offset_at(partition, late.time) == pages.offset_at(partition, late.time) <= late.offset


def test_people_see_each_message_with_its_topic(filled) -> None:
    server, expected = filled
    with urlopen(f"{server.url('http')}streams/plant/1?offset=3&limit=40", timeout=PATIENCE) as answer:
        shown = json.load(answer)["messages"]
    assert [message["topic"] for message in shown] == [topic for topic, *_ in expected[1][3:43]]
    for message, (_, _, qos, properties) in zip(shown, expected[1][3:43], strict=True):
        assert message["qos"] == qos
        assert message["properties"] == ({"content_type": "text/plain"} if properties else {})
    words = ("stream", "read", "plant", "--partition", "1", "--from", "3", "-n", "40", "--json", "--server")
    for place in (server.url("http"), str(directory(server))):
        status, out, _ = helio(*words, place)
        assert status == 0
        lines = [json.loads(line) for line in out.splitlines()]
        assert lines == [{"partition": 1, **message} for message in shown]

"""Streams of a real server, read from another process while it runs, dies and comes back."""

import json
import signal
import threading
import time
from collections import defaultdict
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest

from configurations import PLANT
from heliograph.log.errors import OffsetAhead, OffsetGone, UnknownStream
from heliograph.log.streams.remote_stream_reader import RemoteStreamReader
from heliograph.log.streams.stream_reader import StreamReader
from heliograph.mqtt import Publish, PubRec
from plain_client import PlainClient
from running import PATIENCE, RunningServer, Serve, servers

CONFIG = f"""{PLANT}partitions = 3
"""


@pytest.fixture
def serve(tmp_path: Path):
    with servers(tmp_path) as start:
        yield start


def wait_for(reader: StreamReader, number: int) -> None:
    """Wait until so many messages can be read."""
    give_up = time.monotonic() + PATIENCE
    while sum(reader.latest(p) for p in range(reader.partitions)) < number:
        assert time.monotonic() < give_up
        time.sleep(0.01)


def everything(reader: StreamReader) -> dict[tuple[int, int], tuple[str, bytes, int, int]]:
    """All messages by partition and offset."""
    return {
        (p, m.offset): (m.topic, m.payload, m.qos, m.time)
        for p in range(reader.partitions)
        for m in reader.messages(p, reader.earliest(p))
    }


def test_messages_of_any_qos_are_read_while_the_server_runs_and_after_it_was_killed(
    serve: Serve, tmp_path: Path
) -> None:
    server = serve(CONFIG)
    with PlainClient(server.port).connected() as client:
        client.send(Publish("plant/a", b"zero"))
        client.publish("plant/a", b"one")
        client.send(Publish("plant/b", b"two", 2, packet_id=7))
        assert isinstance(client.receive(), PubRec)
        with StreamReader(tmp_path / "data", "plant") as reader:
            wait_for(reader, 3)
            before = everything(reader)
    assert sorted(m[:3] for m in before.values()) == [
        ("plant/a", b"one", 1),
        ("plant/a", b"zero", 0),
        ("plant/b", b"two", 2),
    ]
    server.send_signal(signal.SIGKILL)
    server.ended()
    with StreamReader(tmp_path / "data", "plant") as reader:
        assert everything(reader) == before
        server = serve(CONFIG)
        assert everything(reader) == before
        with PlainClient(server.port).connected() as client:
            client.publish("plant/a", b"three")
        wait_for(reader, 4)
        after = everything(reader)
    assert {key: after[key] for key in before} == before
    (new,) = (message for key, message in after.items() if key not in before)
    assert new[:2] == ("plant/a", b"three")


def test_a_reader_that_follows_gets_every_message_once_and_in_order(serve: Serve, tmp_path: Path) -> None:
    server = serve(CONFIG)
    topics, each, publishers = 50, 100, 4

    def publish(number: int) -> None:
        with PlainClient(server.port).connected() as client:
            for n in range(each):
                client.send(*[Publish(f"plant/{number}/{t}", b"%d" % n) for t in range(topics)])
            client.publish("done", b"")  # all before it has been taken

    threads = [threading.Thread(target=publish, args=(n,)) for n in range(publishers)]
    for thread in threads:
        thread.start()
    total = topics * each * publishers
    found: dict[str, list[int]] = defaultdict(list)
    seen = 0
    offsets = [0, 0, 0]
    give_up = time.monotonic() + 3 * PATIENCE
    with StreamReader(tmp_path / "data", "plant") as reader:
        while seen < total:
            assert time.monotonic() < give_up, f"{seen} of {total}"
            for partition in range(3):
                for span in reader.read(partition, offsets[partition], limit_bytes=50_000):
                    assert span.offset == offsets[partition]
                    for message in span:
                        found[message.topic].append(int(message.payload))
                    offsets[partition] = span.next
                    seen += span.count
    for thread in threads:
        thread.join()
    assert len(found) == topics * publishers
    assert all(numbers == list(range(each)) for numbers in found.values())


def test_a_stream_that_is_gone_from_the_configuration_is_told_of(serve: Serve, tmp_path: Path) -> None:
    server = serve(CONFIG)
    server.stop()
    server = serve(CONFIG.split("[[stream]]", maxsplit=1)[0])
    server.log.wait_for("a stream is no longer configured; its messages stay, no new ones are added stream=plant")


def test_a_stream_cannot_lose_partitions(serve: Serve) -> None:
    serve(CONFIG).stop()
    server = serve(CONFIG.replace("partitions = 3", "partitions = 2"), announced=False)
    assert server.ended() == 1
    assert "it has 3 partitions, and they cannot become fewer" in server.log.text()


def test_a_changed_stream_needs_a_restart(serve: Serve) -> None:
    server = serve(CONFIG)
    server.reload(CONFIG.replace("partitions = 3", "partitions = 4"))
    server.log.wait_for("stream has changed; the change needs a restart")


# -- over HTTP --------------------------------------------------------------------------------------------------------


@pytest.fixture
def filled(serve: Serve, tmp_path: Path) -> RunningServer:
    """A server with 300 messages of one topic, so in one partition, and one with all that MQTT 5 has."""
    server = serve(CONFIG.replace("partitions = 3", "partitions = 1"))
    with PlainClient(server.port).connected() as client:
        client.send(*[Publish("plant/a", b"%03d" % n) for n in range(300)])
        properties = {"content_type": "text/plain", "correlation_data": b"\xff", "user_property": [("k", "v")]}
        client.send(Publish("plant/b", b"\xff", properties=properties))
        client.publish("plant/c", "grüße".encode())
    with StreamReader(tmp_path / "data", "plant") as reader:
        wait_for(reader, 302)
    return server


def refused(server: RunningServer, path: str) -> tuple[int, dict[str, Any]]:
    with pytest.raises(HTTPError) as error:
        server.page(path)
    with error.value as answer:
        return answer.code, json.loads(answer.read())


def test_streams_are_listed(filled: RunningServer) -> None:
    (stream,) = json.loads(filled.page("/streams"))
    assert (stream["name"], stream["filter"], stream["configured"]) == ("plant", "plant/#", True)
    (partition,) = stream["partitions"]
    assert (partition["earliest"], partition["latest"]) == (0, 302)
    assert partition["bytes"] > 300
    assert json.loads(filled.page("/streams/plant")) == stream
    (figures,) = filled.stats()["streams"]
    assert figures["partitions"] == [{"first": 0, "next": 302, "bytes": partition["bytes"]}]
    assert 'heliograph_stream_messages_total{stream="plant",partition="0"} 302' in filled.page("/metrics")


def test_messages_are_shown_as_json(filled: RunningServer) -> None:
    page = json.loads(filled.page("/streams/plant/0"))
    assert [m["offset"] for m in page["messages"]] == list(range(100))
    assert (page["next"], page["latest"]) == (100, 302)
    page = json.loads(filled.page("/streams/plant/0?offset=299&limit=50"))
    first, second, third = page["messages"]
    assert (first["topic"], first["payload"], first["qos"], first["retain"]) == ("plant/a", "299", 0, False)
    assert second["payload_base64"] == "/w=="
    assert second["properties"] == {
        "content_type": "text/plain",
        "correlation_data_base64": "/w==",
        "user_property": [["k", "v"]],
    }
    assert (third["payload"], third["qos"]) == ("grüße", 1)
    assert json.loads(filled.page(f"/streams/plant/0?time={third['time'] + 1}"))["messages"] == []
    assert json.loads(filled.page("/streams/plant/0?time=0&limit=1"))["messages"][0]["offset"] == 0


def test_what_cannot_be_answered_is_refused(filled: RunningServer) -> None:
    assert refused(filled, "/streams/nowhere")[0] == 404
    assert refused(filled, "/streams/..%2Fplant")[0] == 404
    assert refused(filled, "/streams/plant/7")[0] == 404
    assert refused(filled, "/streams/plant/x")[0] == 404
    assert refused(filled, "/streams/plant/0?offset=-1") == (
        400,
        {"error": "offset: expected a whole number, found '-1'"},
    )
    assert refused(filled, "/streams/plant/0?limit=0")[0] == 400
    assert refused(filled, "/streams/plant/0?format=xml")[0] == 400
    assert refused(filled, "/streams/plant/0?offset=1&time=1")[0] == 400
    status, told = refused(filled, "/streams/plant/0?offset=303")
    assert (status, told["latest"]) == (400, 302)


def test_a_remote_reader_reads_the_same(filled: RunningServer, tmp_path: Path) -> None:
    url = filled.url("http")
    with StreamReader(tmp_path / "data", "plant") as reader, RemoteStreamReader(url, "plant") as remote:
        assert remote.partitions == reader.partitions
        assert (remote.earliest(0), remote.latest(0), remote.size(0)) == (0, 302, reader.size(0))
        everything_here = list(reader.messages(0, 0))
        assert list(remote.messages(0, 0)) == everything_here
        assert list(remote.messages(0, 150, 7)) == everything_here[150:157]
        assert remote.read(0, 302) == []
        for message in everything_here[::60]:
            assert remote.offset_at(0, message.time) == reader.offset_at(0, message.time)
        with pytest.raises(OffsetAhead):
            remote.read(0, 400)
        with pytest.raises(UnknownStream, match='unknown stream "other"; streams are: plant'):
            RemoteStreamReader(url, "other")
        with pytest.raises(UnknownStream):
            remote.latest(1)


def test_offsets_that_are_gone_are_told_with_the_earliest(serve: Serve, tmp_path: Path) -> None:
    server = serve(CONFIG.replace("partitions = 3", "retention_age = 0.5"))
    with PlainClient(server.port).connected() as client:
        client.publish("plant/a", b"1")
        server.wait_until(lambda figures: figures["streams"][0]["partitions"][0]["first"] == 1)
    with RemoteStreamReader(server.url("http"), "plant") as remote:
        give_up = time.monotonic() + PATIENCE
        while not remote.earliest(0):
            assert time.monotonic() < give_up
        assert refused(server, "/streams/plant/0?offset=0")[0] == 410
        with pytest.raises(OffsetGone) as gone:
            remote.read(0, 0)
        assert gone.value.earliest == 1

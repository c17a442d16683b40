"""Streams of a real server, read from another process while it runs, dies and comes back."""

import signal
import threading
import time
from collections import defaultdict
from pathlib import Path

import pytest

from heliograph.log.stream_reader import StreamReader
from heliograph.mqtt import Publish, PubRec
from plain_client import PlainClient
from running import PATIENCE, Serve, servers

CONFIG = """
[[listener]]
port = 0
[http]
port = 0
[storage]
directory = "data"
[[stream]]
name = "plant"
filter = "plant/#"
partitions = 3
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
                    found[span.topic] += map(int, span.payloads)
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
    server.log.wait_for("a stream is not configured any more; it keeps what it has stream=plant")


def test_a_stream_cannot_lose_partitions(serve: Serve) -> None:
    serve(CONFIG).stop()
    server = serve(CONFIG.replace("partitions = 3", "partitions = 2"), announced=False)
    assert server.ended() == 1
    assert "it has 3 partitions, and they cannot become fewer" in server.log.text()


def test_a_changed_stream_needs_a_restart(serve: Serve) -> None:
    server = serve(CONFIG)
    server.reload(CONFIG.replace("partitions = 3", "partitions = 4"))
    server.log.wait_for("stream has changed; that needs a restart")

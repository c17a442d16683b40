"""Streams made while a real server runs."""

import json
import signal
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest

from configurations import BOTH
from heliograph.log.streams.stream_reader import StreamReader
from plain_client import PlainClient
from running import PATIENCE, RunningServer, Serve, servers

CONFIG = f"""{BOTH}
[storage]
directory = "data"
"""
CONFIGURED = """
[[stream]]
name = "plant"
filter = "plant/#"
"""


@pytest.fixture(scope="module")
def one_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """For tests that leave nothing behind which others could stumble over."""
    with servers(tmp_path_factory.mktemp("one")) as start:
        yield start(CONFIG)


def put(server: RunningServer, name: str, body: Any) -> tuple[int, dict[str, Any]]:
    """Ask for a stream: the status, and what the server says."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(f"{server.url('http').rstrip('/')}/streams/{name}", data, method="PUT")
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.status, json.loads(answer.read())
    except HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


def payloads(directory: Path, name: str, number: int) -> list[bytes]:
    """The messages of a stream, in all partitions, once there are so many."""
    give_up = time.monotonic() + PATIENCE
    with StreamReader(directory, name) as reader:
        while sum(map(reader.latest, range(reader.partitions))) < number:
            assert time.monotonic() < give_up
            time.sleep(0.01)
        return [m.payload for p in range(reader.partitions) for m in reader.messages(p, reader.earliest(p))]


def publish(server: RunningServer, topic: str, *payloads: bytes) -> None:
    with PlainClient(server.port).connected() as client:
        for payload in payloads:
            client.publish(topic, payload)


def test_a_stream_that_was_made_takes_messages_at_once_even_on_topics_in_use(serve: Serve, tmp_path: Path) -> None:
    server = serve(CONFIG)
    with PlainClient(server.port).connected() as client:
        client.publish("plant/a", b"before")
        status, told = put(server, "plant", {"filter": "plant/#", "partitions": 2, "retention_age": 3600})
        with StreamReader(tmp_path / "data", "plant") as reader:
            assert [reader.latest(p) for p in range(reader.partitions)] == [0, 0]
        client.publish("plant/a", b"after")
    assert status == 201
    assert (told["filter"], len(told["partitions"]), told["retention_age"]) == ("plant/#", 2, 3600)
    assert (told["made"], told["configured"]) == (True, False)
    assert payloads(tmp_path / "data", "plant", 1) == [b"after"]


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_it_is_there_after_a_restart(serve: Serve, tmp_path: Path, end: signal.Signals) -> None:
    server = serve(CONFIG)
    put(server, "plant", {"filter": "plant/#"})
    publish(server, "plant/a", b"1")
    server.send_signal(end)
    server.ended()
    server = serve(CONFIG)
    publish(server, "plant/a", b"2")
    assert payloads(tmp_path / "data", "plant", 2) == [b"1", b"2"]
    assert "not configured" not in server.log.text()


def test_asked_for_again_it_stays_as_it_is(serve: Serve) -> None:
    server = serve(CONFIG + CONFIGURED)
    first = put(server, "made", {"filter": "a/#", "partitions": 3})[1]
    assert put(server, "made", {"filter": "a/#", "partitions": 1}) == (200, first)
    status, told = put(server, "plant", {"filter": "plant/#", "name": "plant"})
    assert (status, told["made"], told["configured"]) == (200, False, True)


def test_another_filter_is_a_conflict(serve: Serve) -> None:
    server = serve(CONFIG + CONFIGURED)
    assert put(server, "plant", {"filter": "other/#"}) == (
        409,
        {"error": 'stream plant is there already: expected its filter, "plant/#", found "other/#"'},
    )


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({}, "filter: expected a topic filter"),
        ({"filter": "a/#/b"}, "filter: expected a topic filter"),
        ({"filter": "$share/g/a"}, "filter: expected a topic filter that is not shared"),
        ({"filter": "a", "partitions": 0}, "partitions: expected an integer from 1 to 1024, found 0"),
        ({"filter": "a", "retention": 1}, "retention: unknown key; did you mean retention_"),
        (
            {"filter": "a", "retention_bytes": -1},
            "retention_bytes: expected an integer from 0 to 115292",
        ),
        ({"filter": "a", "name": "y"}, 'name: expected "x", as in the path, found "y"'),
        (["a"], 'expected an object, as in {"filter": "plant/#"}, found ["a"]'),
        (b"nothing", 'expected JSON, as in {"filter": "plant/#"}'),
        (b"[" * 60_000, "expected JSON"),
    ],
)
def test_what_is_no_stream_is_refused(one_server: RunningServer, body: Any, told: str) -> None:
    status, answer = put(one_server, "x", body)
    assert status == 400
    assert told in answer["error"]


def test_names_that_would_be_paths_are_refused(one_server: RunningServer) -> None:
    for name in ("..%2Fx", "%2Fx", ".x", "a%20b"):
        assert put(one_server, name, {"filter": "a"})[0] == 400
    assert put(one_server, "a/0", {"filter": "a"})[0] == 404
    assert put(one_server, "", {"filter": "a"})[0] == 400


def test_there_is_an_end_to_making_streams(one_server: RunningServer) -> None:
    status, answer = put(one_server, "most", {"filter": "most/#", "partitions": 1000})
    assert status == 201
    status, answer = put(one_server, "more", {"filter": "a", "partitions": 25})
    assert status == 507
    assert "expected at most 24, found partitions = 25" in answer["error"]


def test_a_body_that_is_too_large_is_refused(one_server: RunningServer) -> None:
    assert put(one_server, "x", b" " * 70_000)[0] == 413


def test_only_streams_can_be_put(one_server: RunningServer) -> None:
    request = urllib.request.Request(one_server.url("http").rstrip("/") + "/stats", b"{}", method="PUT")
    with pytest.raises(HTTPError) as refused:
        urllib.request.urlopen(request, timeout=PATIENCE)
    with refused.value as answer:
        assert (answer.code, answer.headers["Allow"]) == (405, "GET, HEAD")


def test_streams_cannot_be_made_where_the_configuration_says_so_and_a_reload_counts(serve: Serve) -> None:
    forbidden = CONFIG.replace("[http]", "[http]\nmake_streams = false")
    server = serve(forbidden)
    status, answer = put(server, "x", {"filter": "x"})
    assert status == 403
    assert "make_streams = true" in answer["error"]
    server.reload(CONFIG)
    assert put(server, "x", {"filter": "x"})[0] == 201


def test_by_default_streams_cannot_be_made_from_other_machines(serve: Serve) -> None:
    server = serve(CONFIG.replace("[http]", '[http]\nhost = "0.0.0.0"'))
    assert put(server, "x", {"filter": "x"})[0] == 403


def test_the_configuration_counts_more_than_what_was_made(serve: Serve, tmp_path: Path) -> None:
    server = serve(CONFIG)
    put(server, "plant", {"filter": "old/#"})
    publish(server, "old/a", b"1")
    server.stop()
    server = serve(CONFIG + CONFIGURED)
    server.log.wait_for("is now configured; the configuration takes precedence stream=plant")
    publish(server, "old/a", b"not any more")
    publish(server, "plant/a", b"2")
    assert payloads(tmp_path / "data", "plant", 2) == [b"1", b"2"]
    server.stop()
    server = serve(CONFIG)
    server.log.wait_for("a stream is no longer configured; its messages stay, no new ones are added stream=plant")
    assert put(server, "plant", {"filter": "plant/#"})[0] == 201
    publish(server, "plant/a", b"3")
    assert payloads(tmp_path / "data", "plant", 3) == [b"1", b"2", b"3"]


def test_listeners_are_told_with_the_ports_that_they_have(serve: Serve) -> None:
    server = serve(CONFIG)
    assert json.loads(server.page("/listeners")) == [
        {"protocol": "mqtt", "kind": "tcp", "host": "127.0.0.1", "port": server.port_of("mqtt")},
        {"protocol": "amqp", "kind": "tcp", "host": "127.0.0.1", "port": server.port_of("amqp")},
    ]

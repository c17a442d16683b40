"""`helio stream` with a real server, and with the folder of its log."""

import json
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.queue_server import helio
from configurations import PLANT
from plain_client import PlainClient
from running import PATIENCE, RunningServer, servers

CONFIG = f"""{PLANT}partitions = 2
retention_age = 604800
retention_bytes = 0
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with servers(tmp_path_factory.mktemp("streams")) as start:
        running = start(CONFIG)
        make(running, "alarms", "alarms/#")
        with PlainClient(running.port).connected() as client:
            client.publish("plant/a", b"one")
            client.publish("plant/d", b"\xff")
            client.publish("alarms/a", b"1")
            client.publish("alarms/a", b"2")
            client.publish("alarms/a", b"3")
        give_up = time.monotonic() + PATIENCE
        while sum(one["MESSAGES"] for one in listed(running)) < 5:
            assert time.monotonic() < give_up
        yield running


def make(server: RunningServer, name: str, topic_filter: str) -> None:
    body = json.dumps({"filter": topic_filter}).encode()
    url = f"{server.url('http')}streams/{name}"
    urllib.request.urlopen(urllib.request.Request(url, body, method="PUT"), timeout=PATIENCE).close()


def folder(server: RunningServer) -> str:
    return str(server.config.parent / "data")


def done(server: RunningServer, *words: str) -> str:
    status, out, error = helio("stream", *words, "--server", server.url("http"))
    assert (status, error) == (0, "")
    return out


def refused(server: RunningServer, *words: str) -> str:
    status, out, error = helio("stream", *words, "--server", server.url("http"))
    assert (status, out) == (1, "")
    return error.removeprefix("helio stream: ").removesuffix("\n")


def listed(server: RunningServer) -> list[dict[str, int]]:
    return [
        {"MESSAGES": sum(part["latest"] - part["earliest"] for part in one["partitions"])}
        for one in json.loads(done(server, "list", "--json"))
    ]


def test_list_is_a_table(server: RunningServer) -> None:
    headings, alarms, plant = done(server, "list").splitlines()
    assert headings.split() == ["NAME", "FILTER", "PARTITIONS", "MESSAGES", "BYTES", "KEPT", "STATE"]
    assert alarms.split()[:4] == ["alarms", "alarms/#", "1", "3"]
    assert alarms.endswith("1,073,741,824 bytes  made")
    assert plant.split()[:4] == ["plant", "plant/#", "2", "2"]
    assert plant.endswith("7 d                  configured")


def test_show_tells_of_each_partition(server: RunningServer) -> None:
    told, partitions = done(server, "show", "plant").split("\n\n")
    assert dict(line.split(None, 1) for line in told.splitlines()) | {"bytes": "", "identity": ""} == {
        "name": "plant",
        "filter": "plant/#",
        "state": "configured",
        "kept": "7 d",
        "messages": "2",
        "bytes": "",
        "identity": "",
        "log": folder(server),
    }
    assert [line.split()[:4] for line in partitions.splitlines()[1:]] == [["0", "0", "1", "1"], ["1", "0", "1", "1"]]
    assert json.loads(done(server, "show", "plant", "--json"))["retention_age"] == 604800


def test_the_folder_of_the_log_will_do_for_reading(server: RunningServer) -> None:
    for words in (["list"], ["show", "plant"], ["show", "alarms", "--json"], ["read", "alarms"]):
        assert helio("stream", *words, "--server", folder(server)) == (0, done(server, *words), "")


def test_read_prints_where_each_message_is(server: RunningServer) -> None:
    lines = [line.split(" ") for line in done(server, "read", "alarms").splitlines()]
    assert [[place, topic, payload] for place, _, topic, payload in lines] == [
        ["0:0", "alarms/a", "1"],
        ["0:1", "alarms/a", "2"],
        ["0:2", "alarms/a", "3"],
    ]
    assert len(done(server, "read", "alarms", "--from", lines[0][1]).splitlines()) == 3
    assert done(server, "read", "alarms", "--from", "2126-01-01") == ""


def test_read_takes_a_part_and_a_number(server: RunningServer) -> None:
    def read(*words: str) -> list[str]:
        return [line.split(" ")[0] for line in done(server, "read", *words).splitlines()]

    assert read("alarms", "--from", "1") == ["0:1", "0:2"]
    assert read("alarms", "-n", "2") == ["0:0", "0:1"]
    assert read("alarms", "--from", "3") == []
    assert read("plant", "--partition", "0") == ["0:0"]
    assert read("plant", "-n", "1") == ["0:0"]
    (other,) = done(server, "read", "plant", "--partition", "1", "--json").splitlines()
    assert json.loads(other)["partition"] == 1


def test_read_prints_json(server: RunningServer) -> None:
    messages = [json.loads(line) for line in done(server, "read", "plant", "--json").splitlines()]
    assert sorted((one["topic"], one.get("payload"), one.get("payload_base64")) for one in messages) == [
        ("plant/a", "one", None),
        ("plant/d", None, "/w=="),
    ]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["show", "other"], 'unknown stream "other"; streams are: alarms, plant'),
        (["read", "other"], 'unknown stream "other"; streams are: alarms, plant'),
        (["delete", "other"], 'unknown stream "other"; streams are: alarms, plant'),
        (["show", "../x"], 'unknown stream "../x"; streams are: alarms, plant'),
        (["read", "alarms", "--from", "9"], "stream alarms: offset 9 is ahead of the stream, the next message gets 3"),
        (
            ["read", "alarms", "--from", "tomorrow"],
            "--from: expected earliest, an offset or a time as in 2026-01-31T12:00:00Z, found tomorrow",
        ),
        (["read", "alarms", "--partition", "1"], "--partition: expected a number from 0 to 0, found 1"),
        (["read", "alarms", "-n", "-1"], "--count: expected 0 or more, found -1"),
        (
            ["delete", "plant", "--purge"],
            "stream plant is in the server's configuration; take it out there and restart the server first",
        ),
        (
            ["delete", "alarms"],
            "stream alarms has 3 messages; expected purge=true (helio stream delete --purge) to delete it with them",
        ),
    ],
)
def test_what_cannot_be_done_is_told(server: RunningServer, words: list[str], told: str) -> None:
    assert refused(server, *words) == told


def test_delete(server: RunningServer) -> None:
    make(server, "mine", "mine/#")
    assert done(server, "delete", "mine") == "mine deleted\n"
    make(server, "mine", "mine/#")
    with PlainClient(server.port).connected() as client:
        client.publish("mine/a", b"one")
    assert done(server, "delete", "mine", "--purge") == "mine deleted with 1 message\n"


def test_servers_that_are_none(server: RunningServer, tmp_path: Path) -> None:
    def told(*words: str) -> str:
        status, _, error = helio("stream", *words)
        assert status == 1
        return error

    assert "which alone can delete streams" in told("delete", "plant", "--server", folder(server))
    assert "expected the URL of a server or the folder of its log" in told("list", "--server", str(tmp_path / "x"))
    assert "expected the URL of a server's pages" in told("list", "--server", "ftp://x")
    assert "cannot be reached" in told("list", "--server", "http://127.0.0.1:1")
    assert "unknown stream" in told("read", "plant", "--server", str(tmp_path))

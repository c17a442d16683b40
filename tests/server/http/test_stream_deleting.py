"""Streams deleted while a real server runs."""

import json
import signal
import urllib.request
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest

from heliograph.cli.main import main
from heliograph.log.errors import UnknownStream
from heliograph.log.streams.stream_index import stream_directory
from heliograph.log.streams.stream_reader import StreamReader
from plain_client import PlainClient
from running import PATIENCE, RunningServer, Serve
from server.http.test_stream_making import CONFIG, CONFIGURED, payloads, publish, put


def delete(server: RunningServer, name: str, query: str = "purge=true") -> tuple[int, dict[str, Any]]:
    """Delete a stream: the status, and what the server says."""
    url = f"{server.url('http').rstrip('/')}/streams/{name}?{query}"
    try:
        with urllib.request.urlopen(urllib.request.Request(url, method="DELETE"), timeout=PATIENCE) as answer:
            return answer.status, json.loads(answer.read())
    except HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


def test_a_stream_that_has_messages_goes_only_if_these_may_go(serve: Serve, tmp_path: Path) -> None:
    server = serve(CONFIG)
    put(server, "plant", {"filter": "plant/#"})
    publish(server, "plant/a", b"1", b"2")
    payloads(tmp_path / "data", "plant", 2)
    status, told = delete(server, "plant", "")
    assert (status, told["error"].split(";")[0]) == (409, "stream plant has 2 messages")
    assert delete(server, "plant", "purge=false")[0] == 409
    assert delete(server, "plant", "purge=maybe")[0] == 400
    assert delete(server, "plant") == (200, {"name": "plant", "messages": 2})
    assert server.stats()["streams"] == json.loads(server.page("/streams")) == []
    assert not stream_directory(tmp_path / "data", "plant").exists()
    with pytest.raises(UnknownStream):
        StreamReader(tmp_path / "data", "plant")
    assert delete(server, "plant") == (404, {"error": 'unknown stream "plant"; there are no streams'})


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_it_is_gone_after_a_restart_and_another_one_begins_anew(
    serve: Serve, tmp_path: Path, capsys: pytest.CaptureFixture[str], end: signal.Signals
) -> None:
    server = serve(CONFIG)
    put(server, "plant", {"filter": "plant/#", "partitions": 3})
    put(server, "others", {"filter": "#"})
    with PlainClient(server.port).connected() as client:
        client.publish("plant/a", b"old")
        assert delete(server, "plant")[0] == 200
        client.publish("plant/a", b"for nobody but others")  # on a topic whose route the server knew
        assert put(server, "plant", {"filter": "plant/#"})[0] == 201
        client.publish("plant/a", b"new")
    delete(server, "others")
    server.send_signal(end)
    server.ended()
    server = serve(CONFIG)
    assert [one["name"] for one in server.stats()["streams"]] == ["plant"]
    assert payloads(tmp_path / "data", "plant", 1) == [b"new"]
    server.stop()
    assert main(["log", "check", str(tmp_path / "data")]) == 0
    assert "set aside" not in capsys.readouterr().out


def test_an_index_that_a_crash_has_left_behind_is_deleted_at_the_start(serve: Serve, tmp_path: Path) -> None:
    server = serve(CONFIG)
    put(server, "plant", {"filter": "plant/#"})
    server.stop()
    folder = stream_directory(tmp_path / "data", "plant")
    folder.rename(folder.with_name("ghost"))
    server = serve(CONFIG)
    assert [one["name"] for one in json.loads(server.page("/streams"))] == ["plant"]
    assert not folder.with_name("ghost").exists()


def test_streams_of_the_configuration_stay_until_they_are_taken_out(serve: Serve) -> None:
    server = serve(CONFIG + CONFIGURED)
    status, told = delete(server, "plant")
    assert (status, told["error"].split(";")[0]) == (409, "stream plant is in the server's configuration")
    server.stop()
    server = serve(CONFIG)
    assert delete(server, "plant") == (200, {"name": "plant", "messages": 0})


def test_streams_cannot_be_deleted_where_they_cannot_be_made(serve: Serve) -> None:
    server = serve(CONFIG.replace("[http]", "[http]\nmake_streams = false") + CONFIGURED)
    assert delete(server, "plant")[0] == 403
    request = urllib.request.Request(server.url("http").rstrip("/") + "/stats", method="DELETE")
    with pytest.raises(HTTPError) as refused:
        urllib.request.urlopen(request, timeout=PATIENCE)
    with refused.value as answer:
        assert (answer.code, answer.headers["Allow"]) == (405, "GET, HEAD")

"""Streams over HTTP: what is made of answers that are long, cut off or damaged."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Queue

import numpy as np
import pytest

from heliograph.errors import InvalidInput, Problem
from heliograph.log.buffer_pool import BufferPool
from heliograph.log.errors import BadAnswer, OffsetAhead, OffsetGone, RequestRefused, ServerUnreachable, UnknownStream
from heliograph.log.streams.remote_stream_reader import RemoteStreamReader, request_page
from log.streams.test_stream_block import MINE, OTHERS, payloads_in, record

Records = Callable[[int], tuple[bytes, int, int]]
"""The body of an answer from an offset on, the length that it says it has, and the offset behind it."""


@contextmanager
def answering(records: Records) -> Iterator[tuple[RemoteStreamReader, Queue[str]]]:
    """A reader of a server that gives these records, and what that has been asked."""
    asked: Queue[str] = Queue()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            asked.put(self.path)
            if "?" not in self.path:
                body, size, following = json.dumps({"partitions": [{}]}).encode(), 0, 0
                size = len(body)
            else:
                body, size, following = records(int(self.path.partition("offset=")[2].partition("&")[0]))
            self.send_response(200)
            self.send_header("Content-Length", str(size))
            self.send_header("Heliograph-Next-Offset", str(following))
            self.send_header("Heliograph-Cursor", str(MINE))
            self.end_headers()
            self.wfile.write(body)
            if len(body) < size:
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            """Not here."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """Readers may go away."""

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    reader = RemoteStreamReader(f"http://127.0.0.1:{server.server_port}", "plant")
    try:
        yield reader, asked
    finally:
        reader.close()
        server.shutdown()
        server.server_close()


def rooms() -> list[BufferPool | None]:
    return [None, BufferPool(8 << 10), BufferPool(8 << 10, lambda size: np.empty(size, np.uint8))]


SIZES = [1, 5000, 0, 900, 20_000, 3, 3, 3000]
PAYLOADS = [bytes([65 + number]) * size for number, size in enumerate(SIZES)]


def log_from(offset: int) -> tuple[bytes, int, int]:
    """Three records at a time."""
    following = min(offset + 3, len(PAYLOADS))
    body = b"".join(record([PAYLOADS[number]], number) for number in range(offset, following))
    return body, len(body), following


@pytest.mark.parametrize("room", rooms())
@pytest.mark.parametrize("size", [100, 1000, 1 << 20])
def test_records_are_whole_wherever_an_answer_is_cut(room: BufferPool | None, size: int) -> None:
    with answering(log_from) as (reader, _):
        found = []
        for block in reader.blocks(0, 0, len(PAYLOADS), size, room):
            found += payloads_in(block)
            if room is not None:
                room.clear()
        assert found == PAYLOADS


def test_the_next_answer_is_asked_for_before_the_last_block_of_this_one_is_looked_at() -> None:
    with answering(log_from) as (reader, asked):
        blocks = reader.blocks(0, 0, len(PAYLOADS), 1 << 20, BufferPool(1 << 20))
        assert next(blocks).next == 3
        assert ["offset=3" in asked.get(timeout=10) for _ in range(3)] == [False, False, True]
        assert next(blocks).next == 6


def test_something_else_may_be_asked_while_an_answer_is_read() -> None:
    with answering(log_from) as (reader, _):
        found = []
        for block in reader.blocks(0, 0, len(PAYLOADS), 100, BufferPool(64 << 10)):
            found += payloads_in(block)
            assert reader.partitions == 1
        assert found == PAYLOADS


@pytest.mark.parametrize("room", rooms())
@pytest.mark.parametrize("number", [0, 1, 2])
def test_damage_is_told_and_what_is_before_it_is_not_lost(room: BufferPool | None, number: int) -> None:
    def spoiled(offset: int) -> tuple[bytes, int, int]:
        bodies = [bytearray(record([payload], at)) for at, payload in enumerate(PAYLOADS[:3])]
        bodies[number][40] ^= 1
        body = b"".join(bodies)
        return body, len(body), 3

    found: list[bytes] = []
    with answering(spoiled) as (reader, _), pytest.raises(Problem, match="the answer is damaged"):
        for block in reader.blocks(0, 0, 3, 100, room):
            found += payloads_in(block)
    assert found == PAYLOADS[:number]


@pytest.mark.parametrize("room", rooms()[1:])
def test_an_answer_that_ends_too_early_is_asked_for_again_from_there_on(room: BufferPool) -> None:
    def cut_off(offset: int) -> tuple[bytes, int, int]:
        body, size, following = log_from(offset)
        return body[:-10], size, following

    with answering(cut_off) as (reader, _):
        found = []
        for block in reader.blocks(0, 0, 6, 100, room):
            found += payloads_in(block)
            room.clear()
        assert found[:6] == PAYLOADS[:6]


@pytest.mark.parametrize("room", rooms())
def test_a_server_whose_answers_bring_nothing_has_gone_away(room: BufferPool | None) -> None:
    def cut_off(offset: int) -> tuple[bytes, int, int]:
        body = record([PAYLOADS[offset]], offset)
        return body[:-10], len(body), offset + 1

    with (
        answering(cut_off) as (reader, _),
        pytest.raises(ServerUnreachable, match="the answer ends 10 bytes too early"),
    ):
        list(reader.blocks(0, 0, 3, 100, room))


@pytest.mark.parametrize("room", rooms())
def test_an_answer_without_what_was_asked_for_is_not_asked_for_again_and_again(room: BufferPool | None) -> None:
    def of_others(offset: int) -> tuple[bytes, int, int]:
        body = record([b"x"], offset, OTHERS)
        return body, len(body), offset + 1

    with answering(of_others) as (reader, _), pytest.raises(Problem, match="the answer is damaged"):
        list(reader.blocks(0, 0, 3, 100, room))


@contextmanager
def pages(answers: dict[str, tuple[int, object]]) -> Iterator[str]:
    """The URL of a server with these answers: status and JSON, by the path without its query."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, value = answers[self.path.partition("?")[0]]
            body = value if isinstance(value, bytes) else json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Heliograph-Offset", "7")
            self.end_headers()
            self.wfile.write(body)

        def do_PUT(self) -> None:
            self.do_GET()

        def do_DELETE(self) -> None:
            self.do_GET()

        def log_message(self, *_: object) -> None:
            """Not here."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/base/"
    finally:
        server.shutdown()
        server.server_close()


PLANT = {"identity": "one", "directory": "/log", "partitions": [{"earliest": 2, "latest": 9, "bytes": 500}]}


def test_what_a_stream_is_like_comes_from_its_page() -> None:
    answers = {"/base/streams/plant": (200, PLANT), "/base/streams/plant/0": (200, b"")}
    with pages(answers) as url, RemoteStreamReader(url, "plant") as reader:
        assert (reader.identity, reader.directory, reader.partitions) == ("one", "/log", 1)
        assert (reader.earliest(0), reader.latest(0), reader.size(0)) == (2, 9, 500)
        assert reader.state() == ("one", [(2, 9)])
        assert reader.offset_at(0, 1000) == 7
        with pytest.raises(UnknownStream, match="stream plant: no partition 1"):
            reader.latest(1)


@pytest.mark.parametrize(
    ("status", "answer", "error", "said"),
    [
        (404, {"error": "no such partition"}, UnknownStream, "no such partition"),
        (410, {"offset": 1, "earliest": 2}, OffsetGone, "stream plant: offset 1 is gone, the earliest one left is 2"),
        (416, {"offset": 12, "latest": 9}, OffsetAhead, "stream plant: offset 12 is ahead of the stream"),
        (400, {"error": "bytes: expected a number"}, RequestRefused, "bytes: expected a number"),
        (502, b"<html>", RequestRefused, "status 502"),
    ],
)
def test_errors_of_the_pages_are_those_of_a_local_reader(status, answer, error, said) -> None:
    answers = {"/base/streams/plant": (200, PLANT), "/base/streams/plant/0": (status, answer)}
    with pages(answers) as url, RemoteStreamReader(url, "plant") as reader, pytest.raises(error, match=said):
        reader.read(0, 1)


def test_a_stream_that_the_server_does_not_have_is_unknown() -> None:
    with pages({"/base/streams/plant": (404, {"error": "unknown"})}) as url, pytest.raises(UnknownStream):
        RemoteStreamReader(url, "plant")


def test_one_request_gives_what_the_page_says() -> None:
    answers = {
        "/base/a": (200, [1]),
        "/base/b": (201, {}),
        "/base/c": (400, {"error": "no"}),
        "/base/d": (200, b"<html>"),
    }
    with pages(answers) as url:
        assert request_page(url, "/a") == [1]
        assert request_page(url, "/b", "PUT", "{}") == {}
        with pytest.raises(RequestRefused, match="no"):
            request_page(url, "/c", "DELETE")
        with pytest.raises(BadAnswer, match="found status 200 and something else"):
            request_page(url, "/d")


def test_a_server_that_is_not_there_is_unreachable() -> None:
    with pages({}) as url:
        pass
    with pytest.raises(ServerUnreachable, match="the server cannot be reached: connection refused"):
        request_page(url, "/a")
    with pytest.raises(ServerUnreachable, match="the server cannot be reached"):
        RemoteStreamReader(url, "plant")


@pytest.mark.parametrize("url", ["", "broker:15880", "ftp://broker", "http://"])
def test_anything_else_is_no_url_of_pages(url: str) -> None:
    with pytest.raises(InvalidInput, match="expected the URL of a server's pages"):
        RemoteStreamReader(url, "plant")

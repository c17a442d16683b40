"""Streams over HTTP: what is made of answers that are long, cut off or damaged."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Queue

import numpy as np
import pytest

from heliograph.errors import Problem
from heliograph.log.buffer_pool import BufferPool
from heliograph.log.errors import ServerUnreachable
from heliograph.log.streams.remote_stream_reader import RemoteStreamReader
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

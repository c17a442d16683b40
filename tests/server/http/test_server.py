"""The operators' pages, over real sockets on 127.0.0.1."""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from heliograph.log.streams.stream_parts import FilePart
from heliograph.server.http.server import MAX_REQUEST_HEAD, WRITE_SIZE, Answer, Folder, HttpServer, Page

PAGES: dict[str, Page] = {
    "/metrics": lambda: ("text/plain", b"helio_connections 3\n"),
    "/stats": lambda: ("application/json", b'{"connections": 3}'),
}


@dataclass
class Response:
    status: int
    headers: dict[str, str]
    body: bytes


class Client:
    """One connection to the server."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def send(self, head: str, body: bytes = b"") -> None:
        self.writer.write(head.replace("\n", "\r\n").encode() + b"\r\n\r\n" + body)

    async def response(self, *, to_head: bool = False) -> Response:
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in head[1:-2])}
        body = b"" if to_head else await self.reader.readexactly(int(headers["content-length"]))
        return Response(int(head[0].split(" ")[1]), headers, body)

    async def closed(self) -> bool:
        """Whether the server ends the connection without another byte."""
        try:
            return await self.reader.read() == b""
        except ConnectionResetError:
            return True


def talk(
    scenario: Callable[[Client], Awaitable[Any]],
    pages: dict[str, Page] = PAGES,
    *,
    timeout: float = 5.0,
    folders: dict[str, Folder] | None = None,
) -> Any:
    """Start a server, connect to it, and run a scenario on the connection."""

    async def run() -> Any:
        server = HttpServer(pages, timeout, folders)
        await server.start("127.0.0.1", 0)
        client = Client(*await asyncio.open_connection(*server.addresses[0]))
        try:
            return await scenario(client)
        finally:
            client.writer.close()
            await server.close()

    return asyncio.run(run())


def get(head: str, pages: dict[str, Page] = PAGES) -> Response:
    async def scenario(client: Client) -> Response:
        client.send(head)
        return await client.response()

    return talk(scenario, pages)


def test_a_page_is_served_with_its_type() -> None:
    response = get("GET /metrics HTTP/1.1\nHost: x")
    assert (response.status, response.headers["content-type"]) == (200, "text/plain")
    assert response.body == b"helio_connections 3\n"


@pytest.mark.parametrize("target", ["/stats?pretty=1", "http://somewhere/stats"])
def test_only_the_path_of_the_target_counts(target: str) -> None:
    assert get(f"GET {target} HTTP/1.1\nHost: x").body == b'{"connections": 3}'


def test_a_page_is_made_anew_for_each_request() -> None:
    numbers = iter(range(10))

    async def scenario(client: Client) -> list[bytes]:
        bodies = []
        for _ in range(3):
            client.send("GET /n HTTP/1.1\nHost: x")
            bodies.append((await client.response()).body)
        return bodies

    assert talk(scenario, {"/n": lambda: ("text/plain", b"%d" % next(numbers))}) == [b"0", b"1", b"2"]


def test_requests_may_be_sent_ahead_of_their_answers() -> None:
    async def scenario(client: Client) -> list[int]:
        client.send("GET /metrics HTTP/1.1\nHost: x")
        client.send("GET /nowhere HTTP/1.1\nHost: x")
        client.send("GET /stats HTTP/1.1\nHost: x")
        return [(await client.response()).status for _ in range(3)]

    assert talk(scenario) == [200, 404, 200]


def test_large_answers_come_whole_from_memory_and_from_files(tmp_path: Path) -> None:
    source = tmp_path / "file"
    source.write_bytes(bytes(range(256)) * (WRITE_SIZE // 64))
    opened: list[int] = []

    async def folder(path: str, _: str) -> Answer:
        word = path[-1:].encode()
        opened.append(os.open(source, os.O_RDONLY))
        parts = [FilePart(opened[-1], 2, 3), FilePart(opened[-1], 1, 3 * WRITE_SIZE)]
        pieces = [word * 3, parts[0], word * (WRITE_SIZE + 5), parts[1], memoryview(word), b""]
        return Answer(HTTPStatus.OK, "x/y", pieces)

    async def scenario(client: Client) -> list[bytes]:
        for word in "ab":
            client.send(f"GET /big/{word} HTTP/1.1\nHost: x")
        return [(await client.response()).body for _ in "ab"]

    for word, body in zip(b"ab", talk(scenario, folders={"/big": folder}), strict=True):
        front = bytes([word]) * 3 + b"\2\3\4" + bytes([word]) * (WRITE_SIZE + 5)
        assert body == front + source.read_bytes()[1 : 1 + 3 * WRITE_SIZE] + bytes([word])
    for descriptor in opened:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(descriptor)


def test_thousands_of_small_parts_come_in_order(tmp_path: Path) -> None:
    source = tmp_path / "file"
    source.write_bytes(bytes(range(256)) * 16)
    expected = b"".join(source.read_bytes()[n % 4000 :][:50] + b"%d" % n for n in range(5000))

    async def folder(_path: str, _: str) -> Answer:
        descriptor = os.open(source, os.O_RDONLY)
        pieces = [piece for n in range(5000) for piece in (FilePart(descriptor, n % 4000, 50), b"%d" % n)]
        return Answer(HTTPStatus.OK, "x/y", pieces)

    async def scenario(client: Client) -> bytes:
        client.send("GET /big HTTP/1.1\nHost: x")
        return (await client.response()).body

    assert talk(scenario, folders={"/big": folder}) == expected


def test_an_answer_whose_file_has_become_shorter_is_not_taken_for_whole(tmp_path: Path) -> None:
    source = tmp_path / "file"
    source.write_bytes(b"short")

    async def folder(_path: str, _: str) -> Answer:
        return Answer(HTTPStatus.OK, "x/y", [FilePart(os.open(source, os.O_RDONLY), 0, 6)])

    async def scenario(client: Client) -> None:
        client.send("GET /big HTTP/1.1\nHost: x")
        with pytest.raises(asyncio.IncompleteReadError, match="5 bytes read on a total of 6"):
            await client.response()

    talk(scenario, folders={"/big": folder})


def test_head_is_get_without_the_body() -> None:
    async def scenario(client: Client) -> Response:
        client.send("HEAD /metrics HTTP/1.1\nHost: x")
        head = await client.response(to_head=True)
        client.send("GET /metrics HTTP/1.1\nHost: x")
        assert (await client.response()).body == b"helio_connections 3\n"
        return head

    assert talk(scenario).headers["content-length"] == str(len(b"helio_connections 3\n"))


@pytest.mark.parametrize("head", ["GET /stats HTTP/1.1\nHost: x\nConnection: close", "GET /stats HTTP/1.0"])
def test_a_client_that_wants_one_answer_gets_one(head: str) -> None:
    async def scenario(client: Client) -> bool:
        client.send(head)
        assert (await client.response()).status == 200
        return await client.closed()

    assert talk(scenario)


def test_the_first_page_lists_the_others() -> None:
    response = get("GET / HTTP/1.1\nHost: x")
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert b'<a href="/metrics">' in response.body
    assert b'<a href="/stats">' in response.body


def test_an_unknown_path_is_404_in_json() -> None:
    response = get("GET /stat HTTP/1.1\nHost: x")
    assert (response.status, response.headers["content-type"]) == (404, "application/json")
    assert json.loads(response.body) == {"error": "expected one of /, /metrics, /stats, found /stat"}


def test_another_method_is_405_with_those_allowed_and_ends_the_connection() -> None:
    async def scenario(client: Client) -> Response:
        client.send("POST /stats HTTP/1.1\nHost: x\nContent-Length: 3", b"abc")
        response = await client.response()
        assert await client.closed()
        return response

    response = talk(scenario)
    assert (response.status, response.headers["allow"]) == (405, "GET, HEAD")
    assert json.loads(response.body) == {"error": "expected GET or HEAD, found POST"}


@pytest.mark.parametrize(
    ("head", "body"),
    [
        ("nonsense", b""),
        ("GET /stats HTTP/1.1", b""),  # without Host
        ("GET http://[x/stats HTTP/1.1\nHost: x", b""),
        ("GET /stats HTTP/1.1\nHost: x\nContent-Length: 3", b"abc"),
    ],
)
def test_a_request_that_makes_no_sense_is_400_in_json(head: str, body: bytes) -> None:
    async def scenario(client: Client) -> Response:
        client.send(head, body)
        return await client.response()

    response = talk(scenario)
    assert response.status == 400
    assert "error" in json.loads(response.body)


def test_a_request_that_is_too_long_is_refused() -> None:
    async def scenario(client: Client) -> Response:
        client.send("GET /stats HTTP/1.1\nHost: x\nX-Long: " + "x" * 4 * MAX_REQUEST_HEAD)
        response = await client.response()
        assert await client.closed()
        return response

    assert talk(scenario).status == 431


def test_a_page_that_fails_is_500_and_the_reason_is_in_the_log_only(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> tuple[str, bytes]:
        raise RuntimeError("secret")

    response = get("GET /fails HTTP/1.1\nHost: x", {"/fails": fail})
    assert response.status == 500
    assert b"secret" not in response.body
    assert "secret" in caplog.text


@pytest.mark.parametrize("sent", ["", "GET /stats HTTP/1.1\r\nHost:"])
def test_a_client_that_takes_too_long_is_let_go(sent: str) -> None:
    async def scenario(client: Client) -> bool:
        client.writer.write(sent.encode())
        return await client.closed()

    assert talk(scenario, timeout=0.05)


def test_a_client_that_does_not_take_its_answer_is_let_go() -> None:
    async def scenario(client: Client) -> bool:
        client.writer.transport.pause_reading()
        client.send("GET /large HTTP/1.1\nHost: x")
        (served,) = await connection_tasks()
        await asyncio.wait([served])
        return served.done()

    assert talk(scenario, {"/large": lambda: ("text/plain", b"x" * 20_000_000)}, timeout=0.1)


async def connection_tasks() -> list[asyncio.Task[Any]]:
    """The tasks that serve a connection, once there are any."""
    while True:
        tasks = [task for task in asyncio.all_tasks() if "_serve" in repr(task.get_coro())]
        if tasks:
            return tasks
        await asyncio.sleep(0)


def test_closing_ends_open_connections_and_frees_the_port() -> None:
    async def scenario() -> None:
        server = HttpServer(PAGES)
        await server.start("127.0.0.1", 0)
        ((host, port),) = server.addresses
        client = Client(*await asyncio.open_connection(host, port))
        client.send("GET /stats HTTP/1.1\nHost: x")
        await client.response()
        await server.close()
        assert await client.closed()
        client.writer.close()
        assert server.addresses == []
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(host, port)

    asyncio.run(scenario())


def test_closing_a_server_that_never_started_does_nothing() -> None:
    asyncio.run(HttpServer(PAGES).close())

"""More connections than the server wants: those past a limit are told so, the others are served."""

import json
import select
import socket
from contextlib import suppress

import pytest

from configurations import PLAIN
from heliograph.mqtt import Connect, Reason, encode
from plain_client import PlainClient, is_served
from running import PATIENCE, Serve

SERVER_UNAVAILABLE = 3


@pytest.mark.parametrize(("version", "refused"), [(4, SERVER_UNAVAILABLE), (5, Reason.QUOTA_EXCEEDED)])
def test_clients_past_the_limit_are_told_so(serve: Serve, version: int, refused: int) -> None:
    server = serve(PLAIN + "[limits]\nconnections = 10\n")
    admitted = [PlainClient(server.port, version).connected() for _ in range(10)]
    for _ in range(5):
        with PlainClient(server.port, version) as client:
            assert client.connect().reason == refused
            assert client.is_closed()
    assert admitted[0].subscribe("still/here") == (0,)
    for client in admitted:
        client.close()
    assert server.stats()["clients"]["refused"] == 5


def test_a_client_that_comes_back_takes_its_own_place(serve: Serve) -> None:
    server = serve(PLAIN + "[limits]\nconnections = 1\n")
    with PlainClient(server.port).connected("me") as first, PlainClient(server.port).connected("me"):
        assert first.goodbye().reason == Reason.SESSION_TAKEN_OVER


def test_a_crowd_that_says_nothing_is_closed_at_once_past_some_number(serve: Serve) -> None:
    server = serve(PLAIN + "[limits]\nconnections = 10\n")
    with PlainClient(server.port).connected() as client:
        crowd = [socket.create_connection(("127.0.0.1", server.port), PATIENCE) for _ in range(400)]
        assert crowd[-1].recv(1) == b""
        assert client.subscribe("still/here") == (0,)
        for one in crowd:
            one.close()
    server.log.wait_for("too many connections")
    assert is_served(server.port)


@pytest.mark.parametrize(("version", "refused"), [(4, SERVER_UNAVAILABLE), (5, Reason.CONNECTION_RATE_EXCEEDED)])
def test_clients_that_come_too_fast_are_told_so(serve: Serve, version: int, refused: int) -> None:
    server = serve(PLAIN + "[limits]\nconnects_per_second = 20\n")
    with PlainClient(server.port, version).connected() as early:
        reasons = []
        for _ in range(60):
            with PlainClient(server.port, version) as client:
                reasons.append(client.connect().reason)
        assert set(reasons) == {0, refused}
        assert reasons[:19] == [0] * 19
        assert early.subscribe("still/here") == (0,)
    while True:  # a second later at most there is room again
        with PlainClient(server.port, version) as client:
            if client.connect().reason == 0:
                break


def test_without_free_descriptors_the_server_waits_for_some(serve: Serve) -> None:
    server = serve()
    first = PlainClient(server.port).connected("first")
    server.limit_descriptors(server.descriptors() + 2)
    # As many as it takes: the kernel accepts them, the server cannot.
    crowd = [socket.create_connection(("127.0.0.1", server.port), PATIENCE) for _ in range(80)]
    for one in crowd:
        one.sendall(encode(Connect(), 4))
    server.log.wait_for("cannot accept connections")
    assert first.subscribe("still/here") == (0,)
    first.close()
    for one in crowd:
        one.close()
    assert is_served(server.port)


def test_a_crowd_of_clients_leaves_descriptors_to_the_pages(serve: Serve) -> None:
    server = serve()
    server.limit_descriptors(128)
    with PlainClient(server.port).connected("first") as first:
        crowd = [socket.create_connection(("127.0.0.1", server.port), PATIENCE) for _ in range(200)]
        server.log.wait_for("too many connections")
        assert json.loads(server.page("/healthz")) == {"status": "ok"}
        assert first.subscribe("still/here") == (0,)
    for one in crowd:
        one.close()
    server.wait_until(lambda _: server.descriptors() < 64)
    assert is_served(server.port)


@pytest.mark.parametrize("said", [b"", b"GET /stats HTTP/1.1\r\nHost: x"])
def test_a_crowd_at_the_pages_keeps_nobody_out(serve: Serve, said: bytes) -> None:
    server = serve()
    server.limit_descriptors(128)
    crowd = [socket.create_connection(("127.0.0.1", server.port_of("http")), PATIENCE) for _ in range(400)]
    for one in crowd:
        with suppress(ConnectionError):  # it has given way
            one.sendall(said)
    assert is_served(server.port)
    assert json.loads(server.page("/healthz")) == {"status": "ok"}
    assert "cannot accept" not in server.log.text()
    for one in crowd:
        one.close()


def test_connections_to_the_pages_count(serve: Serve) -> None:
    server = serve(PLAIN.replace("[http]", "[http]\nconnections = 300") + "[limits]\nconnections = 10\n")
    pages = [socket.create_connection(("127.0.0.1", server.port_of("http")), PATIENCE) for _ in range(270)]
    server.page("/healthz")  # all others have been accepted before this one
    with PlainClient(server.port) as client:
        assert client.is_closed()
    server.log.wait_for("too many connections")
    for one in pages:
        one.close()
    server.wait_until(lambda figures: figures["clients"]["connected"] == 0)
    assert is_served(server.port)


@pytest.mark.parametrize("farewell", [b"", b"\xe0\x00"])
def test_a_client_that_is_through_does_not_stay(serve: Serve, farewell: bytes) -> None:
    server = serve()
    with PlainClient(server.port).connected() as client:
        client.send_bytes(farewell)
        client.socket.shutdown(socket.SHUT_WR)
        poll = select.poll()
        poll.register(client.socket, select.POLLIN)
        assert poll.poll(PATIENCE * 1000)
        assert client.is_closed()
    assert server.stats()["clients"]["connected"] == 0

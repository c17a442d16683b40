"""Clients that go on sending when the server ends their connection: they can read why, and cost nothing afterwards."""

import os
import socket
import ssl
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from certificates import Authority
from configurations import PLAIN, listener
from faults.amqp_peer import AmqpPeer
from heliograph.mqtt import ConnAck, Connect, Disconnect, Publish, Reason, encode
from heliograph.server.network.closing import LINGER, MOST_CONNECTIONS
from hostile.bystander import PATIENT, Bystander
from plain_client import PlainClient
from running import PATIENCE, RunningServer, Serve

MEGABYTE = bytes(1 << 20)
MUCH = 24
"""Megabytes: more than all buffers on the way hold, and less than the server is willing to drop."""


def send_much(sock: socket.socket) -> None:
    """Send without reading; whoever meets a reset while doing so never gets to read."""
    for _ in range(MUCH):
        sock.sendall(MEGABYTE)


@pytest.fixture
def tls_server(serve: Serve, authority: Authority) -> RunningServer:
    pair = authority.issue("server", "last-words")
    return serve(PLAIN + listener("tls", pair=pair))


def too_large() -> bytes:
    """The beginning of a PUBLISH of 256 MB, which is refused as soon as its length is known."""
    return b"\x30\xff\xff\xff\x7f"


def test_the_reason_is_read_after_megabytes_were_sent(serve: Serve) -> None:
    server = serve()
    with Bystander(server.port, pid=server.process.pid) as bystander, PlainClient(server.port).connected() as client:
        client.send_bytes(too_large())
        send_much(client.socket)
        assert client.goodbye().reason == Reason.PACKET_TOO_LARGE
    assert bystander.worst < PATIENT


def test_receive_maximum_is_told_to_a_client_that_goes_on(serve: Serve) -> None:
    server = serve(PLAIN + "[limits]\nreceive_maximum = 10\n")
    with PlainClient(server.port).connected() as client:
        messages = [Publish("a", bytes(100_000), 2, packet_id=packet_id) for packet_id in range(1, 201)]
        client.send(*messages)
        while not isinstance(answer := client.receive(), Disconnect):
            pass
        assert answer.reason == Reason.RECEIVE_MAXIMUM_EXCEEDED


def test_a_refusal_is_read_by_a_client_that_does_not_wait_for_it(serve: Serve) -> None:
    server = serve()
    for version in (4, 5):
        with PlainClient(server.port, version) as client:
            client.send_bytes(encode(Connect("\x01" if version == 5 else "", version, clean_start=False), version))
            send_much(client.socket)
            answer = client.receive()
            assert isinstance(answer, ConnAck)
            assert answer.reason in {Reason.MALFORMED_PACKET, 2}
            assert client.is_closed()


def test_the_reason_is_read_through_a_unix_socket(serve: Serve, tmp_path: Path) -> None:
    path = str(tmp_path / "socket")
    serve(PLAIN + f'[[listener]]\nkind = "unix"\npath = "{path}"\n')
    with PlainClient(path).connected() as client:
        client.send_bytes(too_large())
        send_much(client.socket)
        assert client.goodbye().reason == Reason.PACKET_TOO_LARGE


def test_the_reason_is_read_through_tls(tls_server: RunningServer, authority: Authority) -> None:
    context = ssl.create_default_context(cafile=str(authority.cert))
    with PlainClient(tls_server.port_of("mqtts"), tls=context).connected() as client:
        client.send_bytes(too_large())
        send_much(client.socket)
        assert client.goodbye().reason == Reason.PACKET_TOO_LARGE


def frame(data: bytes) -> bytes:
    """A binary frame of WebSocket, masked with zeros."""
    return b"\x82\xff" + len(data).to_bytes(8) + bytes(4) + data


def test_the_reason_is_read_through_websocket(serve: Serve) -> None:
    server = serve(PLAIN + listener("ws"))
    with socket.create_connection(("127.0.0.1", server.port_of("ws")), PATIENCE) as sock:
        sock.sendall(
            b"GET /mqtt HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n"
            b"Sec-WebSocket-Protocol: mqtt\r\n\r\n"
        )
        received = b""
        while b"\r\n\r\n" not in received:
            received += sock.recv(4096)
        sock.sendall(frame(encode(Connect("c", 5), 5)) + frame(too_large()))
        for _ in range(MUCH):
            sock.sendall(frame(MEGABYTE))
        opcode, size, *packets = read_to_the_end(sock)
        assert (opcode, packets[0]) == (0x82, 0x20), "CONNACK"
        disconnect = packets[packets[1] + 2 : size]
        assert (disconnect[0], disconnect[2]) == (0xE0, Reason.PACKET_TOO_LARGE)


def test_amqp_is_told_what_was_wrong(serve: Serve) -> None:
    server = serve(PLAIN + listener(protocol="amqp"))
    with AmqpPeer(server.port_of("amqp")).opened() as peer:
        peer.send_bytes(b"\xff\xff\xff\xff\x02\x00\x00\x00")
        send_much(peer.socket)
        assert b"amqp:connection:framing-error" in read_to_the_end(peer.socket)


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"PUT /streams/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99000000\r\n\r\n", b"413"),
        (b"POST /stats HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99000000\r\n\r\n", b"405"),
        (b"GET /stats HTTP/1.1\r\nHost: localhost\r\nX: ", b"431"),
    ],
)
def test_an_http_answer_is_read_while_the_body_is_still_coming(serve: Serve, head: bytes, status: bytes) -> None:
    server = serve()
    with socket.create_connection(("127.0.0.1", server.port_of("http")), PATIENCE) as sock:
        sock.sendall(head)
        for _ in range(MUCH):
            sock.sendall(b"x" * (1 << 20))
        assert read_to_the_end(sock).startswith(b"HTTP/1.1 " + status)


def read_to_the_end(sock: socket.socket) -> bytes:
    received = b""
    while more := sock.recv(1 << 16):
        received += more
    return received


# Bounds


def descriptors(server: RunningServer) -> int:
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))


def wait_until(condition: Callable[[], bool]) -> None:
    give_up = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < give_up
        time.sleep(0.05)


def test_clients_that_never_close_are_closed(serve: Serve) -> None:
    server = serve()
    before = descriptors(server)
    clients = [PlainClient(server.port).connected() for _ in range(20)]
    for client in clients:
        client.send_bytes(too_large())
        assert client.goodbye().reason == Reason.PACKET_TOO_LARGE
    assert descriptors(server) >= before + len(clients)
    wait_until(lambda: descriptors(server) <= before)
    for client in clients:
        client.close()


def test_a_client_that_never_stops_sending_is_cut_off(serve: Serve) -> None:
    server = serve()
    started = time.monotonic()
    with Bystander(server.port, pid=server.process.pid) as bystander, PlainClient(server.port).connected() as client:
        client.send_bytes(too_large())
        with pytest.raises(ConnectionError):
            while time.monotonic() < started + PATIENCE:
                client.send_bytes(MEGABYTE)
    assert time.monotonic() - started < LINGER + PATIENT
    assert bystander.worst < PATIENT


def test_the_number_of_those_who_linger_has_a_limit(serve: Serve) -> None:
    server = serve()
    before = descriptors(server)
    most = 0
    clients = []
    for _ in range(MOST_CONNECTIONS + 50):
        clients.append(PlainClient(server.port).connected())
        clients[-1].send_bytes(too_large())
        assert clients[-1].goodbye().reason == Reason.PACKET_TOO_LARGE
        most = max(most, descriptors(server))
    assert most <= before + MOST_CONNECTIONS + 5
    for client in clients:
        client.close()
    wait_until(lambda: descriptors(server) <= before)


def test_a_server_that_stops_tells_clients_that_send(serve: Serve) -> None:
    server = serve()
    with PlainClient(server.port).connected() as client:
        stopping = threading.Thread(target=server.stop)
        stopping.start()
        while client.socket.fileno() >= 0:
            try:
                client.send(Publish("a", bytes(10_000)))
            except ConnectionError:
                break
            if not stopping.is_alive():
                break
        assert isinstance(goodbye := client.receive(), Disconnect)
        assert goodbye.reason == Reason.SERVER_SHUTTING_DOWN
        stopping.join()

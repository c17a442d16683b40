"""Nonsense below MQTT: WebSocket, TLS and HTTP that are not what they should be."""

import json
import os
import random
import socket
import ssl
import struct
from collections.abc import Iterator

import pytest

from certificates import Authority
from frames import BINARY, CLOSE, PING, PONG, TEXT, frame, open_websocket, read_frame, read_head, request
from heliograph.mqtt import Connect, Publish, Subscribe, Subscription, encode
from plain_client import PlainClient, is_served
from running import PATIENCE, RunningServer, servers

CONNECT = encode(Connect(), 4)
CONNACK = b"\x20\x02\0\0"
PROTOCOL_ERROR, UNSUPPORTED_DATA, TOO_BIG = 1002, 1003, 1009


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, every_listener: str) -> Iterator[RunningServer]:
    with servers(tmp_path_factory.mktemp("hostile")) as start:
        yield start(every_listener + "[limits]\nconnect_timeout = 0.5\npacket_size = 100000\n")


@pytest.fixture(autouse=True)
def _others_are_served(server: RunningServer) -> Iterator[None]:
    yield
    assert server.process.poll() is None
    assert is_served(server.port)
    assert server.stats()["clients"]["connected"] == 0


@pytest.fixture
def ws(server: RunningServer) -> Iterator[socket.socket]:
    """A WebSocket connection whose client has been admitted."""
    with open_websocket(server.port_of("ws")) as connection:
        connection.sendall(frame(CONNECT))
        assert read_frame(connection) == (BINARY, CONNACK)
        yield connection


def knock(server: RunningServer, scheme: str, sent: bytes) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", server.port_of(scheme)), PATIENCE)
    connection.sendall(sent)
    return connection


def everything(connection: socket.socket) -> bytes:
    """What the server says until it closes the connection."""
    said = b""
    try:
        while more := connection.recv(65536):
            said += more
    except ConnectionResetError:
        pass
    connection.close()
    return said


# WebSocket


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"path": "/"}, 404),
        ({"path": "/mqtt/more"}, 404),
        ({"Upgrade": None}, 426),
        ({"Upgrade": "h2c"}, 426),
        ({"Connection": "close"}, 426),
        ({"Sec_WebSocket_Key": None}, 400),
        ({"Sec_WebSocket_Key": "short"}, 400),
        ({"Sec_WebSocket_Version": "8"}, 400),
        ({"protocol": None}, 400),
        ({"protocol": "soap, wamp"}, 400),
    ],
)
def test_a_handshake_that_is_not_for_us_is_refused(
    server: RunningServer, changes: dict[str, str | None], status: int
) -> None:
    port = server.port_of("ws")
    answer = everything(knock(server, "ws", request(port, **changes))).decode()
    assert answer.startswith(f"HTTP/1.1 {status} ")


def test_an_answer_to_a_wrong_path_names_the_right_one(server: RunningServer) -> None:
    answer = everything(knock(server, "ws", request(server.port_of("ws"), path="/wrong"))).decode()
    assert "/mqtt" in answer.partition("\r\n\r\n")[2]


@pytest.mark.parametrize("behind", [b"\xff" * 60, frame(b"\x03\xe8", CLOSE)], ids=["nonsense", "close"])
@pytest.mark.parametrize(("path", "status"), [("/wrong", 404), ("/mqtt", 101)])
def test_a_request_is_answered_whatever_comes_with_it(
    server: RunningServer, path: str, status: int, behind: bytes
) -> None:
    answer = everything(knock(server, "ws", request(server.port_of("ws"), path=path) + behind)).decode("latin-1")
    assert answer.startswith(f"HTTP/1.1 {status} ")


def test_the_path_may_have_a_query(server: RunningServer) -> None:
    with knock(server, "ws", request(server.port_of("ws"), path="/mqtt?token=1")) as connection:
        assert read_head(connection).startswith("HTTP/1.1 101 ")


@pytest.mark.parametrize("protocol", ["mqtt", "mqttv3.1", "other, mqtt"])
def test_the_subprotocol_is_confirmed(server: RunningServer, protocol: str) -> None:
    with knock(server, "ws", request(server.port_of("ws"), protocol=protocol)) as connection:
        expected = protocol.rsplit(", ", maxsplit=1)[-1]
        assert f"\r\nSec-WebSocket-Protocol: {expected}\r\n" in read_head(connection)


@pytest.mark.parametrize("scheme", ["ws", "mqtts", "wss"])
def test_a_handshake_that_never_ends_is_given_up(server: RunningServer, scheme: str) -> None:
    assert everything(knock(server, scheme, b"")) == b""
    everything(knock(server, scheme, request(server.port_of(scheme))[:40]))


@pytest.mark.parametrize("scheme", ["ws", "wss", "mqtts", "http"])
def test_random_bytes(server: RunningServer, scheme: str) -> None:
    rng = random.Random(5)
    for _ in range(30):
        connection = knock(server, scheme, rng.randbytes(rng.randrange(1, 400)))
        connection.shutdown(socket.SHUT_WR)
        everything(connection)


def test_random_bytes_as_frames(server: RunningServer) -> None:
    rng = random.Random(6)
    for _ in range(50):
        connection = open_websocket(server.port_of("ws"))
        connection.sendall(rng.randbytes(rng.randrange(1, 400)))
        connection.shutdown(socket.SHUT_WR)
        everything(connection)


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        pytest.param(frame(b"hello", TEXT), UNSUPPORTED_DATA, id="text"),
        pytest.param(frame(CONNECT, masked=False), PROTOCOL_ERROR, id="not masked"),
        pytest.param(frame(b"x", 0x3), PROTOCOL_ERROR, id="a kind that does not exist"),
        pytest.param(frame(b"x" * 126, PING), PROTOCOL_ERROR, id="a long ping"),
        pytest.param(frame(b"x", 0x0), PROTOCOL_ERROR, id="the end of something without a beginning"),
        pytest.param(b"\x82\xff" + (1 << 40).to_bytes(8, "big"), TOO_BIG, id="a huge frame"),
    ],
)
def test_a_frame_that_is_not_allowed_ends_the_connection(ws: socket.socket, sent: bytes, code: int) -> None:
    ws.sendall(sent)
    opcode, payload = read_frame(ws)
    assert opcode == CLOSE
    assert int.from_bytes(payload[:2], "big") == code
    assert everything(ws) == b""


def test_packets_may_be_spread_over_frames_and_frames_over_packets(ws: socket.socket) -> None:
    start = encode(Subscribe(1, (Subscription("spread"),)), 4) + encode(Publish("spread", b"here"), 4)
    for byte in start[:-1]:
        ws.sendall(frame(bytes([byte])))
    ws.sendall(frame(b"", final=False) + frame(b"", PING) + frame(start[-1:], 0x0))
    received = b""
    kinds = set()
    while not received.endswith(b"here"):
        opcode, payload = read_frame(ws)
        kinds.add(opcode)
        received += payload
    assert received == b"\x90\x03\0\1\0" + encode(Publish("spread", b"here"), 4)
    assert kinds == {BINARY, PONG}


def test_a_closing_handshake_is_answered(ws: socket.socket) -> None:
    ws.sendall(frame((1000).to_bytes(2, "big"), CLOSE))
    assert read_frame(ws) == (CLOSE, (1000).to_bytes(2, "big"))
    assert everything(ws) == b""


def test_clients_that_are_gone_before_the_handshake_fails(server: RunningServer) -> None:
    for _ in range(50):
        connection = knock(server, "ws", b"nonsense\r\n\r\n")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()


def test_mqtt_without_websocket(server: RunningServer) -> None:
    everything(knock(server, "ws", CONNECT))


# TLS


@pytest.mark.parametrize("scheme", ["mqtts", "wss"])
def test_plain_packets_where_tls_is_spoken(server: RunningServer, scheme: str) -> None:
    assert CONNACK not in everything(knock(server, scheme, CONNECT))


def test_tls_where_plain_packets_are_spoken(server: RunningServer) -> None:
    with (
        socket.create_connection(("127.0.0.1", server.port), PATIENCE) as connection,
        pytest.raises((ssl.SSLError, ConnectionError)),
    ):
        ssl.create_default_context().wrap_socket(connection, server_hostname="localhost")


def test_a_tls_connection_that_is_cut_in_the_middle(server: RunningServer, authority: Authority) -> None:
    context = ssl.create_default_context(cafile=authority.cert)
    with PlainClient(server.port_of("mqtts"), tls=context).connected() as client:
        client.socket.shutdown(socket.SHUT_RDWR)


def test_garbage_inside_a_tls_connection(server: RunningServer, authority: Authority) -> None:
    context = ssl.create_default_context(cafile=authority.cert)
    with socket.create_connection(("127.0.0.1", server.port_of("mqtts")), PATIENCE) as plain:
        # The handshake is real; what follows is not encrypted at all.
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = context.wrap_bio(incoming, outgoing, server_hostname="localhost")
        while True:
            try:
                tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                plain.sendall(outgoing.read())
                incoming.write(plain.recv(65536))
        plain.sendall(outgoing.read() + os.urandom(300))
        everything(plain)


# HTTP


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
        (b"POST /stats HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello", 405),
        (b"GET /stats HTTP/1.1\r\n\r\n", 400),
        (b"nonsense\r\n\r\n", 400),
        (b"GET /stats HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 10_000, 431),
        (b"HEAD /stats HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello", 400),
        (b"HEAD /stats HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n", 400),
        (CONNECT, 400),
    ],
)
def test_http_requests_that_are_not_for_us(server: RunningServer, sent: bytes, status: int) -> None:
    connection = knock(server, "http", sent)
    connection.shutdown(socket.SHUT_WR)
    assert everything(connection).startswith(f"HTTP/1.1 {status} ".encode())
    assert json.loads(server.page("/healthz")) == {"status": "ok"}

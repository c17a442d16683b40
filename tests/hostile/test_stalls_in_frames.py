"""WebSocket frames that are small on purpose: a read holds tens of thousands of them."""

import socket

import pytest

from configurations import listener
from frames import BINARY, PING, frame, open_websocket, read_frame
from heliograph.mqtt import Connect, Publish, encode
from hostile.stalling import CONFIG, LONG, bystander
from plain_client import PlainClient
from running import RunningServer, Serve

MANY = 100_000
CONNECTED = (BINARY, b"\x20\x02\0\0")


@pytest.fixture
def server(serve: Serve) -> RunningServer:
    return serve(CONFIG + listener("ws"))


@pytest.mark.parametrize("ends", [False, True], ids=["stays", "ends"])
def test_what_comes_behind_tiny_frames_is_taken_and_others_are_served(server: RunningServer, ends: bool) -> None:
    with bystander(server), PlainClient(server.port).connected("reader") as reader:
        reader.socket.settimeout(LONG)
        reader.subscribe("after")
        with open_websocket(server.port_of("ws")) as connection:
            connection.sendall(frame(encode(Connect(), 4)))
            assert read_frame(connection) == CONNECTED
            connection.sendall(frame(b"", PING) * MANY + frame(encode(Publish("after", b"all of them"), 4)))
            if ends:
                connection.shutdown(socket.SHUT_WR)
            assert reader.receive() == Publish("after", b"all of them")

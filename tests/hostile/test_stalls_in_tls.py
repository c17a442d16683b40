"""TLS that is dear on purpose: thousands of handshakes at once, and records that carry a single byte."""

import resource
import selectors
import ssl
from collections.abc import Iterator

import pytest

from certificates import Authority, trusting
from configurations import listener
from heliograph.mqtt import Connect, PacketType, Publish, encode
from hostile.stalling import CONFIG, LONG, bystander
from plain_client import PlainClient
from running import PATIENCE, RunningServer, Serve
from tls_by_hand import TlsByHand

CROWD = 1000
FILES = 4096
CONNACK = b"\x20\x02\0\0"
PINGREQ = bytes([PacketType.PINGREQ << 4, 0])


@pytest.fixture
def server(serve: Serve, authority: Authority) -> Iterator[RunningServer]:
    pair = authority.issue("server", "stalls-in-tls")
    made = serve(CONFIG + listener("tls", pair=pair))
    made.limit_descriptors(FILES)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(FILES, hard), hard))
    yield made
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_thousand_handshakes_at_once(server: RunningServer, authority: Authority) -> None:
    context = trusting(authority)
    with bystander(server), selectors.DefaultSelector() as waiting:
        crowd = [TlsByHand(server.port_of("mqtts"), context) for _ in range(CROWD)]
        hellos = [client.step() for client in crowd]
        for client, hello in zip(crowd, hellos, strict=True):
            client.socket.sendall(hello)
            waiting.register(client.socket, selectors.EVENT_READ, client)
        while waiting.get_map():
            ready = waiting.select(PATIENCE)
            assert ready, "handshakes are not answered"
            for key, _ in ready:
                client = key.data
                assert client.take(), "a handshake was refused"
                client.socket.sendall(client.step())
                if client.tls.version():
                    waiting.unregister(client.socket)
        for number, client in enumerate(crowd):
            client.send(encode(Connect(f"c{number}", 4), 4))
        for client in crowd:
            assert client.exactly(4) == CONNACK
        for client in crowd:
            client.socket.close()


@pytest.mark.parametrize("began", ["small", "large"])
def test_what_comes_in_tiny_records_is_taken_and_others_are_served(
    server: RunningServer, authority: Authority, began: str
) -> None:
    with bystander(server), PlainClient(server.port, 4).connected("reader") as reader:
        reader.socket.settimeout(LONG)
        reader.subscribe("after")
        with TlsByHand(server.port_of("mqtts"), trusting(authority)).shaken() as client:
            client.send(encode(Connect("c", 4), 4))
            assert client.exactly(4) == CONNACK
            if began == "large":  # whoever sends large records is read from in large portions
                for _ in range(20):
                    client.send(encode(Publish("nobody", bytes(500_000)), 4))
            tiny = client.encrypt(*(PINGREQ[at : at + 1] for _ in range(20_000) for at in range(2)))
            client.socket.sendall(tiny + client.encrypt(encode(Publish("after", b"all of them"), 4)))
            assert reader.receive() == Publish("after", b"all of them")


def test_a_handshake_in_tiny_records_is_a_handshake(server: RunningServer, authority: Authority) -> None:
    context = trusting(authority)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with bystander(server), TlsByHand(server.port_of("mqtts"), context) as client:
        hello = client.step()
        kind, body = hello[:3], hello[5:]
        client.socket.sendall(b"".join(kind + b"\0\1" + body[at : at + 1] for at in range(len(body))))
        while not (answer := client.step()):
            assert client.take()
        client.socket.sendall(answer)
        client.shaken()
        client.send(encode(Connect("c", 4), 4))
        assert client.exactly(4) == CONNACK

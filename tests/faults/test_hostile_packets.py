"""Clients that send nonsense, half of something, or too much of it. Whatever one does, the others are served."""

import random
import socket
import struct
from collections.abc import Iterator

import pytest

from configurations import PLAIN
from heliograph.mqtt import Connect, Disconnect, Publish, PubRec, Reason, Will, encode, encode_varint
from plain_client import PlainClient, is_served
from running import RunningServer, servers

CONNECT = encode(Connect("hostile", 5), 5)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """One server for all of these: what a test does to it must not show in the next one."""
    with servers(tmp_path_factory.mktemp("hostile")) as start:
        yield start(PLAIN + "[limits]\nconnect_timeout = 0.5\npacket_size = 1000000\n")


@pytest.fixture(autouse=True)
def _others_are_served(server: RunningServer) -> Iterator[None]:
    yield
    assert server.process.poll() is None
    assert is_served(server.port)


@pytest.mark.parametrize("sent", [b"", CONNECT[:1], CONNECT[:2], CONNECT[:-1]])
def test_a_connect_that_never_ends_is_given_up(server: RunningServer, sent: bytes) -> None:
    with PlainClient(server.port) as client:
        client.send_bytes(sent)
        assert client.is_closed()


def test_a_connect_that_trickles_in_is_given_up(server: RunningServer) -> None:
    # Each byte is a sign of life, but it is the whole CONNECT that counts.
    connect = encode(Connect("c" * 200, 5), 5)
    with PlainClient(server.port) as client:
        client.socket.settimeout(0.02)
        for byte in connect[:-1]:
            client.send_bytes(bytes([byte]))
            try:
                assert client.socket.recv(1) == b""
            except TimeoutError:
                continue
            except ConnectionError:
                pass
            break
        else:
            pytest.fail("the server waited for all of it")


def test_random_bytes(server: RunningServer) -> None:
    rng = random.Random(3)
    for _ in range(200):
        with PlainClient(server.port) as client:
            client.send_bytes(rng.randbytes(rng.randrange(1, 400)))
            client.socket.shutdown(socket.SHUT_WR)
            assert client.is_closed()


@pytest.mark.parametrize("version", [3, 4, 5])
def test_random_bytes_after_connecting(server: RunningServer, version: int) -> None:
    rng = random.Random(version)
    for _ in range(100):
        with PlainClient(server.port, version).connected("hostile") as client:
            client.send_bytes(rng.randbytes(rng.randrange(1, 400)))
            client.socket.shutdown(socket.SHUT_WR)
            assert client.is_closed()


@pytest.mark.parametrize("version", [3, 4, 5])
def test_sound_packets_with_a_few_bytes_changed(server: RunningServer, version: int) -> None:
    rng = random.Random(version)
    sound = encode(Publish("hostile/topic", b"payload", qos=1, packet_id=7), version) * 5
    for _ in range(200):
        damaged = bytearray(sound)
        for _ in range(rng.randrange(1, 4)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        with PlainClient(server.port, version).connected("hostile") as client:
            client.send_bytes(bytes(damaged))
            client.socket.shutdown(socket.SHUT_WR)
            assert client.is_closed()


def test_a_packet_over_the_limit_is_refused_before_it_is_there(server: RunningServer) -> None:
    with PlainClient(server.port).connected() as client:
        client.send_bytes(b"\x30" + encode_varint(1_000_000))
        assert client.goodbye().reason == Reason.PACKET_TOO_LARGE


def test_an_older_client_with_a_packet_over_the_limit_is_closed(server: RunningServer) -> None:
    with PlainClient(server.port, 4).connected() as client:
        client.send_bytes(b"\x30" + encode_varint(200_000_000) + b"\0\1a")
        assert client.is_closed()


def test_a_giant_connect_is_refused(server: RunningServer) -> None:
    with PlainClient(server.port) as client:
        client.send_bytes(b"\x10" + encode_varint(268_435_455))
        assert client.is_closed()


def test_giant_packets_cost_no_memory(server: RunningServer) -> None:
    before = server.memory()
    clients = [PlainClient(server.port, 4).connected(f"giant{n}") for n in range(50)]
    for client in clients:
        client.send_bytes(b"\x30" + encode_varint(999_000) + b"\0\1a" + bytes(900_000))
    assert is_served(server.port)
    # What is announced within the limit may come, and waits: fifty times 0.9 MB, and not twice that.
    assert server.memory() - before < 90_000_000
    for client in clients:
        client.close()


@pytest.mark.parametrize(
    "packet",
    [
        pytest.param(b"\x30\x05\x00\x20abc", id="a topic longer than the packet"),
        pytest.param(b"\x30\x01\x00", id="a PUBLISH without room for the length of its topic"),
        pytest.param(b"\x30\x00", id="an empty PUBLISH"),
        pytest.param(b"\x32\x04\x00\x01a\x00", id="a PUBLISH with half a packet identifier"),
        pytest.param(b"\x30\x05\x00\x01a\x50\x01", id="properties longer than the packet"),
        pytest.param(b"\x82\x03\x00\x01\x00", id="a SUBSCRIBE without filters"),
        pytest.param(b"\x82\x06\x00\x01\x00\x00\x30a", id="a filter longer than the packet"),
        pytest.param(b"\x40\x01\x00", id="half a PUBACK"),
        pytest.param(b"\xa2\x00", id="an empty UNSUBSCRIBE"),
        pytest.param(b"\x30\xff\xff\xff\xff\x01", id="a length of five bytes"),
        pytest.param(CONNECT, id="a second CONNECT"),
        pytest.param(b"\x20\x03\x00\x00\x00", id="a CONNACK from a client"),
        pytest.param(b"\xd0\x00", id="a PINGRESP from a client"),
        pytest.param(b"\x00\x00", id="packet type 0"),
        pytest.param(b"\x36\x06\x00\x01a\x00\x01\x00", id="QoS 3"),
        pytest.param(b"\x30\x05\x00\x02\xc3\x28\x00", id="a topic that is not UTF-8"),
        pytest.param(b"\x30\x06\x00\x03a/#\x00", id="a topic with a wildcard"),
    ],
)
def test_a_packet_that_lies_ends_the_connection_with_a_reason(server: RunningServer, packet: bytes) -> None:
    with PlainClient(server.port).connected() as client:
        client.send_bytes(packet)
        assert client.goodbye().reason >= Reason.UNSPECIFIED_ERROR


def test_a_packet_before_connect(server: RunningServer) -> None:
    with PlainClient(server.port) as client:
        client.send(Publish("a"))
        assert client.is_closed()


@pytest.mark.parametrize("level", [0, 1, 2, 6, 99, 255])
def test_a_protocol_version_that_nobody_speaks_is_refused(server: RunningServer, level: int) -> None:
    with PlainClient(server.port, 4) as client:
        client.send_bytes(b"\x10\x0c\x00\x04MQTT" + bytes([level]) + b"\x02\x00\x3c\x00\x00")
        assert client.receive().reason == 1
        assert client.is_closed()


def test_clients_killed_in_the_middle_of_a_packet(server: RunningServer) -> None:
    with PlainClient(server.port).connected() as watcher:
        watcher.subscribe("killed/will")
        for cut in range(20):
            client = PlainClient(server.port).connected(will=Will("killed/will", b"%d" % cut))
            client.send_bytes(encode(Publish("a", bytes(100), qos=1, packet_id=1), 5)[: 3 + cut])
            # A reset instead of a farewell, as when the process is killed with bytes under way.
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.close()
            assert watcher.receive().payload == b"%d" % cut


def test_a_thousand_clients_that_come_and_go(server: RunningServer) -> None:
    before = server.stats()["clients"]["admitted"]
    for number in range(1000):
        with PlainClient(server.port, 4) as client:
            client.send(Connect(f"quick{number}"), Disconnect())
            assert client.is_closed()
    clients = server.stats()["clients"]
    assert clients["admitted"] - before == 1000
    assert clients["connected"] == 0
    assert clients["sessions"] == 0


@pytest.mark.parametrize(("version", "refused"), [(4, 0x80), (5, Reason.QUOTA_EXCEEDED)])
def test_subscriptions_past_the_limit_are_refused(server: RunningServer, version: int, refused: int) -> None:
    with PlainClient(server.port, version).connected() as client:
        reasons = client.subscribe(*[f"many/{number}" for number in range(5000)])
        assert reasons == (0,) * 500 + (refused,) * 4500
        assert server.stats()["subscriptions"]["count"] == 500


def test_a_session_taken_over_again_and_again(server: RunningServer) -> None:
    last = PlainClient(server.port).connected("contested")
    for _ in range(50):
        following = PlainClient(server.port).connected("contested")
        assert last.goodbye().reason == Reason.SESSION_TAKEN_OVER
        last.close()
        last = following
    assert server.stats()["clients"]["connected"] == 1
    last.close()


def test_quality_of_service_2_without_an_end_is_limited(server: RunningServer) -> None:
    with PlainClient(server.port).connected() as client:
        for packet_id in range(1, 2050):
            client.send(Publish("a", qos=2, packet_id=packet_id))
        while isinstance(answer := client.receive(), PubRec):
            pass
        assert isinstance(answer, Disconnect)
        assert answer.reason == Reason.RECEIVE_MAXIMUM_EXCEEDED

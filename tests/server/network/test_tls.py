"""TLS as the server speaks it: each step of the handshake, records of any size, the end, new keys, slow readers."""

import os
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from typing import Self

import pytest

from certificates import Authority, trusting
from configurations import PLAIN, listener
from heliograph.mqtt import Connect, Disconnect, Publish, Reason, Subscribe, Subscription, encode
from hostile.bystander import PATIENT, Bystander
from plain_client import PlainClient, is_served
from running import RunningServer, Serve
from tls_by_hand import TlsByHand
from tools import program

MEGABYTE = 1 << 20
VERSIONS = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}
CONNECT, CONNACK = encode(Connect("c", 4), 4), b"\x20\x02\0\0"
SUBSCRIBE, SUBACK = encode(Subscribe(1, (Subscription("a"),)), 4), b"\x90\x03\0\1\0"


@pytest.fixture
def tls_listener(authority: Authority) -> str:
    pair = authority.issue("server", "tls-server")
    return PLAIN + listener("tls", pair=pair)


@pytest.fixture(params=list(VERSIONS))
def context(authority: Authority, request: pytest.FixtureRequest) -> ssl.SSLContext:
    made = trusting(authority)
    made.minimum_version = made.maximum_version = VERSIONS[request.param]
    return made


@pytest.fixture
def server(serve: Serve, tls_listener: str) -> RunningServer:
    return serve(tls_listener)


@pytest.fixture
def client(server: RunningServer, context: ssl.SSLContext) -> Iterator[TlsByHand]:
    """One that has been admitted."""
    with TlsByHand(server.port_of("mqtts"), context).shaken() as made:
        made.send(CONNECT)
        assert made.exactly(4) == CONNACK
        yield made


# The handshake


def nothing(_client: TlsByHand) -> None:
    pass


def the_first_byte(client: TlsByHand) -> None:
    client.socket.sendall(client.step()[:1])


def half_a_hello(client: TlsByHand) -> None:
    hello = client.step()
    client.socket.sendall(hello[: len(hello) // 2])


def no_answer_to_the_server(client: TlsByHand) -> None:
    client.socket.sendall(client.step())
    client.take()


def half_an_answer(client: TlsByHand) -> None:
    client.socket.sendall(client.step())
    while not (answer := client.step()):
        client.take()
    client.socket.sendall(answer[: len(answer) // 2])


@pytest.mark.parametrize("stall", [nothing, the_first_byte, half_a_hello, no_answer_to_the_server, half_an_answer])
def test_a_handshake_that_stalls_is_given_up(
    serve: Serve, tls_listener: str, context: ssl.SSLContext, stall: Callable[[TlsByHand], None]
) -> None:
    server = serve(tls_listener + "[limits]\nconnect_timeout = 0.3\n")
    with TlsByHand(server.port_of("mqtts"), context) as client:
        stall(client)
        while client.take():
            pass
        if stall is not nothing:
            here = client.socket.getsockname()[1]
            assert f"127.0.0.1:{here} did not answer in time" in server.log.wait_for("client refused")
    assert server.stats()["clients"]["connected"] == 0


def test_a_handshake_that_is_cut_off_is_logged(server: RunningServer, context: ssl.SSLContext) -> None:
    with TlsByHand(server.port_of("mqtts"), context) as client:
        client.socket.sendall(client.step())
        client.take()
    assert "the other side cut the connection" in server.log.wait_for("client refused")


def test_a_client_is_told_why_there_is_no_handshake(serve: Serve, tls_listener: str, authority: Authority) -> None:
    server = serve(tls_listener + 'tls_min = "1.3"\n')
    old = trusting(authority)
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    with (
        TlsByHand(server.port_of("mqtts"), old) as client,
        pytest.raises(ssl.SSLError, match="alert protocol version"),
    ):
        client.shaken()
    assert "no common version of TLS" in server.log.wait_for("client refused")


def test_a_handshake_may_come_byte_by_byte(server: RunningServer, context: ssl.SSLContext) -> None:
    with TlsByHand(server.port_of("mqtts"), context).shaken(by=1) as client:
        client.send(CONNECT)
        assert client.exactly(4) == CONNACK


def test_the_first_packets_may_come_with_the_end_of_the_handshake(server: RunningServer, authority: Authority) -> None:
    with TlsByHand(server.port_of("mqtts"), trusting(authority)) as client:
        client.socket.sendall(client.step())
        while not (answer := client.step()):
            client.take()
        client.socket.sendall(answer + client.encrypt(CONNECT + SUBSCRIBE))
        assert client.exactly(9) == CONNACK + SUBACK


def test_a_session_is_taken_up_again(server: RunningServer, context: ssl.SSLContext) -> None:
    with TlsByHand(server.port_of("mqtts"), context).shaken() as client:
        client.send(CONNECT)
        assert client.exactly(4) == CONNACK
        session = client.tls.session
    with TlsByHand(server.port_of("mqtts"), context, session).shaken() as client:
        assert client.tls.session_reused
        client.send(CONNECT)
        assert client.exactly(4) == CONNACK


# Records


def test_what_is_published_comes_back_whatever_the_records_are(client: TlsByHand) -> None:
    client.send(SUBSCRIBE)
    assert client.exactly(5) == SUBACK
    large = encode(Publish("a", os.urandom(2 * MEGABYTE)), 4)
    small = b"".join(encode(Publish("a", bytes([number])), 4) for number in range(200))
    client.send(*[small[at : at + 1] for at in range(len(small))])
    assert client.exactly(len(small)) == small
    writing = threading.Thread(target=client.socket.sendall, args=(client.encrypt(large),))
    writing.start()
    assert client.exactly(len(large)) == large
    writing.join()
    for byte in client.encrypt(small[:12]):
        client.socket.sendall(bytes([byte]))
    assert client.exactly(12) == small[:12]


def test_a_reader_that_is_slow_gets_everything_in_order_and_holds_nobody_back(
    server: RunningServer, client: TlsByHand
) -> None:
    client.send(SUBSCRIBE)
    assert client.exactly(5) == SUBACK
    packets = [encode(Publish("a", bytes([number]) * (3 * MEGABYTE)), 4) for number in range(6)]
    with (
        Bystander(server.port, pid=server.process.pid) as bystander,
        PlainClient(server.port, 4).connected("speaker") as speaker,
    ):
        speaker.send_bytes(b"".join(packets))
        written = bystander.count
        server.wait_until(
            lambda _: bystander.count > written + 20
        )  # the client reads nothing yet, and others are served
        for packet in packets:
            assert client.exactly(len(packet)) == packet
        assert bystander.worst < PATIENT


def test_a_client_that_never_reads_its_answers_is_not_read_from(server: RunningServer, client: TlsByHand) -> None:
    before = server.memory()
    packets = b"".join(encode(Publish("a", b"", 1, packet_id=n), 4) for n in range(1, 10_000))
    client.socket.settimeout(0.5)
    with pytest.raises(TimeoutError):
        for _ in range(1000):
            client.send(packets)
    assert server.memory() - before < 60 * MEGABYTE
    assert is_served(server.port)


def test_records_that_are_damaged_end_the_connection(server: RunningServer, client: TlsByHand) -> None:
    record = bytearray(client.encrypt(SUBSCRIBE))
    record[-1] ^= 1
    client.socket.sendall(record)
    with pytest.raises(ssl.SSLError, match="alert bad record mac"):
        client.receive()
    server.wait_until(lambda figures: figures["clients"]["connected"] == 0)


# The end


def test_the_server_says_farewell(client: TlsByHand) -> None:
    client.send(b"\0\0")  # no packet of MQTT
    assert client.receive() == b""
    assert not client.take()


def test_the_server_says_farewell_to_a_client_that_leaves(client: TlsByHand) -> None:
    client.send(encode(Disconnect(), 4))
    assert client.receive() == b""


def test_a_farewell_is_answered_when_all_that_came_before_has_been_taken(
    server: RunningServer, client: TlsByHand
) -> None:
    messages = [encode(Publish("a", number.to_bytes(4, "big")), 4) for number in range(20_000)]
    with PlainClient(server.port, 4).connected("reader") as reader:
        reader.subscribe("a")
        last = client.encrypt(b"".join(messages))
        client.socket.sendall(last + client.farewell())
        for message in messages:
            assert reader.receive() == Publish("a", message[-4:])
        assert client.receive() == b""


def test_a_server_that_stops_says_farewell(server: RunningServer, authority: Authority) -> None:
    with TlsByHand(server.port_of("mqtts"), trusting(authority)).shaken() as client:
        client.send(encode(Connect("c", 5), 5))
        client.receive()
        stopping = threading.Thread(target=server.stop)
        stopping.start()
        goodbye = client.receive()
        assert (goodbye[0], goodbye[2]) == (0xE0, Reason.SERVER_SHUTTING_DOWN)
        assert client.receive() == b""
        client.socket.close()
        stopping.join()


def test_a_server_that_stops_does_not_wait_for_handshakes(server: RunningServer, context: ssl.SSLContext) -> None:
    with TlsByHand(server.port_of("mqtts"), context) as client:
        no_answer_to_the_server(client)
        server.stop()
        while client.take():
            pass


# OpenSSL's own client


class OpensslClient:
    """`openssl s_client`: lines that begin with K ask for new keys."""

    def __init__(self, server: RunningServer, authority: Authority) -> None:
        where = f"127.0.0.1:{server.port_of('mqtts')}"
        words = ["s_client", "-connect", where, "-CAfile", str(authority.cert), "-verify_return_error", "-brief"]
        self.process = subprocess.Popen(
            [program("openssl", "apt install openssl"), *words],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def __enter__(self) -> Self:
        self.wait_for(b"Verification: OK")
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()

    def wait_for(self, text: bytes) -> None:
        """Wait for a line on its standard error."""
        assert self.process.stderr
        while line := self.process.stderr.readline():
            if text in line:
                return
        raise AssertionError(f"openssl ended without {text!r}")

    def send(self, data: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def exactly(self, size: int) -> bytes:
        assert self.process.stdout
        return self.process.stdout.read(size)


def test_keys_are_renewed_as_often_as_the_client_wants(server: RunningServer, authority: Authority) -> None:
    with OpensslClient(server, authority) as client:
        client.send(CONNECT)
        assert client.exactly(4) == CONNACK
        client.send(SUBSCRIBE)
        assert client.exactly(5) == SUBACK
        for number in range(40):
            client.send(b"K\n" if number % 2 else b"k\n")
            client.wait_for(b"KEYUPDATE")
            packet = encode(Publish("a", bytes([number])), 4)
            client.send(packet)
            assert client.exactly(len(packet)) == packet
    server.wait_until(lambda figures: figures["clients"]["connected"] == 0)

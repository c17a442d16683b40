"""Clients that do not read what they are sent: it is theirs that waits or is lost, and memory stays bounded."""

import json
import select
import socket
import ssl

import pytest

from certificates import Authority
from configurations import PLAIN
from frames import frame, open_websocket
from heliograph.mqtt import Connect, Publish, Reason, Subscribe, Subscription, encode
from plain_client import PlainClient, is_served
from running import PATIENCE, RunningServer, Serve

MEGABYTE = 1 << 20
BURST = 200
BURSTS = 200
PAYLOAD = bytes(1000)


def with_small_buffer(port: int) -> socket.socket:
    """A connection that takes in little without reading, so that the server feels it soon."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
    connection.settimeout(PATIENCE)
    connection.connect(("127.0.0.1", port))
    return connection


@pytest.mark.parametrize("qos", [0, 1])
def test_a_subscriber_that_never_reads_holds_nobody_back(serve: Serve, qos: int) -> None:
    server = serve(PLAIN + "[limits]\nmax_messages = 1000\n")
    before = server.memory()
    with (
        PlainClient(with_small_buffer(server.port), 4).connected("deaf") as deaf,
        PlainClient(server.port, 4).connected("keen") as keen,
        PlainClient(server.port, 4).connected("speaker") as speaker,
    ):
        deaf.subscribe("news", qos=qos)
        keen.subscribe("news")
        for burst in range(BURSTS):
            payload = burst.to_bytes(4, "big") + PAYLOAD
            packets = [Publish("news", payload, qos, packet_id=n if qos else 0) for n in range(1, BURST + 1)]
            speaker.send(*packets)
            for _ in range(BURST):
                received = keen.receive()
                assert isinstance(received, Publish)
                assert received.payload == payload
            for _ in range(BURST if qos else 0):
                speaker.receive()
        assert server.memory() - before < 30 * MEGABYTE
        figures = server.stats()
        assert figures["messages"]["rejected"] > 1000
        subscriptions = {one["client"]: one for one in json.loads(server.page("/subscriptions"))}
        assert subscriptions["deaf"]["rejected"] == figures["messages"]["rejected"]
        assert subscriptions["deaf"]["buffered"] == 1000
        assert "keen" not in subscriptions or not subscriptions["keen"]["rejected"]
    assert is_served(server.port)


def test_a_subscriber_that_reads_late_gets_what_was_kept_and_then_what_is_new(serve: Serve) -> None:
    server = serve(PLAIN + "[limits]\nmax_messages = 1000\n")
    with (
        PlainClient(with_small_buffer(server.port), 4).connected("late") as late,
        PlainClient(server.port, 4).connected("speaker") as speaker,
    ):
        late.subscribe("news")
        for number in range(10_000):
            speaker.send(Publish("news", number.to_bytes(4, "big") + PAYLOAD))
        speaker.publish("other")  # all that was sent before has been taken by now
        sent = server.stats()
        kept = 10_000 - sent["messages"]["rejected"]
        for number in range(kept):
            received = late.receive()
            assert isinstance(received, Publish)
            assert int.from_bytes(received.payload[:4], "big") == number
        speaker.send(Publish("news", b"new"))
        received = late.receive()
        assert isinstance(received, Publish)
        assert received.payload == b"new"


def test_a_publisher_that_never_reads_its_acknowledgements(serve: Serve) -> None:
    server = serve()
    before = server.memory()
    with PlainClient(with_small_buffer(server.port), 4).connected() as publisher:
        packets = b"".join(encode(Publish("a", b"", 1, packet_id=n), 4) for n in range(1, 10_000))
        publisher.socket.settimeout(0.5)
        with pytest.raises(TimeoutError):  # the server stops reading in the end
            publisher.socket.sendall(packets * 1000)
        assert server.memory() - before < 60 * MEGABYTE
        assert is_served(server.port)


def deaf_client(scheme: str, server: RunningServer, authority: Authority) -> tuple[socket.socket, bytes]:
    """A connection that has subscribed, and what ends it: something that is not MQTT."""
    connection = with_small_buffer(server.port_of(scheme))
    if scheme == "mqtts":
        context = ssl.create_default_context(cafile=authority.cert)
        connection = context.wrap_socket(connection, server_hostname="localhost")
    start = encode(Connect(scheme, 5), 5) + encode(Subscribe(1, (Subscription("news"),)), 5)
    nonsense = b"\0\0"
    if scheme == "ws":
        start, nonsense = frame(start), frame(nonsense)
        open_websocket(server.port, connection)
    connection.sendall(start)
    server.log.wait_for(f"client connected client={scheme} ")
    return connection, nonsense


def test_clients_that_are_sent_away_and_do_not_read_are_cut_off(
    serve: Serve, authority: Authority, every_listener: str
) -> None:
    server = serve(every_listener)
    clients = [deaf_client(scheme, server, authority) for scheme in ("mqtt", "mqtts", "ws")]
    with PlainClient(server.port).connected() as speaker:
        while len([one for one in json.loads(server.page("/subscriptions")) if one["buffered"]]) < len(clients):
            speaker.publish("news", bytes(MEGABYTE))
    for connection, nonsense in clients:
        connection.sendall(nonsense)
    for connection, _ in clients:
        poll = select.poll()
        poll.register(connection, 0)  # an end that is not a polite one is told all the same
        assert poll.poll(PATIENCE * 1000), "the server waits for ever for a client that does not read"
        connection.close()


@pytest.mark.parametrize("away", [False, True])
def test_large_messages_that_nobody_takes_are_limited_by_their_bytes(serve: Serve, away: bool) -> None:
    server = serve(f"{PLAIN}[limits]\nmax_bytes = {20 * MEGABYTE}\n")
    before = server.memory()
    kept = {"clean_start": False, "properties": {"session_expiry_interval": 60}}
    with (
        PlainClient(with_small_buffer(server.port)).connected("deaf", **kept) as deaf,
        PlainClient(server.port).connected("speaker") as speaker,
    ):
        deaf.subscribe("news", qos=1)
        if away:
            deaf.close()
            server.wait_until(lambda figures: figures["clients"]["connected"] == 1)
        reasons = [speaker.publish("news", bytes(MEGABYTE)).reason for _ in range(100)]
        assert reasons[:19] == [Reason.SUCCESS] * 19
        assert reasons[-1] == Reason.QUOTA_EXCEEDED
        assert server.memory() - before < 60 * MEGABYTE

"""How AMQP clients that nobody here wrote send: the relay, refusals, delays, times to live, large messages."""

import hashlib
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from configurations import AMQP
from interop.amqp_letters import Large, Letter, Refused, Repeated, Terminus
from interop.amqp_peers import Connect, Peer, PeerConnection, connecting, got, nothing, rest, take
from interop.proton_peer import Proton, encoded
from running import RunningServer, servers

Define = Callable[..., str]


def test_the_anonymous_relay_sends_each_message_where_it_says(
    connection: PeerConnection, queue: str, define: Define
) -> None:
    second = define(f"{queue}.2")
    relay = connection.sender(None)
    assert relay.send(Letter(1, to=queue)).outcome == "accepted"
    assert relay.send(Letter(2, to=f"queue://{second}", durable=True)).outcome == "accepted"
    assert relay.send(Letter(3, to="nowhere")).condition == "amqp:not-found"
    assert relay.send(Letter(4)).condition == "amqp:invalid-field"
    assert (rest(connection, queue), rest(connection, second)) == ([1], [2])


def test_the_anonymous_relay_and_topics(connection: PeerConnection, queue: str) -> None:
    receiver = connection.receiver(f"topic://{queue}/news")
    assert connection.sender(None).send(Letter("news", to=f"topic://{queue}/news")).outcome == "accepted"
    assert take(receiver).body == "news"


def test_the_relay_in_a_transaction(connection: PeerConnection, queue: str) -> None:
    coordinator, relay = connection.coordinator(), connection.sender(None)
    for fail in (True, False):
        txn = coordinator.declare()
        relay.send(Letter(fail, to=queue), txn=txn)
        coordinator.discharge(txn, fail=fail)
    assert rest(connection, queue) == [False]


def test_presettled_messages_arrive(connection: PeerConnection, queue: str) -> None:
    sender = connection.sender(queue, settled=True)
    for number in range(20):
        sender.send(Letter(number))
    receiver = connection.receiver(queue, credit=20)
    assert [take(receiver).body for _ in range(20)] == list(range(20))


@pytest.mark.parametrize("address", ["nowhere", "queue://nowhere"])
def test_an_unknown_queue(connection: PeerConnection, address: str) -> None:
    for attach in (connection.sender, connection.receiver):
        with pytest.raises(Refused, match="nowhere") as caught:
            attach(address)
        assert caught.value.condition == "amqp:not-found"


def test_a_full_queue(connection: PeerConnection, queue: str, define: Define) -> None:
    sender = connection.sender(define(f"{queue}.s", max_depth=2))
    assert sender.send_all([Letter(number) for number in range(3)]) == ["accepted", "accepted", "rejected"]
    assert sender.send(Letter(4)).condition == "amqp:resource-limit-exceeded"


def test_a_queue_that_takes_nothing(connection: PeerConnection, queue: str, define: Define) -> None:
    closed = define(f"{queue}.c", put_enabled=False)
    assert connection.sender(closed).send(Letter(1)).condition == "amqp:not-allowed"


@pytest.mark.parametrize("payload", [b"", b"hello", b"\xff" * 20], ids=["nothing", "text", "noise"])
def test_what_is_no_message_is_refused(proton: Proton, amqp_server: RunningServer, queue: str, payload: bytes) -> None:
    with connecting(proton, amqp_server.port_of("amqp")) as connect:
        connection = connect()
        sender = connection.sender(queue)
        assert sender.outcome(sender.give(payload)).condition == "amqp:decode-error"
        assert sender.send(Letter("next")).outcome == "accepted"
        assert rest(connection, queue) == ["next"]


# Time


@pytest.mark.parametrize("durable", [True, False])
@pytest.mark.parametrize("how", ["x-opt-delivery-delay", "x-opt-delivery-time"])
def test_a_delayed_message_comes_when_it_is_time(
    connection: PeerConnection, queue: str, how: str, durable: bool
) -> None:
    receiver = connection.receiver(queue)
    now = int(time.time() * 1000)
    when = {how: 400 if how.endswith("delay") else now + 400}
    sender = connection.sender(queue)
    sender.send(Letter("later", durable=durable, annotations=when))
    sender.send(Letter("now"))
    assert take(receiver).body == "now"
    assert take(receiver).body == "later"
    assert time.time() * 1000 >= now + 390


def test_an_expired_message_is_gone(connection: PeerConnection, queue: str) -> None:
    connection.sender(queue).send_all([Letter("short", ttl=50), Letter("long", ttl=60_000), Letter("ever")])
    time.sleep(0.1)
    receiver = connection.receiver(queue)
    long, ever = take(receiver), take(receiver)
    assert (long.body, ever.body) == ("long", "ever")
    assert 0 < (long.ttl or 0) < 60_000
    assert ever.ttl is None


# What is on a message


def test_message_groups_are_carried(connection: PeerConnection, queue: str) -> None:
    letters = [Letter(n, group_id="g", group_sequence=n, reply_to_group_id="r") for n in (1, 2, 3)]
    connection.sender(queue).send_all(letters)
    receiver = connection.receiver(queue)
    found = [take(receiver) for _ in letters]
    assert [(it.group_id, it.group_sequence, it.reply_to_group_id) for it in found] == [
        ("g", n, "r") for n in (1, 2, 3)
    ]


# Nodes of one's own


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_temporary_queue_lives_as_long_as_its_link(connect_peer: Connect, side: str) -> None:
    connection, other = connect_peer(), connect_peer()
    node = Terminus(None, ("temporary-queue",), dynamic=True)
    creator = connection.sender(node) if side == "target" else connection.receiver(node)
    assert creator.address
    assert other.sender(creator.address).send(Letter("hello")).outcome == "accepted"
    receiver = connection.receiver(creator.address) if side == "target" else creator
    assert take(receiver).body == "hello"
    creator.close()
    with pytest.raises(Refused, match="amqp:not-found"):
        other.sender(creator.address)


def test_a_temporary_queue_goes_with_its_connection(connect_peer: Connect) -> None:
    connection, other = connect_peer(), connect_peer()
    address = connection.receiver(Terminus(None, dynamic=True)).address
    sender = other.sender(address)
    connection.cut()
    assert sender.send(Letter(1)).condition == "amqp:resource-deleted" or sender.ended() == "amqp:resource-deleted"


def test_a_temporary_topic(connect_peer: Connect) -> None:
    connection, other = connect_peer(), connect_peer()
    topic = connection.sender(Terminus(None, ("temporary-topic",), dynamic=True)).address
    receiver = connection.receiver(Terminus(topic, ("topic",)))
    other.sender(Terminus(topic, ("topic",))).send(Letter("psst"))
    assert take(receiver).body == "psst"


# Large messages


def test_a_message_that_is_too_long_ends_the_link(connection: PeerConnection, queue: str, define: Define) -> None:
    sender = connection.sender(define(f"{queue}.l", max_message_length=100_000))
    assert sender.longest == 100_000
    assert sender.send(Letter(Repeated(b"x", 99_000))).outcome == "accepted"
    assert sender.send(Letter(Repeated(b"x", 100_001))).condition == "amqp:link:message-size-exceeded"
    assert connection.sender(queue).send(Letter("the connection stays")).outcome == "accepted"


@pytest.mark.timeout(100)
def test_100_megabytes_both_ways(connection: PeerConnection, queue: str, define: Define) -> None:
    large = define(f"{queue}.l", max_message_length=200_000_000)
    body = Repeated(os.urandom(1000), 100 << 20)
    assert connection.sender(large).send(Letter(body, durable=True)).outcome == "accepted"
    receiver = connection.receiver(large, credit=1)
    delivery = got(receiver)
    delivery.settle()
    found = delivery.letter.body
    expected = Large(body.size, hashlib.sha256(body.whole()).hexdigest())
    assert (found if isinstance(found, Large) else Large(len(found), hashlib.sha256(found).hexdigest())) == expected
    assert nothing(receiver)


def test_small_frames(connect_peer: Connect, queue: str) -> None:
    connection = connect_peer(frame_size=512)
    body = os.urandom(50_000)
    connection.sender(queue).send(Letter(body))
    assert take(connection.receiver(queue)).body == body


def test_a_small_session_window(proton: Proton, amqp_server: RunningServer, queue: str) -> None:
    with connecting(proton, amqp_server.port_of("amqp")) as connect:
        connection = connect(frame_size=4096)
        connection.main.incoming_capacity = 8192
        bodies = [os.urandom(100_000) for _ in range(5)]
        sender = connection.sender(queue)
        for body in bodies:
            sender.send(Letter(body))
        receiver = connection.receiver(queue)
        assert [take(receiver).body for _ in bodies] == bodies


def test_a_message_that_is_aborted_does_not_arrive(proton: Proton, amqp_server: RunningServer, queue: str) -> None:
    with connecting(proton, amqp_server.port_of("amqp")) as connect:
        connection = connect()
        sender = connection.sender(queue)
        delivery = sender.link.delivery("aborted")
        sender.link.stream(encoded(Letter(b"x" * 100_000))[:70_000])
        connection.pump(lambda: connection.transport.pending() == 0)
        delivery.abort()
        assert sender.send(Letter("next")).outcome == "accepted"
        assert rest(connection, queue) == ["next"]


def test_messages_on_two_links_at_once(proton: Proton, amqp_server: RunningServer, queue: str) -> None:
    with connecting(proton, amqp_server.port_of("amqp")) as connect:
        connection = connect()
        senders = [connection.sender(queue) for _ in range(2)]
        payloads = [encoded(Letter(letter * 150_000)) for letter in (b"a", b"b")]
        for sender in senders:
            sender.link.delivery("both")
        for at in range(0, 160_000, 40_000):
            for sender, payload in zip(senders, payloads, strict=True):
                sender.link.stream(payload[at : at + 40_000])
                connection.pump(lambda: connection.transport.pending() == 0)
        for sender in senders:
            sender.link.advance()
        assert sorted(rest(connection, queue)) == [b"a" * 150_000, b"b" * 150_000]


def test_what_is_persistent_outlives_the_server(peer: Peer, tmp_path: Path) -> None:
    config = AMQP + '[[queue]]\nname = "q"\n'
    config += f'[storage]\ndirectory = "{tmp_path / "data"}"\n'
    wanted = Terminus("news", ("topic",), lasting=True)
    with servers(tmp_path) as start:
        server = start(config)
        with connecting(peer, server.port_of("amqp")) as connect:
            connection = connect(container="c")
            connection.receiver(wanted, name="sub").detach()
            connection.sender("q").send_all([Letter("kept", durable=True), Letter("lost")])
            connection.sender(Terminus("news", ("topic",))).send(Letter("kept too", durable=True))
            late = Letter("delayed", durable=True, annotations={"x-opt-delivery-delay": 60_000})
            connection.sender("q").send(late)
        server.stop()
        server = start(config)
        with connecting(peer, server.port_of("amqp")) as connect:
            connection = connect(container="c")
            assert rest(connection, "q") == ["kept"]
            assert take(connection.receiver(wanted, name="sub")).body == "kept too"
            assert 'heliograph_queue_delayed{queue="q"} 1' in server.page("/metrics")

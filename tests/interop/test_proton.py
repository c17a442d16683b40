"""The server with Qpid Proton as its AMQP client, over real sockets."""

import base64
import contextlib
import os
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from proton import ConnectionException, Delivery, Message, Timeout, symbol
from proton.reactor import AtMostOnce, Container, Copy, DurableSubscription, Selector
from proton.utils import BlockingConnection, LinkDetached, SendException, SyncRequestResponse

from certificates import Authority
from configurations import AMQP, QUIET, listener
from interop.proton_client import Capability, Dynamic, Transactional, connected, read_exactly, trusting
from running import PATIENCE, RunningServer, servers

QUEUES = """
[[queue]]
name = "{0}"
[[queue]]
name = "{0}.answers"
"""
SHORT = 0.3
"""Seconds in which nothing comes."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, authority: Authority) -> Iterator[RunningServer]:
    """A server with AMQP listeners of several kinds, and queues for each test."""
    pair = authority.issue("server", "amqp-server")
    config = QUIET + AMQP + listener("tls", "amqp", pair=pair)
    config += f'client_ca = "{authority.cert}"\nclient_certificates = "optional"\n'
    config += listener("ws", "amqp")
    config += '[[queue]]\nname = "small"\nmax_depth = 2\n[[queue]]\nname = "large"\nmax_message_length = 200000000\n'
    tests = [name.removeprefix("test_")[:36] for name in globals() if name.startswith("test_")]
    config += "".join(QUEUES.format(name) for name in tests)
    with servers(tmp_path_factory.mktemp("proton")) as start:
        yield start(config)


@pytest.fixture
def queue(request: pytest.FixtureRequest) -> str:
    """A queue that no other test uses."""
    return request.node.originalname.removeprefix("test_")[:36]


@pytest.fixture
def connection(server: RunningServer) -> Iterator[BlockingConnection]:
    with connected(server.url("amqp")) as made:
        yield made


def received(connection: BlockingConnection, address: str, **options: Any) -> list[Any]:
    """The bodies of all messages that are there, and they are gone."""
    receiver = connection.create_receiver(address, credit=100, **options)
    bodies = []
    with contextlib.suppress(Timeout):
        while True:
            bodies.append(receiver.receive(timeout=SHORT).body)
            if receiver.fetcher.unsettled:
                receiver.accept()
    receiver.close()
    return bodies


@pytest.mark.parametrize("durable", [True, False])
def test_messages_come_as_they_were_sent(connection: BlockingConnection, queue: str, durable: bool) -> None:
    sender = connection.create_sender(queue)
    sent = Message(
        body={"number": 1, "text": "ü", "list": [1, 2.5, None]},
        id="id-1",
        subject="s",
        correlation_id=7,
        properties={"colour": "red", "size": 3},
        durable=durable,
        priority=7,
    )
    sender.send(sent)
    receiver = connection.create_receiver(queue)
    got = receiver.receive()
    receiver.accept()
    for field in ("body", "id", "subject", "correlation_id", "properties", "durable", "priority"):
        assert getattr(got, field) == getattr(sent, field)
    assert got.delivery_count == 0


def test_many_messages_come_in_order(connection: BlockingConnection, queue: str) -> None:
    sender = connection.create_sender(queue, options=AtMostOnce())
    for number in range(500):
        sender.link.send(Message(body=number))
    assert received(connection, queue) == list(range(500))


def test_draining_ends_the_wait(connection: BlockingConnection, queue: str) -> None:
    connection.create_sender(queue).send(Message(body="only"))
    receiver = connection.create_receiver(queue)
    receiver.link.drain(10)
    assert receiver.receive().body == "only"
    connection.wait(lambda: receiver.link.credit == 0)


def test_a_selector_chooses(connection: BlockingConnection, queue: str) -> None:
    sender = connection.create_sender(queue)
    for colour in ("red", "blue", "red"):
        sender.send(Message(body=colour, properties={"colour": colour}))
    assert received(connection, queue, options=Selector("colour = 'blue'")) == ["blue"]
    assert received(connection, queue) == ["red", "red"]


def test_a_browser_takes_nothing(connection: BlockingConnection, queue: str) -> None:
    connection.create_sender(queue).send(Message(body="stays"))
    assert received(connection, queue, options=[Copy(), AtMostOnce()]) == ["stays"]
    assert received(connection, queue) == ["stays"]


@pytest.mark.parametrize("commit", [True, False])
def test_a_transaction_is_all_or_nothing(
    server: RunningServer, connection: BlockingConnection, queue: str, commit: bool
) -> None:
    connection.create_sender(queue).send(Message(body="question"))
    ended = Transactional(server.url("amqp"), queue, f"{queue}.answers", commit=commit).run()
    assert ended == ("committed" if commit else "aborted")
    assert received(connection, f"{queue}.answers") == (["answer to question"] if commit else [])
    assert received(connection, queue) == ([] if commit else ["question"])


def test_a_request_is_answered_on_a_temporary_queue(
    server: RunningServer, connection: BlockingConnection, queue: str
) -> None:
    client = SyncRequestResponse(connection, queue)
    assert client.reply_to
    with connected(server.url("amqp")) as other:
        receiver = other.create_receiver(queue)
        answers = other.create_sender(None)
        client.sender.send(Message(body="ping", reply_to=client.reply_to, correlation_id=1))
        request = receiver.receive()
        receiver.accept()
        answers.send(Message(body="pong", address=request.reply_to, correlation_id=request.correlation_id))
    connection.wait(lambda: client.response is not None)
    assert client.response.body == "pong"


def test_a_temporary_queue_goes_with_its_link(connection: BlockingConnection) -> None:
    sender = connection.create_sender(None, options=[Capability("temporary-queue"), Dynamic()])
    address = sender.link.remote_target.address
    sender.send(Message(body="x"))
    sender.close()
    with pytest.raises(LinkDetached, match="amqp:not-found"):
        connection.create_sender(address)


def test_a_durable_subscription_waits_for_its_client(server: RunningServer) -> None:
    url = server.url("amqp")
    options = [DurableSubscription(), Capability("topic")]

    def container() -> Container:
        made = Container()
        made.container_id = "subscriber"
        return made

    first = BlockingConnection(url, timeout=PATIENCE, container=container())
    receiver = first.create_receiver("weather", name="sub", options=options)
    receiver.link.detach()
    first.close()
    with connected(url) as publisher:
        publisher.create_sender("weather", options=Capability("topic")).send(Message(body="rain", durable=True))
    second = BlockingConnection(url, timeout=PATIENCE, container=container())
    assert second.create_receiver("weather", name="sub", options=options).receive().body == "rain"
    second.close()


def test_a_message_whose_client_was_lost_comes_again(server: RunningServer, queue: str) -> None:
    with connected(server.url("amqp")) as sender:
        sender.create_sender(queue).send(Message(body="again"))
    lost = BlockingConnection(server.url("amqp"), timeout=PATIENCE)
    assert lost.create_receiver(queue).receive().body == "again"
    lost.conn.transport._selectable._delegate.shutdown(socket.SHUT_RDWR)
    with connected(server.url("amqp")) as other:
        receiver = other.create_receiver(queue)
        got = receiver.receive()
        receiver.accept()
    assert (got.body, got.delivery_count) == ("again", 1)


def test_a_rejected_message_is_a_dead_letter(connection: BlockingConnection, queue: str) -> None:
    connection.create_sender(queue).send(Message(body="bad"))
    receiver = connection.create_receiver(queue)
    receiver.receive()
    receiver.reject()
    letter = connection.create_receiver("SYSTEM.DEAD.LETTER.QUEUE")
    got = letter.receive()
    letter.accept()
    assert got.body == "bad"
    assert got.annotations[symbol("x-opt-dead-letter-queue")] == queue


def test_a_full_queue_says_so(connection: BlockingConnection) -> None:
    sender = connection.create_sender("small")
    sender.send(Message(body=1))
    sender.send(Message(body=2))
    with pytest.raises(SendException) as caught:
        sender.send(Message(body=3))
    assert caught.value.state == Delivery.REJECTED


def test_a_message_of_100_megabytes(connection: BlockingConnection) -> None:
    body = os.urandom(1 << 20) * 100
    connection.create_sender("large").send(Message(body=body, durable=True))
    receiver = connection.create_receiver("large")
    assert receiver.receive().body == body
    receiver.accept()


def test_an_unknown_queue_is_told(connection: BlockingConnection) -> None:
    with pytest.raises(LinkDetached, match="amqp:not-found"):
        connection.create_sender("queue://nowhere")


def test_tls_and_a_certificate_as_user(server: RunningServer, authority: Authority, queue: str) -> None:
    pair = authority.issue("lamp", "amqp-lamp")
    url = f"amqps://localhost:{server.port_of('amqps')}"
    for certificate, mechanism in ((None, "ANONYMOUS"), ((str(pair.cert), str(pair.key)), "EXTERNAL")):
        domain = trusting(str(authority.cert), certificate)
        with connected(url, ssl_domain=domain, allowed_mechs=mechanism) as connection:
            connection.create_sender(queue).send(Message(body=mechanism))
            assert received(connection, queue) == [mechanism]


def test_amqp_in_websocket_frames(server: RunningServer) -> None:
    with socket.create_connection(("127.0.0.1", server.port_of("ws")), PATIENCE) as sock:
        key = base64.b64encode(os.urandom(16)).decode()
        sock.sendall(
            f"GET /amqp HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: amqp\r\n\r\n".encode()
        )
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += sock.recv(1)
        assert answer.startswith(b"HTTP/1.1 101")
        assert b"sec-websocket-protocol: amqp" in answer.lower()
        header = b"AMQP\x03\x01\x00\x00"
        sock.sendall(b"\x82\x88\x00\x00\x00\x00" + header)
        first, length = read_exactly(sock, 2)
        assert first == 0x82
        assert read_exactly(sock, length).startswith(header + b"\x00\x00\x00")


def test_the_server_says_goodbye(tmp_path_factory: pytest.TempPathFactory) -> None:
    with servers(tmp_path_factory.mktemp("goodbye")) as start:
        server = start(AMQP)
        connection = BlockingConnection(server.url("amqp"), timeout=PATIENCE)
        server.stop()
        with pytest.raises(ConnectionException, match=r"amqp:connection:forced.*the server is stopping"):
            connection.wait(lambda: False, timeout=PATIENCE)

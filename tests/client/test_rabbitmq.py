"""The client with RabbitMQ 3 and its AMQP 1.0 plug-in: no transactions, selectors or drains there."""

import asyncio
import threading
import time

import pytest

import rabbitmq
from configurations import AMQP
from heliograph.client import Message, aio, connect
from heliograph.client.errors import InvalidDestination, MessagingProblem, SecurityError

pytestmark = [
    pytest.mark.skipif(not rabbitmq.installed(), reason="there is no RabbitMQ; Debian's package is rabbitmq-server"),
    pytest.mark.timeout(180),
]
PATIENCE = 20.0


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    with rabbitmq.running(tmp_path_factory.mktemp("rabbitmq")) as url:
        yield url


@pytest.mark.parametrize("body", ["text", b"bytes", {"k": 1, "l": "x"}, [1, 2.5, "z"], 42])
def test_all_kinds_of_messages(url, body):
    with connect(url) as connection, connection.session() as session:
        message = Message(body, properties={"n": 1}, type="kind", correlation_id="c", group_id="g", group_sequence=3)
        session.producer("/queue/kinds").send(message)
        found = session.consumer("/queue/kinds").receive(PATIENCE)
        assert found.body == body
        assert (found.properties, found.type, found.correlation_id) == ({"n": 1}, "kind", "c")
        assert (found.group_id, found.group_sequence, found.persistent) == ("g", 3, True)
        assert found.message_id == message.message_id


@pytest.mark.parametrize("attach", ["producer", "consumer"])
def test_a_session_that_is_ended_for_an_attach_says_so_at_once(url, attach):
    with connect(url, timeout=60) as connection, connection.session() as session:
        began = time.monotonic()
        with pytest.raises(InvalidDestination, match="no exchange 'nowhere'"):
            getattr(session, attach)("/exchange/nowhere/x")
        assert time.monotonic() - began < 10  # not when nobody wants to wait any longer
        with pytest.raises(InvalidDestination, match="no exchange 'nowhere'"):
            session.producer("/queue/after")


BACK = f"""{AMQP}
[[queue]]
name = "back"
"""


def test_messages_that_a_shovel_brings_back_are_as_they_were(serve, tmp_path):
    sent = [
        Message(body, properties={"n": 1}, type="kind", correlation_id="c")
        for body in ("text äö", b"\xffbytes", {"k": 1}, [1, 2.5, "z"], 42, None, "x" * 100_000)
    ]
    server = serve(BACK)
    own = f"amqp://127.0.0.1:{server.port_of('amqp')}"
    (tmp_path / "rabbitmq").mkdir()
    with rabbitmq.running(tmp_path / "rabbitmq", shovel_to=own) as url:
        with connect(url) as connection, connection.session() as session:
            producer = session.producer("/queue/away")  # which makes it, if the shovel has not yet
            for message in sent:
                producer.send(message)
        with connect(own) as connection, connection.session() as session:
            consumer = session.consumer("back")
            for message in sent:
                found = consumer.receive(60)
                assert (found.body, found.message_id) == (message.body, message.message_id)
                assert (found.properties, found.type, found.correlation_id) == ({"n": 1}, "kind", "c")
                assert found.persistent


def test_more_messages_than_credit(url):
    with connect(url) as connection, connection.session() as session:
        producer = session.producer("/queue/many", persistent=False)
        receipts = [producer.send_async(str(number)) for number in range(3000)]
        for receipt in receipts:
            receipt.result(PATIENCE)
        consumer = session.consumer("/queue/many", prefetch=100)
        assert [consumer.receive(PATIENCE).body for _ in range(3000)] == [str(number) for number in range(3000)]
        assert consumer.receive(0.05) is None
        assert consumer.receive_nowait() is None


def test_a_message_that_is_there_is_received_without_waiting(url):
    with connect(url) as connection, connection.session() as session:
        session.producer("/queue/nowait").send("m")
        assert session.consumer("/queue/nowait").receive_nowait().body == "m"


def test_unacknowledged_messages_come_again(url):
    with connect(url) as connection:
        with connection.session("individual") as session:
            producer = session.producer("/queue/again")
            for body in ("a", "b"):
                producer.send(body)
            consumer = session.consumer("/queue/again")
            consumer.receive(PATIENCE)
            consumer.receive(PATIENCE).acknowledge()
        with connection.session() as session:
            assert session.consumer("/queue/again").receive(PATIENCE).body == "a"


def test_a_producer_without_destination(url):
    with connect(url) as connection, connection.session() as session:
        producer = session.producer()
        for name in ("/queue/one", "/queue/two"):
            producer.send(name, name)
        for name in ("/queue/one", "/queue/two"):
            assert session.consumer(name).receive(PATIENCE).body == name


def test_a_listener(url):
    with connect(url) as connection:
        session = connection.session()
        bodies, done = [], threading.Event()

        def listen(message):
            bodies.append(message.body)
            if len(bodies) == 5:
                done.set()

        session.consumer("/queue/listened").listen(listen)
        producer = connection.session().producer("/queue/listened")
        for number in range(5):
            producer.send(number)
        assert done.wait(PATIENCE)
        session.close()
        assert bodies == [0, 1, 2, 3, 4]


def test_a_topic_of_the_standard_exchange(url):
    with connect(url) as connection, connection.session() as session:
        consumer = session.consumer("/topic/news.#")
        session.producer("/topic/news.today").send("m")
        assert consumer.receive(PATIENCE).body == "m"


def test_what_is_not_supported_is_a_problem_and_the_connection_goes_on(url):
    with connect(url) as connection, connection.session() as session:
        with pytest.raises(MessagingProblem):
            session.consumer("/queue/kinds", selector="a = 1")
        with pytest.raises(MessagingProblem):
            connection.session("transacted")
        with connection.session() as other:
            other.producer("/queue/after").send("m")


def test_a_wrong_password(url):
    with pytest.raises(SecurityError):
        connect(url.replace("guest:guest", "guest:wrong"))


def test_asyncio(url):
    async def steps():
        async with aio.connect(url) as connection, await connection.session() as session:
            producer = await session.producer("/queue/asyncio", persistent=False)
            await asyncio.gather(*[await producer.send_async(number) for number in range(500)])
            consumer = await session.consumer("/queue/asyncio")
            assert [(await consumer.receive(PATIENCE)).body for _ in range(500)] == list(range(500))

    asyncio.run(steps())

"""The client with our own server: everything that it can do."""

import asyncio
import socket
import threading

import pytest

from client.served import wait_for
from configurations import AMQP, BOTH
from heliograph.client import Message, Queue, Topic, aio, connect
from heliograph.client.errors import (
    InUse,
    InvalidClientId,
    InvalidDestination,
    InvalidSelector,
    MessagingProblem,
    NoAnswer,
    ResourceLimit,
    TransactionRolledBack,
)
from running import RunningServer, servers

PATIENCE = 20.0
CONFIG = f"""{BOTH}
[[queue]]
name = "small"
max_depth = 3
"""
QUEUES = ("kinds", "work", "in", "out", "browsed", "selected", "ordered", "acked", "later", "service", "many", "cut")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    config = CONFIG + "".join(f'[[queue]]\nname = "{name}"\nmax_depth = 100000\n' for name in QUEUES)
    with servers(tmp_path_factory.mktemp("server")) as serve:
        yield serve(config)


@pytest.fixture
def url(server: RunningServer) -> str:
    return f"amqp://127.0.0.1:{server.port_of('amqp')}"


@pytest.fixture
def connection(url):
    with connect(url) as connection:
        yield connection


@pytest.fixture
def session(connection):
    with connection.session() as session:
        yield session


@pytest.mark.parametrize("body", ["text", b"bytes", {"k": 1}, [1, 2.5, "z"], None, 42])
@pytest.mark.parametrize("persistent", [True, False])
def test_all_kinds_of_messages(session, body, persistent):
    sent = Message(body, properties={"n": 1}, type="kind", correlation_id="c", group_id="g", reply_to=Queue("out"))
    session.producer("kinds", priority=7).send(sent, persistent=persistent)
    with session.consumer("kinds") as consumer:
        found = consumer.receive(PATIENCE)
    assert (found.body, found.properties, found.type, found.correlation_id) == (body, {"n": 1}, "kind", "c")
    assert (found.reply_to, found.destination, found.message_id) == (Queue("out"), Queue("kinds"), sent.message_id)
    assert (found.priority, found.persistent, found.delivery_count) == (7, persistent, 1)


def test_a_message_of_many_frames(session):
    body = bytes(range(256)) * 8192
    session.producer("kinds").send(body)
    with session.consumer("kinds") as consumer:
        assert consumer.receive(PATIENCE).body == body


def test_a_queue_that_is_not_there(session):
    with pytest.raises(InvalidDestination):
        session.producer("nowhere")
    with pytest.raises(InvalidDestination):
        session.consumer("nowhere")


def test_a_full_queue(session):
    producer = session.producer("small")
    with pytest.raises(ResourceLimit):
        for _ in range(10):
            producer.send("m")


def test_priorities_come_first(session):
    producer = session.producer("ordered")
    for priority in (1, 9, 5):
        producer.send(priority, priority=priority)
    with session.consumer("ordered") as consumer:
        assert [consumer.receive(PATIENCE).body for _ in range(3)] == [9, 5, 1]


def test_many_messages(session):
    producer = session.producer("many", persistent=False)
    receipts = [producer.send_async(number) for number in range(5000)]
    for receipt in receipts:
        receipt.result(PATIENCE)
    with session.consumer("many") as consumer:
        assert [consumer.receive(PATIENCE).body for _ in range(5000)] == list(range(5000))
        assert consumer.receive(0.01) is None
        assert consumer.receive_nowait() is None


def test_presettled_messages_arrive(session):
    producer = session.producer("many", presettled=True, persistent=False)
    for number in range(100):
        producer.send(number)
    with session.consumer("many") as consumer:
        assert [consumer.receive(PATIENCE).body for _ in range(100)] == list(range(100))


def test_units_of_work(connection):
    with connection.session("transacted") as session, connection.session() as other:
        producer, watching = session.producer("work"), other.consumer("work")
        producer.send("no")
        session.rollback()
        for number in range(20):
            producer.send(number)
        assert watching.receive_nowait() is None
        session.commit()
        assert [watching.receive(PATIENCE).body for _ in range(20)] == list(range(20))
        watching.close()


def test_a_unit_of_work_moves_messages_or_leaves_them_in_their_order(connection):
    with connection.session("transacted") as session, connection.session() as other:
        feeder, done = other.producer("in"), other.consumer("out")
        for number in range(4):
            feeder.send(number)
        source, sink = session.consumer("in"), session.producer("out")
        for _ in range(2):
            sink.send(source.receive(PATIENCE).body)
        session.rollback()
        messages = [source.receive(PATIENCE) for _ in range(4)]
        assert [(message.body, message.delivery_count) for message in messages] == [(0, 2), (1, 2), (2, 1), (3, 1)]
        for message in messages:
            sink.send(message.body)
        assert done.receive_nowait() is None
        session.commit()
        assert [done.receive(PATIENCE).body for _ in range(4)] == [0, 1, 2, 3]
        assert source.receive_nowait() is None
        done.close()


def test_a_message_that_does_not_fit_rolls_the_unit_back(connection):
    with connection.session("transacted") as session:
        producer = session.producer("small")
        for number in range(10):
            producer.send(number)
        with pytest.raises(TransactionRolledBack):
            session.commit()


def test_acknowledging_one_by_one(connection):
    with connection.session("individual") as session:
        producer = session.producer("acked")
        for body in ("a", "b", "c"):
            producer.send(body)
        consumer = session.consumer("acked")
        messages = [consumer.receive(PATIENCE) for _ in range(3)]
        messages[1].acknowledge()
    with connection.session("client") as session:
        consumer = session.consumer("acked")
        first, second = consumer.receive(PATIENCE), consumer.receive(PATIENCE)
        assert [(first.body, first.delivery_count), (second.body, second.delivery_count)] == [("a", 2), ("c", 2)]
        session.recover()
        assert consumer.receive(PATIENCE).delivery_count == 3
        consumer.receive(PATIENCE).acknowledge()
        assert consumer.receive_nowait() is None
    with connection.session() as session:
        assert session.consumer("acked").receive_nowait() is None


def test_browsing(session):
    producer = session.producer("browsed")
    for body in ("a", "b"):
        producer.send(body)
    with session.browser("browsed") as browser:
        assert [message.body for message in browser] == ["a", "b"]
    with session.consumer("browsed") as consumer:
        assert [consumer.receive(PATIENCE).body for _ in range(2)] == ["a", "b"]


def test_selectors(session):
    producer = session.producer("selected")
    for colour in ("red", "blue", "red"):
        producer.send(Message(colour, properties={"colour": colour}))
    with session.consumer("selected", selector="colour = 'blue'") as consumer:
        assert consumer.receive(PATIENCE).body == "blue"
        assert consumer.receive_nowait() is None
    with pytest.raises(InvalidSelector):
        session.consumer("selected", selector="colour = = 'blue'")


def test_delayed_and_expiring_messages(session):
    producer, consumer = session.producer("later"), session.consumer("later")
    producer.send("later", delay=0.3)
    producer.send("never", ttl=0.01, delay=0.1)
    assert consumer.receive_nowait() is None
    message = consumer.receive(PATIENCE)
    assert message.body == "later"
    assert consumer.receive(0.2) is None
    consumer.close()


def test_topics_have_plain_and_shared_and_local_subscribers(url, connection, session):
    place = Topic("news/today")
    plain, deaf = session.consumer(Topic("news/+")), session.consumer(Topic("news/#"), no_local=True)
    shared = [session.consumer(place, subscription="readers", shared=True, prefetch=1) for _ in range(2)]
    session.producer(place).send("from here")
    assert plain.receive(PATIENCE).body == "from here"
    with connect(url) as other, other.session() as elsewhere:
        elsewhere.producer(place).send("from elsewhere")
    assert deaf.receive(PATIENCE).body == "from elsewhere"
    got = [message.body for consumer in shared for _ in range(2) if (message := consumer.receive(0.1))]
    assert sorted(got) == ["from elsewhere", "from here"]


def test_a_durable_subscription_lives_until_it_is_unsubscribed(url):
    place = Topic("papers/morning")
    with connect(url, client_id="reader") as connection, connection.session() as session:
        session.consumer(place, subscription="morning", durable=True).close()
        session.producer(place).send("missed")
    with connect(url, client_id="reader") as connection, connection.session() as session:
        consumer = session.consumer(place, subscription="morning", durable=True)
        assert consumer.receive(PATIENCE).body == "missed"
        with pytest.raises(InUse):
            session.unsubscribe("morning")
        consumer.close()
        session.unsubscribe("morning")
        with pytest.raises(InvalidDestination):
            session.unsubscribe("morning")


def test_a_shared_durable_subscription(connection, session):
    place = Topic("papers/evening")
    consumers = [session.consumer(place, subscription="evening", durable=True, shared=True) for _ in range(2)]
    for consumer in consumers:
        consumer.close()
    session.producer(place).send("missed")
    with session.consumer(place, subscription="evening", durable=True, shared=True) as consumer:
        assert consumer.receive(PATIENCE).body == "missed"
    session.unsubscribe("evening")


def test_a_client_id_is_for_one_connection(url):
    with connect(url, client_id="single"), pytest.raises(InvalidClientId):
        connect(url, client_id="single")


def test_requests(connection):
    answering = connection.session()
    replies = answering.producer()
    answering.consumer("service").listen(
        lambda request: replies.send(Message(request.body + 1, correlation_id=request.message_id), request.reply_to)
    )
    with connection.session() as session:
        assert [session.request("service", number, PATIENCE).body for number in range(20)] == list(range(1, 21))
        with pytest.raises(NoAnswer):
            session.request("out", "anybody?", 0.05)
        session.consumer("out").receive(PATIENCE)
    answering.close()


def test_temporary_destinations(session):
    queue, topic = session.temporary_queue(), session.temporary_topic()
    for place in (queue, topic):
        consumer = session.consumer(place)
        session.producer(place).send("m")
        assert consumer.receive(PATIENCE).body == "m"
        consumer.close()
        session.delete(place)
    with pytest.raises(MessagingProblem):
        session.producer(queue)


def test_a_killed_server_loses_no_persistent_message(tmp_path):
    """The server is killed in the midst of sending, and started again: every message that was accepted is there."""
    port = _free_port()
    config = f"""
[http]
port = 0
[storage]
directory = "{tmp_path}/data"
[[listener]]
protocol = "amqp"
port = {port}
[[queue]]
name = "cut"
max_depth = 100000
"""
    with servers(tmp_path) as serve:
        server = serve(config)
        restored = threading.Event()
        with connect(f"amqp://127.0.0.1:{port}", on_restored=lambda url: restored.set()) as connection:
            session = connection.session()
            producer = session.producer("cut")
            receipts = [producer.send_async(number) for number in range(1000)]
            receipts[200].result(PATIENCE)
            server.kill()
            serve(config)
            assert restored.wait(PATIENCE)
            for receipt in receipts:
                receipt.result(PATIENCE)
            consumer, bodies = session.consumer("cut"), []
            while (message := consumer.receive(0.2)) is not None:
                bodies.append(message.body)
            assert list(dict.fromkeys(bodies)) == list(range(1000))
            consumer.close()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def test_asyncio(url):
    async def steps():
        async with aio.connect(url) as connection, await connection.session("transacted") as session:
            producer, consumer = await session.producer("many"), await session.consumer("many")
            for number in range(100):
                await producer.send(number)
            await session.commit()
            assert [(await consumer.receive(PATIENCE)).body for _ in range(100)] == list(range(100))
            await session.commit()
            assert await consumer.receive_nowait() is None

    asyncio.run(steps())


def test_a_queue_manager_is_reached_by_its_name(tmp_path):
    config = f"""{AMQP}
[[queue_manager]]
name = "PAYMENTS"
[[queue_manager.queue]]
name = "payments"
"""
    with servers(tmp_path) as serve:
        server = serve(config)
        with connect(f"amqp://127.0.0.1:{server.port_of('amqp')}/?hostname=PAYMENTS") as connection:
            session = connection.session()
            session.producer("payments").send("m")
            with session.consumer("payments") as consumer:
                assert consumer.receive(PATIENCE).body == "m"


def test_everything_is_given_back(server, url):
    with connect(url) as connection:
        session = connection.session()
        for number in range(10):
            session.producer("kinds").send(number)
        assert session.consumer("kinds").receive(PATIENCE).body == 0
    with connect(url) as connection, connection.session() as session:
        consumer = session.consumer("kinds")
        assert [consumer.receive(PATIENCE).body for _ in range(9)] == list(range(1, 10))
        wait_for(lambda: consumer.receive_nowait() is None)

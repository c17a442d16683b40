"""What Qpid JMS does on the wire, link by link; the client itself needs Java."""

from collections.abc import Callable, Iterator

import pytest

from interop.amqp_letters import Letter, Refused
from interop.amqp_peers import got, nothing, take
from interop.proton_peer import DECLARE, DISCHARGE
from interop.qpid_jms import JmsSession, QpidJms, text
from running import RunningServer

Jms = Callable[..., QpidJms]


@pytest.fixture
def jms(amqp_server: RunningServer) -> Iterator[Jms]:
    """Connect as Qpid JMS does, with a client ID."""
    made: list[QpidJms] = []

    def connect(client_id: str = "") -> QpidJms:
        made.append(QpidJms(amqp_server.port_of("amqp"), client_id or f"ID:{id(made)}-{len(made)}"))
        return made[-1]

    yield connect
    for one in made:
        one.close()


@pytest.fixture
def session(jms: Jms) -> JmsSession:
    return jms().session()


@pytest.fixture
def name(queue: str) -> str:
    """A name for a topic, a client and subscriptions that no other test uses."""
    return queue


def test_a_client_id_is_used_once(jms: Jms, name: str) -> None:
    jms(name)
    with pytest.raises(Refused) as caught:
        jms(name)
    assert caught.value.condition == "amqp:invalid-field"
    assert caught.value.info == {"invalid-field": "container-id"}


def test_a_text_message_through_a_queue(session: JmsSession, queue: str) -> None:
    producer = session.producer("queue", queue)
    annotations = {"x-opt-mine": "kept"}
    assert producer.send(text("hello", f"queue://{queue}", ttl=60_000, annotations=annotations)).outcome == "accepted"
    letter = take(session.consumer("queue", queue))
    assert (letter.body, letter.durable, letter.to) == ("hello", True, f"queue://{queue}")
    assert letter.annotations == {"x-opt-jms-msg-type": 5, "x-opt-jms-dest": 0, "x-opt-mine": "kept"}


def test_receive_no_wait_is_a_drain(session: JmsSession, queue: str) -> None:
    consumer = session.consumer("queue", queue)
    consumer.drain()
    assert consumer.get(0) is None
    session.producer("queue", queue).send(Letter("later"))
    consumer.credit(1000)
    assert take(consumer).body == "later"


def test_closing_a_session_gives_back_what_was_not_acknowledged(jms: Jms, queue: str) -> None:
    connection = jms()
    connection.session().producer("queue", queue).send_all([Letter("delivered"), Letter("prefetched")])
    closing = connection.session()
    consumer = closing.consumer("queue", queue)
    delivered, prefetched = got(consumer), got(consumer)
    delivered.settle("modified", failed=True)
    prefetched.settle("released")
    closing.close()
    consumer = connection.session().consumer("queue", queue)
    letters = [take(consumer) for _ in range(2)]
    assert {letter.body: letter.delivery_count for letter in letters} == {"delivered": 1, "prefetched": 0}


def test_a_message_that_was_delivered_too_often(session: JmsSession, queue: str) -> None:
    session.producer("queue", queue).send(Letter("poison"))
    consumer = session.consumer("queue", queue)
    got(consumer).settle("modified", failed=True, undeliverable=True)
    assert nothing(consumer)


def test_a_browser_ends_where_the_queue_does(session: JmsSession, queue: str) -> None:
    session.producer("queue", queue).send_all([Letter(1), Letter(2)])
    browser = session.consumer("queue", queue, browser=True)
    browser.drain()
    assert [got(browser).letter.body for _ in range(2)] == [1, 2]
    assert browser.get(0) is None
    browser.close()
    assert take(session.consumer("queue", queue)).body == 1


def test_request_and_reply_by_a_temporary_queue(jms: Jms, queue: str) -> None:
    asking, answering = jms(), jms()
    creator = asking.temporary("queue")
    replies = asking.session().consumer("temporary-queue", creator.address)
    asking.session().producer("queue", queue).send(text("ping", queue, reply_to=creator.address, correlation_id="ID:1"))
    session = answering.session()
    request = take(session.consumer("queue", queue))
    answer = text("pong", request.reply_to, correlation_id=request.correlation_id)
    assert session.anonymous_producer().send(answer).outcome == "accepted"
    assert session.producer("temporary-queue", request.reply_to).send(answer).outcome == "accepted"
    assert [take(replies).correlation_id for _ in range(2)] == ["ID:1", "ID:1"]
    replies.close()
    creator.close()
    with pytest.raises(Refused, match="amqp:not-found"):
        session.producer("temporary-queue", request.reply_to)


def test_a_temporary_topic(jms: Jms) -> None:
    mine, other = jms(), jms()
    creator = mine.temporary("topic")
    consumer = mine.session().consumer("temporary-topic", creator.address)
    assert other.session().producer("temporary-topic", creator.address).send(Letter("psst")).outcome == "accepted"
    assert take(consumer).body == "psst"


# Transactions


def test_the_next_declare_comes_right_behind_a_discharge(session: JmsSession, queue: str) -> None:
    coordinator, producer = session.coordinator(), session.producer("queue", queue)
    txn = coordinator.declare()
    for number in range(5):
        assert producer.send(Letter(number, durable=True), txn=txn).outcome == "accepted"
        discharge = coordinator.ask(DISCHARGE, [txn, False])
        declare = coordinator.ask(DECLARE, [None])
        assert coordinator.outcome(discharge).outcome == "accepted"
        txn = coordinator.outcome(declare).txn
    consumer = session.consumer("queue", queue)
    assert [take(consumer).body for _ in range(5)] == list(range(5))


def test_acknowledgements_that_the_client_has_settled_are_rolled_back(session: JmsSession, queue: str) -> None:
    session.producer("queue", queue).send_all([Letter(number) for number in range(3)])
    coordinator, consumer = session.coordinator(), session.consumer("queue", queue)
    txn = coordinator.declare()
    for _ in range(2):
        got(consumer).settle(txn=txn)
    prefetched = got(consumer)
    coordinator.discharge(txn, fail=True)
    assert [(take(consumer).delivery_count) for _ in range(2)] == [1, 1]
    prefetched.settle()


def test_a_closed_session_rolls_back(jms: Jms, queue: str) -> None:
    connection = jms()
    session = connection.session()
    txn = session.coordinator().declare()
    session.producer("queue", queue).send(Letter("never"), txn=txn)
    session.close()
    assert nothing(connection.session().consumer("queue", queue))


# Subscriptions


def test_a_durable_subscriber_closes_comes_back_and_unsubscribes(jms: Jms, name: str) -> None:
    topic = {"kind": "topic", "name": f"{name}/news", "subscription": "sub", "durable": True}
    publisher = jms().session().producer("topic", f"{name}/news")
    first = jms(name)
    first.session().consumer(**topic).detach()
    first.close()
    publisher.send(Letter("meanwhile"))
    second = jms(name)
    consumer = second.session().consumer(**topic)
    assert take(consumer).body == "meanwhile"
    consumer.detach()
    farewell = second.unsubscribe("sub")
    assert farewell.address
    farewell.close()
    with pytest.raises(Refused, match="amqp:not-found"):
        second.unsubscribe("sub")
    publisher.send(Letter("lost"))
    assert nothing(second.session().consumer(**topic))


def test_a_durable_subscriber_with_selector_and_no_local(jms: Jms, name: str) -> None:
    mine, other = jms(name), jms()
    consumer = mine.session().consumer("topic", name, subscription="sub", durable=True, selector="n > 1", no_local=True)
    assert sorted(consumer.filters) == ["jms-selector", "no-local"]
    mine.session().producer("topic", name).send(Letter("own", properties={"n": 2}))
    other.session().producer("topic", name).send_all([Letter(n, properties={"n": n}) for n in (1, 2)])
    assert take(consumer).body == 2
    assert nothing(consumer)


@pytest.mark.parametrize(
    ("sharing", "durable", "links"),
    [
        (["shared"], True, ["{}", "{}|2"]),
        (["shared"], False, ["{}|volatile1", "{}|volatile2"]),
        (["shared", "global"], True, ["{}|global", "{}|global2"]),
        (["shared", "global"], False, ["{}|global-volatile1", "{}|global-volatile2"]),
    ],
)
def test_shared_consumers(jms: Jms, name: str, sharing: list[str], durable: bool, links: list[str]) -> None:
    connection = jms(name)
    session = connection.session()
    consumers = [
        session.consumer("topic", name, subscription=link.format(name), durable=durable, sharing=sharing, credit=2)
        for link in links
    ]
    producer = jms().session().producer("topic", name)
    producer.send_all([Letter(number) for number in range(4)])
    assert sorted(take(consumer).body for consumer in consumers for _ in range(2)) == [0, 1, 2, 3]
    for consumer in consumers:
        consumer.detach()
    producer.send(Letter("meanwhile"))
    if not durable:
        consumer = session.consumer("topic", name, subscription=links[0].format(name), sharing=sharing)
        assert nothing(consumer)
        return
    consumer = session.consumer("topic", name, subscription=links[0].format(name), durable=True, sharing=sharing)
    assert take(consumer).body == "meanwhile"
    consumer.detach()
    connection.unsubscribe(links[0].format(name)).close()
    with pytest.raises(Refused, match="amqp:not-found"):
        connection.unsubscribe(links[0].format(name))


def test_an_exclusive_durable_subscription_is_not_shared(jms: Jms, name: str) -> None:
    session = jms(name).session()
    session.consumer("topic", name, subscription="sub", durable=True)
    with pytest.raises(Refused):
        session.consumer("topic", name, subscription="sub|2", durable=True, sharing=["shared"])

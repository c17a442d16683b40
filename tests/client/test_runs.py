"""Runs of messages: taken together, sent together, encoded by whoever moves many."""

import pytest

from configurations import AMQP
from heliograph.client import Message, Queue, connect, encoded
from heliograph.client.errors import InvalidDestination, ResourceLimit
from running import servers

PATIENCE = 20.0
CONFIG = f"""{AMQP}
[[queue]]
name = "small"
max_depth = 3
"""
QUEUES = ("few", "many", "raw", "odd", "blamed", "spared", "overtaken")


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    config = CONFIG + "".join(f'[[queue]]\nname = "{name}"\n' for name in QUEUES)
    with servers(tmp_path_factory.mktemp("server")) as serve:
        yield f"amqp://127.0.0.1:{serve(config).port_of('amqp')}"


@pytest.fixture
def connection(url):
    with connect(url) as connection:
        yield connection


def _payloads(queue: str, count: int) -> list[bytes]:
    return [encoded.write(str(number).encode(), to=queue, text=True) for number in range(count)]


def _bodies(consumer, count: int) -> list[str]:
    found: list[str] = []
    while len(found) < count and (more := consumer.receive_encoded(count, PATIENCE)):
        found += [encoded.read(payload).body.decode() for payload in more]
    return found


def test_a_run_that_is_sent_is_received_in_order(connection):
    session = connection.session()
    receipt = session.producer("many").send_encoded(_payloads("many", 2000))
    assert receipt.refused(PATIENCE) == {}
    assert _bodies(session.consumer("many"), 2000) == [str(number) for number in range(2000)]


def test_not_more_are_taken_than_wanted(connection):
    session = connection.session()
    session.producer("few").send_encoded(_payloads("few", 5)).refused(PATIENCE)
    consumer = session.consumer("few")
    assert len(consumer.receive_encoded(3, PATIENCE)) <= 3
    consumer.close()


def test_nothing_is_an_empty_list(connection):
    assert connection.session().consumer("odd").receive_encoded(10, 0) == []


def test_the_receipt_says_which_messages_were_refused(connection):
    session = connection.session()
    refused = session.producer("small").send_encoded(_payloads("small", 5)).refused(PATIENCE)
    assert sorted(refused) == [3, 4]
    assert isinstance(refused[3], ResourceLimit)


def test_a_run_to_a_place_that_is_not_there_is_refused_as_a_whole(connection):
    session = connection.session()
    refused = session.producer().send_encoded(_payloads("nowhere", 2), Queue("nowhere")).refused(PATIENCE)
    assert sorted(refused) == [0, 1]
    assert isinstance(refused[0], InvalidDestination)


def test_the_bytes_of_a_received_message_can_be_looked_into(connection):
    session = connection.session()
    letter = Message("text", properties={"size": 3}, correlation_id="c", reply_to=Queue("back"))
    session.producer("raw", persistent=False, priority=7).send(letter)
    (payload,) = session.consumer("raw").receive_encoded(1, PATIENCE)
    front = encoded.front(payload)
    assert (front.persistent, front.priority, front.failed) == (False, 7, 0)
    read = encoded.read(payload)
    assert (read.kind, read.body, read.correlation_id, read.reply_to) == (encoded.TEXT, b"text", "c", "queue://back")
    assert read.properties == {"size": 3}


def test_what_is_rolled_back_counts_as_failed(connection):
    connection.session().producer("blamed").send("x")
    with connection.session("transacted") as session:
        consumer = session.consumer("blamed")
        consumer.receive_encoded(1, PATIENCE)
        session.rollback()
        (again,) = consumer.receive_encoded(1, PATIENCE)
        assert encoded.front(again).failed == 1


def test_what_is_rolled_back_without_blame_comes_again_as_if_for_the_first_time(connection):
    connection.session().producer("spared").send("x")
    with connection.session("transacted") as session:
        consumer = session.consumer("spared")
        consumer.receive_encoded(1, PATIENCE)
        session.rollback(blame=False)
        (again,) = consumer.receive_encoded(1, PATIENCE)
        assert encoded.front(again).failed == 0


def test_what_is_rolled_back_is_not_overtaken_by_what_was_fetched_ahead(connection):
    connection.session().producer("overtaken").send_encoded(_payloads("overtaken", 20)).refused(PATIENCE)
    with connection.session("transacted") as session:
        consumer = session.consumer("overtaken")
        assert _bodies(consumer, 5)
        session.rollback(blame=False)
        assert _bodies(consumer, 20) == [str(number) for number in range(20)]
        session.commit()

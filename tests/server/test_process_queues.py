"""Queues of the configuration in a real server: at its start, after a restart and a reload, and on its pages."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from configurations import BOTH
from heliograph.client import Acknowledge, Message, Session, connect
from heliograph.errors import Problem
from heliograph.mqtt import Publish
from plain_client import PlainClient
from running import RunningServer, Serve, servers

BASE = f"""{BOTH}
[storage]
directory = "data"
"""
ORDERS = """
[[queue]]
name = "orders"
topics = ["shop/+/order"]
max_depth = 3
"""


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    with servers(tmp_path) as start:
        yield start


def asked(server: RunningServer, operation: str, **arguments: Any) -> Any:
    """The answer of the management node."""
    with connect(server.url("amqp")) as connection, connection.session() as session:
        request = Message(arguments, properties={"operation": operation})
        answer = session.request("$management", request, 20)
        assert answer.properties["status"] == 200, answer.body
        return answer.body


def put(server: RunningServer, queue: str, *texts: str) -> None:
    with connect(server.url("amqp")) as connection, connection.session() as session:
        producer = session.producer(queue)
        for text in texts:
            producer.send(text)


def got(server: RunningServer, queue: str) -> list[Any]:
    """All messages of a queue, which then has them no longer."""
    with connect(server.url("amqp")) as connection, connection.session() as session:
        return list(bodies(session, queue))


def bodies(session: Session, queue: str) -> Iterator[Any]:
    consumer = session.consumer(queue, prefetch=0)
    while (message := consumer.receive(0)) is not None:
        yield message.body


def publish(server: RunningServer, topic: str, payload: bytes) -> None:
    with PlainClient(server.port).connected() as client:
        client.publish(topic, payload)


def test_queues_of_the_configuration_are_there_with_their_attributes(serve: Serve) -> None:
    server = serve(BASE + ORDERS)
    shown = asked(server, "queue-show", name="orders")
    assert (shown["max_depth"], shown["topics"]) == (3, ["shop/+/order"])


def test_what_is_published_to_a_topic_of_a_queue_is_in_the_queue(serve: Serve) -> None:
    server = serve(BASE + ORDERS)
    publish(server, "shop/7/order", b"one pair of shoes")
    publish(server, "shop/7/bill", b"not this")
    assert got(server, "orders") == [b"one pair of shoes"]


def test_a_queue_has_what_the_file_says_after_a_restart_and_keeps_its_messages(serve: Serve) -> None:
    first = serve(BASE + ORDERS)
    put(first, "orders", "a", "b")
    asked(first, "queue-alter", name="orders", max_depth=77, description="by hand")
    first.stop()
    second = serve(BASE + ORDERS.replace("max_depth = 3", "max_depth = 5"))
    shown = asked(second, "queue-show", name="orders")
    assert (shown["max_depth"], shown["description"]) == (5, "")
    assert got(second, "orders") == ["a", "b"]


def test_a_queue_that_is_taken_out_stays_without_its_topics_and_is_reported(serve: Serve) -> None:
    first = serve(BASE + ORDERS)
    put(first, "orders", "kept")
    first.stop()
    second = serve(BASE)
    assert "queue=orders" in second.log.wait_for("a queue is no longer configured")
    assert "queues=orders" in second.log.wait_for("queues that are not in the configuration were kept")
    publish(second, "shop/7/order", b"nobody wants this")
    assert got(second, "orders") == ["kept"]


def test_a_queue_that_was_defined_while_the_server_ran_is_there_after_a_restart(serve: Serve) -> None:
    first = serve(BASE)
    asked(first, "queue-define", name="mine", max_depth=9)
    first.kill()
    assert asked(serve(BASE), "queue-show", name="mine")["max_depth"] == 9


def test_a_reload_makes_and_changes_queues(serve: Serve) -> None:
    server = serve(BASE + ORDERS)
    more = ORDERS.replace("max_depth = 3", "max_depth = 4") + '[[queue]]\nname = "more"\ntopics = ["more"]\n'
    server.reload(BASE + more)
    assert asked(server, "queue-show", name="orders")["max_depth"] == 4
    publish(server, "more", b"and more")
    assert got(server, "more") == [b"and more"]


def test_a_change_that_cannot_be_is_logged_and_the_queue_stays_as_it_is(serve: Serve) -> None:
    server = serve(BASE + ORDERS)
    put(server, "orders", "waiting")
    server.reload(BASE + ORDERS + 'order = "fifo"\n')
    line = server.log.wait_for("a queue cannot be changed to its configuration")
    assert "order can be changed only while it is empty" in line
    assert asked(server, "queue-show", name="orders")["order"] == "priority"


def test_dead_letters_go_where_the_configuration_says(serve: Serve) -> None:
    server = serve(BASE + '[queues]\ndead_letter_queue = "graveyard"\n[[queue]]\nname = "a"\nbackout_threshold = 1\n')
    put(server, "a", "poison")
    with connect(server.url("amqp")) as connection, connection.session(Acknowledge.TRANSACTED) as session:
        assert session.consumer("a").receive(20) is not None
        session.rollback()
    assert got(server, "graveyard") == ["poison"]


def test_the_pages_tell_of_queues_units_of_work_and_amqp_clients(serve: Serve) -> None:
    server = serve(BASE + ORDERS)
    put(server, "orders", "a", "b")
    with connect(server.url("amqp")) as connection, connection.session(Acknowledge.TRANSACTED) as session:
        assert session.consumer("orders", prefetch=0).receive(20) is not None
        session.commit()
        assert session.consumer("orders", prefetch=0).receive(20) is not None
        session.rollback()
        stats, metrics = server.stats(), server.page("/metrics")
    (orders,) = (one for one in stats["queues"]["named"] if one["name"] == "orders")
    wanted = {"depth": 1, "put": 2, "got": 1, "consumers": 2}
    assert {key: orders[key] for key in wanted} == wanted
    assert stats["units_of_work"]["committed"] == stats["units_of_work"]["rolled_back"] == 1
    assert stats["amqp"]["connections"] == 1
    assert 'heliograph_queue_messages{queue="orders"} 1\n' in metrics
    assert 'heliograph_queue_put_total{queue="orders"} 2\n' in metrics
    assert 'heliograph_units_of_work_total{end="committed"} 1\n' in metrics
    assert "heliograph_amqp_connections 1\n" in metrics


def test_sys_topics_tell_of_queues(serve: Serve) -> None:
    server = serve(BASE + ORDERS + "[sys_topics]\ninterval = 0.1\n")
    put(server, "orders", "a", "b")
    with PlainClient(server.port).connected() as client:
        client.subscribe("$SYS/broker/queues/put")
        while (message := client.receive()) and isinstance(message, Publish) and message.payload != b"2":
            pass


def test_queues_that_the_configuration_allows_are_made_on_first_use_and_stay(serve: Serve) -> None:
    server = serve(BASE + '[queues]\ncreate = ["dev.*"]\n')
    put(server, "dev.orders", "one")
    assert got(server, "dev.orders") == ["one"]
    server.stop()
    server = serve(BASE)
    assert asked(server, "queue-show", name="dev.orders")["depth"] == 0
    server.reload(BASE + '[queues]\ncreate = ["other.*"]\n')
    put(server, "other.orders", "two")
    assert got(server, "other.orders") == ["two"]
    with (
        connect(server.url("amqp")) as connection,
        connection.session() as session,
        pytest.raises(Problem, match=r"there is no queue dev\.new"),
    ):
        session.producer("dev.new")


def test_a_name_may_have_255_characters(serve: Serve) -> None:
    server = serve(BASE)
    name = "x" * 255
    asked(server, "queue-define", name=name, default_persistence=True)
    put(server, name, "one")
    server.stop()
    server = serve(BASE)
    assert got(server, name) == ["one"]

"""Attach: what a link leads to, and what the client is answered."""

import pytest

from broker.amqp.amqp_clients import body, text
from heliograph.amqp import Coordinator, Described, Source, Target
from heliograph.broker.amqp.attaching import OUTCOMES
from heliograph.broker.core.queue_definition import LONGEST_MESSAGE, TEMPORARY_MODEL

SELECTOR = "apache.org:selector-filter:string"


@pytest.fixture
def client(scene):
    scene.queue("q", max_message_length=1000)
    return scene.amqp()


# The client sends


def test_the_longest_message_is_that_of_the_queue(client):
    assert client.sender("q").remote.max_message_size == 1000
    assert client.sender("topic://t").remote.max_message_size == LONGEST_MESSAGE
    assert client.sender(Target()).remote.max_message_size == LONGEST_MESSAGE


def test_a_coordinator_is_told_what_it_can_do(client):
    link = client.coordinator()
    assert isinstance(link.target, Coordinator)
    assert client.attached(link)


@pytest.mark.parametrize("address", [None, ""])
def test_without_an_address_messages_say_where_they_go(scene, client, address):
    client.send(client.sender(Target(address)), text("a", to="q"))
    assert scene.broker.queues.find("q").depth == 1


@pytest.mark.parametrize("capability", ["topic", "temporary-topic"])
def test_a_topic_is_made_for_who_wants_one(scene, client, capability):
    link = client.sender(Target(dynamic=True, capabilities=(capability,)))
    assert link.target.address.startswith("$temporary/")
    reader = scene.amqp("reader")
    got = reader.receiver(link.target.address)
    client.send(link, text("a"))
    assert reader.bodies(got) == ["a"]


def test_a_queue_is_made_for_who_wants_one_and_goes_with_the_link(scene, client):
    link = client.sender(Target(dynamic=True))
    name = link.target.address
    assert scene.broker.queues.find(name).definition.temporary
    link.detach(closed=True)
    scene.run()
    assert not scene.broker.queues.is_defined(name)


def test_who_names_a_model_gets_a_queue_after_it(scene, client):
    scene.queue("MODEL", kind="model", max_depth=7)
    link = client.sender("MODEL")
    queue = scene.broker.queues.find(link.target.address)
    assert queue.name.startswith("MODEL.")
    assert queue.definition.max_depth == 7
    got = client.receiver("MODEL")
    assert got.source.address.startswith("MODEL.")
    assert got.source.address != queue.name


@pytest.mark.parametrize(
    ("target", "condition"),
    [
        (Target("nowhere"), "amqp:not-found"),
        (Target("queue://nowhere"), "amqp:not-found"),
        (Target("$management"), "amqp:not-found"),
        (Target(7), "amqp:invalid-field"),
    ],
)
def test_where_nothing_is_there_is_no_link(client, target, condition):
    assert client.refusal(client.sender(target)).condition == condition


# The client receives


def test_the_source_says_what_is_in_force(client):
    filters = {"s": Described(SELECTOR, "a = 1"), "x": Described("other", 1)}
    link = client.receiver(Source("q", filter=filters))
    assert link.source.filter == {"s": filters["s"]}
    assert tuple(link.source.outcomes) == OUTCOMES


def test_outcomes_that_the_client_named_are_left(client):
    link = client.receiver(Source("q", outcomes=("amqp:accepted:list",)))
    assert tuple(link.source.outcomes) == ("amqp:accepted:list",)


def test_a_dynamic_source_is_a_queue_or_a_topic(scene, client):
    queue = client.receiver(Source(dynamic=True))
    topic = client.receiver(Source(dynamic=True, capabilities=("temporary-topic",)))
    assert topic.source.address.startswith("$temporary/")
    sender = scene.amqp("sender")
    for link in (queue, topic):
        sender.send(sender.sender(link.source.address), text(link.source.address))
        assert client.bodies(link) == [link.source.address]


def test_a_copy_is_taken_of_what_is_browsed(scene, client):
    client.send(client.sender("q"), text("a", correlation_id="c"))
    for asked in (None, {"s": Described(SELECTOR, "JMSCorrelationID = 'c'")}):
        link = client.receiver(Source("q", distribution_mode="copy", filter=asked))
        assert [body(m.payload) for m in client.messages(link)] == ["a"]
    assert scene.broker.queues.find("q").depth == 1
    assert scene.broker.queues.find("q").index is None


@pytest.mark.parametrize(
    ("source", "condition"),
    [
        (Source(), "amqp:invalid-field"),
        (Source(""), "amqp:invalid-field"),
        (Source("nowhere"), "amqp:not-found"),
        (Source("$management"), "amqp:not-allowed"),
        (Source("q", filter={"s": Described(SELECTOR, "a =")}), "amqp:invalid-field"),
        (Source("q", filter={"s": Described(SELECTOR, 7)}), "amqp:invalid-field"),
        (Source("topic://a/#/b"), "amqp:invalid-field"),
    ],
)
def test_where_nothing_comes_from_there_is_no_link(client, source, condition):
    assert client.refusal(client.receiver(source)).condition == condition


def test_past_the_limit_of_queues_clients_get_no_more(make):
    scene = make(queues=2)
    scene.queue("q")
    client = scene.amqp()
    assert client.refusal(client.sender(Target(dynamic=True))).condition == "amqp:resource-limit-exceeded"
    assert client.refusal(client.receiver(TEMPORARY_MODEL)).condition == "amqp:resource-limit-exceeded"

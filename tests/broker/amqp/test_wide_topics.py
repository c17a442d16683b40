"""Messages of AMQP clients for very many subscriptions: bit by bit, in order, answered when all have them."""

import pytest

from broker.amqp.amqp_clients import AmqpScene, text
from heliograph.amqp import Accepted, Rejected, Source
from heliograph.amqp.codec.performatives import Durability, ExpiryPolicy
from heliograph.broker.core.slices import SLICE
from heliograph.broker.routing import routes
from heliograph.mqtt import PubAck, Publish

MANY = 9


@pytest.fixture(autouse=True)
def _few_at_once(monkeypatch):
    monkeypatch.setattr(routes, "_QUEUES_AT_ONCE", 2)
    monkeypatch.setattr(routes, "_PUTS_AT_ONCE", 6)
    monkeypatch.setattr(routes, "_DURABLE_AT_ONCE", 2)


@pytest.fixture
def scene(tmp_path):
    scene = AmqpScene(tmp_path / "logs")
    yield scene
    scene.close()


def run(scene):
    scene.run()
    while scene.broker.slices.busy:
        scene.broker.slices.run()
        scene.run()


@pytest.fixture(params=["volatile", "durable"])
def crowd(scene, request):
    """A client, and its links with a subscription each."""
    client = scene.amqp("crowd")
    source = Source("topic://t")
    if request.param == "durable":
        source = Source("topic://t", durable=Durability.UNSETTLED_STATE, expiry_policy=ExpiryPolicy.NEVER)
    return client, [client.receiver(source) for _ in range(MANY)]


def bodies(crowd):
    client, links = crowd
    return [client.bodies(link) for link in links]


@pytest.mark.parametrize("persistent", [False, True])
def test_all_get_all_messages_in_order_and_then_the_sender_is_answered(scene, crowd, persistent):
    sender = scene.amqp("sender")
    link = sender.sender("topic://t")
    numbers = link.send([text(str(number), durable=persistent) for number in range(7)])
    assert sender.outcomes(link, numbers) == []
    run(scene)
    assert sender.outcomes(link, numbers) == [Accepted()] * 7
    assert bodies(crowd) == [[str(number) for number in range(7)]] * MANY


def test_nothing_else_is_taken_from_the_sender_meanwhile(scene, crowd):
    queue = scene.queue()
    sender = scene.amqp("sender")
    link, other = sender.sender("topic://t"), sender.sender("q")
    first = link.send([text("1")])
    second = other.send([text("2")])
    third = link.send([text("3")], settled=True)
    scene.run()
    scene.run()
    sender.engine.begin()  # comes later still
    scene.run()
    assert queue.depth == 0
    run(scene)
    assert (sender.outcomes(link, first), len(third)) == ([Accepted()], 1)
    assert queue.depth == len(second) == 1
    assert bodies(crowd) == [["1", "3"]] * MANY


def test_a_run_of_messages_is_cut_though_there_are_few_receivers(scene):
    client = scene.amqp("few")
    links = [client.receiver("topic://t") for _ in range(2)]
    sender = scene.amqp("sender")
    link = sender.sender("topic://t")
    numbers = link.send([text(str(number)) for number in range(10)])
    scene.run()
    assert len(client.bodies(links[0])) == 3
    run(scene)
    assert sender.outcomes(link, numbers) == [Accepted()] * 10
    assert client.bodies(links[1]) == [str(number) for number in range(10)]


def test_what_is_no_message_is_refused_alone(scene, crowd):
    sender = scene.amqp("sender")
    link = sender.sender("topic://t")
    numbers = link.send([text("1"), b"nonsense", text("3")])
    run(scene)
    assert [type(outcome) for outcome in sender.outcomes(link, numbers)] == [Accepted, Rejected, Accepted]
    assert bodies(crowd) == [["1", "3"]] * MANY


def test_messages_that_say_where_they_go(scene, crowd):
    scene.queue()
    sender = scene.amqp("sender")
    link = sender.sender(None)
    addresses = ["topic://t", "q", "topic://t", "nowhere", "topic://t"]
    numbers = link.send([text(str(number), to=to) for number, to in enumerate(addresses)])
    run(scene)
    kinds = [type(outcome) for outcome in sender.outcomes(link, numbers)]
    assert kinds == [Accepted, Accepted, Accepted, Rejected, Accepted]
    assert bodies(crowd) == [["0", "2", "4"]] * MANY


def test_full_queues_refuse_and_the_sender_is_told_if_all_do(scene, crowd):
    for queue in scene.broker.queues.all():
        if queue.definition.internal or queue.name.startswith("$subscription"):
            scene.broker.queues.alter(queue.name, put_enabled=False)
    sender = scene.amqp("sender")
    link = sender.sender("topic://t")
    numbers = link.send([text("1")])
    run(scene)
    assert [type(outcome) for outcome in sender.outcomes(link, numbers)] == [Rejected]


def test_links_end_meanwhile(scene, crowd):
    client, links = crowd
    sender = scene.amqp("sender")
    link = sender.sender("topic://t")
    numbers = link.send([text("1")])
    scene.run()
    links[-1].detach(closed=True)
    scene.run()
    run(scene)
    assert sender.outcomes(link, numbers) == [Accepted()]
    assert [client.bodies(one) for one in links[:-1]] == [["1"]] * (MANY - 1)


def test_the_sender_goes_meanwhile(scene, crowd):
    sender = scene.amqp("sender")
    link = sender.sender("topic://t")
    link.send([text(str(number)) for number in range(7)])
    scene.run()
    sender.lose()
    run(scene)
    assert bodies(crowd) == [[str(number) for number in range(7)]] * MANY


def test_mqtt_subscriptions_and_queues_get_the_same(scene, crowd):
    reader = scene.client("reader")
    reader.subscribe("t", 1)
    publisher = scene.client("publisher")
    publisher.send(Publish("t", b"x", 1, retain=True, packet_id=1))
    assert publisher.take() == []
    run(scene)
    assert publisher.take() == [PubAck(1)]
    assert reader.payloads() == [b"x"]
    assert bodies(crowd) == [[b"x"]] * MANY


def test_what_comes_while_a_client_waits_again_and_again_is_taken_in_order(scene, crowd):
    queue = scene.queue()
    sender = scene.amqp("sender")
    link, other = sender.sender("topic://t"), sender.sender("q")
    for number in range(5):
        link.send([text(f"{number}a"), text(f"{number}b")])
        other.send([text(str(number))])
        scene.run()  # each of them is a read of its own
    run(scene)
    assert bodies(crowd) == [[f"{number}{letter}" for number in range(5) for letter in "ab"]] * MANY
    assert queue.depth == 5


def test_links_that_are_attached_by_the_hundred_are_taken_in_several_turns(scene, monkeypatch):
    client = scene.amqp("many")
    monkeypatch.setattr(scene.broker, "now", lambda: scene.now)
    find = scene.broker.queues.check_room

    def take_time():
        scene.now += SLICE / 9.5
        find()

    monkeypatch.setattr(scene.broker.queues, "check_room", take_time)
    links = [client.session.attach_receiver(f"l{number}", Source("topic://t")) for number in range(50)]
    client.exchange()
    late = client.session.attach_receiver("late", Source("topic://t"))
    client.exchange()
    scene.run()
    assert sum(queue.name.startswith("$subscription") for queue in scene.broker.queues.all()) == 10
    run(scene)
    assert all(client.attached(link) for link in [late])
    assert [link.remote is not None for link in links] == [True] * 50
    names = [link.name for link in scene.clients[-1].connection.links]
    assert names == [*[f"l{number}" for number in range(50)], "late"]

"""Queues that clients have made for themselves."""

from dataclasses import replace

import pytest

from broker.amqp.amqp_clients import text
from heliograph.amqp import Source, Target
from heliograph.amqp.codec.values import Described, Symbol, ULong
from heliograph.broker.core.queue_definition import QueueDefinition, QueueKind

LIFETIME = {Symbol("lifetime-policy"): Described(ULong(0x2B), [])}


@pytest.fixture
def client(scene):
    return scene.amqp()


def temporary_queue(client):
    """A link that has made a queue, as JMS clients do it."""
    return client.sender(
        Target(dynamic=True, dynamic_node_properties=LIFETIME, capabilities=("temporary-queue",), timeout=0)
    )


def test_a_client_can_have_a_queue_made_to_receive_from(scene, client):
    creator = temporary_queue(client)
    address = creator.target.address
    assert creator.target.dynamic
    assert creator.target.dynamic_node_properties == LIFETIME
    consumer = client.receiver(Source(address, capabilities=("temporary-queue",)))
    other = scene.amqp("other")
    other.send(other.sender(Target()), text("answer", to=address))
    assert client.bodies(consumer) == ["answer"]


def test_a_receiver_can_have_its_own_queue_made(scene, client):
    link = client.receiver(Source(dynamic=True))
    client.send(client.sender(link.source.address), text("hello"))
    assert client.bodies(link) == ["hello"]


@pytest.mark.parametrize("end", ["link", "session", "connection"])
def test_it_goes_with_the_link_that_made_it(scene, client, end):
    session = client.engine.begin()
    link = client.sender(Target(dynamic=True), session=session)
    address = link.target.address
    {"link": link.detach, "session": session.end, "connection": client.lose}[end]()
    scene.run()
    other = scene.amqp("other")
    assert other.refusal(other.sender(address)).condition == "amqp:not-found"


def test_a_consumer_of_it_is_told(scene, client):
    link = temporary_queue(client)
    consumer = client.receiver(link.target.address)
    link.detach()
    scene.run()
    assert client.refusal(consumer).condition == "amqp:resource-deleted"


def test_whoever_names_a_model_gets_a_queue_of_its_own_that_is_made_after_it(scene, client):
    scene.broker.queues.define(QueueDefinition("REPLIES", QueueKind.MODEL, max_depth=1, temporary=True))
    links = [client.receiver("REPLIES"), client.receiver("REPLIES")]
    names = [link.source.address for link in links]
    assert len(set(names)) == 2
    assert all(name.startswith("REPLIES.") for name in names)
    assert scene.broker.queues.find(names[0]).definition.max_depth == 1
    client.send(client.sender(names[1]), text("yours"))
    assert [client.bodies(link) for link in links] == [[], ["yours"]]
    links[0].detach()
    scene.run()
    assert client.refusal(client.sender(names[0])).condition == "amqp:not-found"


def test_a_queue_made_after_a_model_for_permanent_ones_stays(scene, client):
    scene.broker.queues.define(QueueDefinition("KEPT", QueueKind.MODEL))
    link = client.sender("queue://KEPT")
    name = link.target.address
    client.send(link, text("still here"))
    link.detach()
    client.lose()
    later = scene.amqp("later")
    assert later.bodies(later.receiver(name)) == ["still here"]


# -- made on first use ------------------------------------------------------------------------------------------------


@pytest.fixture
def on_demand(scene):
    scene.broker.queues.created_on_demand = ("dev.*", "test-?")
    return scene.amqp()


@pytest.mark.parametrize("name", ["dev.orders", "dev.a/b", "test-1", "dev." + "x" * 251, "queue://dev.orders"])
def test_a_queue_is_made_when_its_name_is_used(scene, on_demand, name):
    on_demand.send(on_demand.sender(name), text("first"))
    assert on_demand.bodies(on_demand.receiver(name)) == ["first"]
    made = scene.broker.queues.definition(name.removeprefix("queue://"))
    assert (made.kind, made.temporary) == (QueueKind.LOCAL, False)


def test_a_receiver_may_come_first_and_the_queue_stays(scene, on_demand):
    consumer = on_demand.receiver("dev.orders")
    on_demand.send(on_demand.sender("dev.orders"), text("first"))
    assert on_demand.bodies(consumer) == ["first"]
    on_demand.lose()
    assert scene.broker.queues.definition("dev.orders")


def test_a_message_may_say_where_it_goes(scene, on_demand):
    on_demand.send(on_demand.sender(Target()), text("first", to="dev.orders"))
    assert on_demand.bodies(on_demand.receiver("dev.orders")) == ["first"]


def test_it_has_the_attributes_of_the_model(scene, on_demand):
    scene.broker.queues.alter("SYSTEM.DEFAULT.MODEL.QUEUE", max_depth=7)
    on_demand.sender("dev.orders")
    assert scene.broker.queues.definition("dev.orders").max_depth == 7


@pytest.mark.parametrize("name", ["orders", "mydev.x", "DEV.x", "test-12", "dev.a b", "dev." + "x" * 252, "$dev.x"])
def test_other_names_are_not(scene, on_demand, name):
    assert on_demand.refusal(on_demand.sender(name)).condition == "amqp:not-found"
    assert on_demand.refusal(on_demand.receiver(name)).condition == "amqp:not-found"


def test_by_default_none_is(scene, client):
    assert client.refusal(client.sender("dev.orders")).condition == "amqp:not-found"


def test_clients_cannot_have_queues_without_end(scene, on_demand):
    scene.broker.limits = replace(scene.broker.limits, queues=len(scene.broker.queues.all()) + 1)
    on_demand.sender("dev.1")
    full = "amqp:resource-limit-exceeded"
    assert on_demand.refusal(on_demand.sender("dev.2")).condition == full
    assert on_demand.refusal(on_demand.sender(Target(dynamic=True))).condition == full
    assert on_demand.refusal(on_demand.receiver(Source("topic://a"))).condition == full
    assert scene.broker.queues.define(QueueDefinition("operators-may"))

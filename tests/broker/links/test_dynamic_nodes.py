"""Queues that clients have made for themselves."""

import pytest

from broker.links.amqp_clients import text
from heliograph.amqp import Source, Target
from heliograph.amqp.values import Described, Symbol, ULong
from heliograph.broker.queues.definition import Kind, QueueDefinition

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
    scene.broker.queues.define(QueueDefinition("REPLIES", Kind.MODEL, max_depth=1, temporary=True))
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
    scene.broker.queues.define(QueueDefinition("KEPT", Kind.MODEL))
    link = client.sender("queue://KEPT")
    name = link.target.address
    client.send(link, text("still here"))
    link.detach()
    client.lose()
    later = scene.amqp("later")
    assert later.bodies(later.receiver(name)) == ["still here"]

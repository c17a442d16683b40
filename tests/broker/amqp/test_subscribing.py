"""Subscriptions to topics, in all the ways that JMS has."""

import pytest

from broker.amqp.amqp_clients import text
from heliograph.amqp import Accepted, Attached, Detached, Source, Target
from heliograph.amqp.codec.performatives import Durability, ExpiryPolicy
from heliograph.amqp.codec.values import Described, Symbol, ULong
from heliograph.amqp.messages.message import decode_message
from heliograph.mqtt import Publish


def volatile(topic="news", capabilities=(), **more):
    return Source(topic, expiry_policy=ExpiryPolicy.LINK_DETACH, capabilities=("topic", *capabilities), **more)


def durable(topic="news", capabilities=(), **more):
    return Source(
        topic,
        durable=Durability.UNSETTLED_STATE,
        expiry_policy=ExpiryPolicy.NEVER,
        distribution_mode="copy",
        capabilities=("topic", *capabilities),
        **more,
    )


SHARED = ("shared",)
GLOBAL = ("shared", "global")
NO_LOCAL = {Symbol("no-local"): Described(Symbol("apache.org:no-local-filter:list"), [])}


def selector(condition):
    return {Symbol("jms-selector"): Described(ULong(0x0000468C00000004), condition)}


def publish(scene, *contents, topic="news", container="publisher", **fields):
    client = scene.amqp(container)
    outcomes = client.send(client.sender(topic, capabilities=("topic",)), *[text(c, **fields) for c in contents])
    assert outcomes == [Accepted()] * len(contents)
    client.engine.close()
    scene.run()


def subscriptions(scene):
    """The queues of all subscriptions."""
    return [one.name for one in scene.broker.queues.definitions(internal=True) if one.name.startswith("$subscription/")]


def unsubscribe(client, name):
    """End a durable subscription as Qpid JMS does; None, or why that was refused."""
    link = client.session.attach_receiver(name, None)
    client.scene.run()
    if link.gone:
        return client.refusal(link)
    assert link.source is not None
    link.detach(closed=True)
    client.scene.run()
    return None


# Volatile


def test_a_subscriber_gets_what_is_published(scene):
    client = scene.amqp()
    link = client.receiver(volatile())
    publish(scene, "a", "b")
    assert client.bodies(link) == ["a", "b"]


def test_each_subscriber_gets_a_copy(scene):
    client = scene.amqp()
    links = [client.receiver(volatile()), client.receiver(volatile())]
    publish(scene, "a")
    assert [client.bodies(link) for link in links] == [["a"], ["a"]]


def test_a_subscription_to_a_filter_gets_all_topics_that_match(scene):
    client = scene.amqp()
    link = client.receiver(volatile("topic://news/+/today"))
    publish(scene, "a", topic="news/sport/today")
    publish(scene, "b", topic="news/sport/yesterday")
    assert client.bodies(link) == ["a"]


@pytest.mark.parametrize("closed", [True, False])
def test_a_volatile_subscription_goes_with_its_link(scene, closed):
    client = scene.amqp()
    link = client.receiver(volatile())
    assert len(subscriptions(scene)) == 1
    link.detach(closed=closed)
    scene.run()
    assert subscriptions(scene) == []


def test_a_volatile_subscription_goes_with_its_connection(scene):
    client = scene.amqp()
    client.receiver(volatile())
    client.lose()
    assert subscriptions(scene) == []


def test_a_filter_that_is_none_is_refused(scene):
    client = scene.amqp()
    assert client.refusal(client.receiver(volatile("a/#/b"))).condition == "amqp:invalid-field"
    assert subscriptions(scene) == []


def test_a_selector_chooses_what_is_kept_for_a_subscription(scene):
    client = scene.amqp()
    link = client.receiver(volatile(filter=selector("colour = 'red'")))
    publish(scene, "r", application_properties={"colour": "red"})
    publish(scene, "b", application_properties={"colour": "blue"})
    assert client.bodies(link) == ["r"]
    assert list(link.source.filter) == ["jms-selector"]


def test_no_local_spares_a_client_its_own_messages(scene):
    client = scene.amqp("me")
    link = client.receiver(volatile(filter=NO_LOCAL))
    client.send(client.sender("news", capabilities=("topic",)), text("mine"))
    publish(scene, "theirs")
    assert client.bodies(link) == ["theirs"]


def test_mqtt_clients_and_amqp_clients_reach_each_other(scene):
    device = scene.client("device")
    device.subscribe("commands/#")
    client = scene.amqp()
    link = client.receiver(volatile("readings/#"))
    device.publish("readings/1", b"21.5")
    scene.run()
    assert client.bodies(link) == [b"21.5"]
    client.send(client.sender("topic://commands/1"), text("on"))
    (message,) = device.take()
    assert isinstance(message, Publish)
    assert (message.topic, message.payload) == ("commands/1", b"on")


def test_topics_may_be_where_messages_say_that_they_go(scene):
    client = scene.amqp()
    link = client.receiver(volatile())
    client.send(client.sender(Target()), text("a", to="topic://news"))
    assert client.bodies(link) == ["a"]


# Durable


def test_a_durable_subscription_keeps_what_comes_while_its_client_is_away(scene):
    client = scene.amqp("c")
    link = client.receiver(durable(), "sub")
    link.detach(closed=False)
    scene.run()
    publish(scene, "a", durable=True)
    again = client.receiver(durable(), "sub")
    assert client.bodies(again) == ["a"]


def test_it_survives_the_server(scene):
    client = scene.amqp("c")
    client.receiver(durable(filter=selector("JMSPriority > 3")), "sub")
    client.lose()
    publish(scene, "a", durable=True)
    scene.restart()
    client = scene.amqp("c")
    link = client.receiver(durable(filter=selector("JMSPriority > 3")), "sub")
    assert client.bodies(link) == ["a"]


def test_the_client_is_told_when_the_subscription_is_safe(scene):
    client = scene.amqp("c")
    with scene.held():
        client.session.attach_receiver("sub", durable())
        assert client.take(Attached) == []
    assert len(client.take(Attached)) == 1


def test_clients_have_subscriptions_of_the_same_name_without_sharing_them(scene):
    first, second = scene.amqp("c1"), scene.amqp("c2")
    links = [first.receiver(durable(), "sub"), second.receiver(durable(), "sub")]
    publish(scene, "a")
    assert [first.bodies(links[0]), second.bodies(links[1])] == [["a"], ["a"]]


def test_a_durable_subscription_that_is_not_shared_has_one_consumer(scene):
    first, second = scene.amqp("c"), scene.amqp("c")
    first.receiver(durable(), "sub")
    assert second.refusal(second.receiver(durable(), "sub")).condition == "amqp:resource-locked"


def test_another_topic_or_selector_makes_another_subscription_of_it(scene):
    client = scene.amqp("c")
    client.receiver(durable(), "sub").detach(closed=False)
    publish(scene, "old", durable=True)
    link = client.receiver(durable("weather"), "sub")
    publish(scene, "not wanted any more")
    publish(scene, "new", topic="weather")
    assert client.bodies(link) == ["new"]


def test_a_subscription_in_use_does_not_change(scene):
    client = scene.amqp("c")
    client.receiver(durable(capabilities=SHARED), "sub")
    link = client.receiver(durable("weather", capabilities=SHARED), "sub|2")
    assert client.refusal(link).condition == "amqp:resource-locked"


def test_closing_its_link_ends_a_durable_subscription(scene):
    client = scene.amqp("c")
    client.receiver(durable(), "sub").detach(closed=True)
    scene.run()
    assert subscriptions(scene) == []


def test_nobody_gets_at_the_queue_of_a_subscription(scene):
    client = scene.amqp("c")
    client.receiver(durable(), "sub")
    (name,) = subscriptions(scene)
    other = scene.amqp("other")
    assert other.refusal(other.receiver(name)).condition == "amqp:not-found"
    assert other.refusal(other.sender(f"queue://{name}")).condition == "amqp:not-found"


# Forgetting


def test_to_forget_a_subscription_a_client_attaches_without_a_source_and_closes(scene):
    client = scene.amqp("c")
    client.receiver(durable(filter=selector("a = 1")), "sub").detach(closed=False)
    scene.run()
    link = client.session.attach_receiver("sub", None)
    scene.run()
    assert (link.source.address, link.source.durable, list(link.source.filter)) == (
        "news", Durability.UNSETTLED_STATE, ["jms-selector"],
    )  # fmt: skip
    link.detach(closed=True)
    scene.run()
    assert subscriptions(scene) == []


def test_it_is_forgotten_when_the_client_is_told_so(scene):
    client = scene.amqp("c")
    client.receiver(durable(), "sub").detach(closed=False)
    client.take(Detached)
    link = client.session.attach_receiver("sub", None)
    scene.run()
    with scene.held():
        link.detach(closed=True)
        assert client.take(Detached) == []
    assert len(client.take(Detached)) == 1


def test_what_is_not_there_cannot_be_forgotten(scene):
    assert unsubscribe(scene.amqp("c"), "sub").condition == "amqp:not-found"


def test_what_is_in_use_cannot_be_forgotten(scene):
    client = scene.amqp("c")
    client.receiver(durable(), "sub")
    assert unsubscribe(scene.amqp("c"), "sub").condition == "amqp:resource-locked"


@pytest.mark.parametrize(("name", "capabilities"), [("sub", SHARED), ("sub|global", GLOBAL)])
def test_shared_ones_are_forgotten_in_the_same_way(scene, name, capabilities):
    client = scene.amqp("c")
    client.receiver(durable(capabilities=capabilities), name).detach(closed=False)
    scene.run()
    assert unsubscribe(client, name) is None
    assert subscriptions(scene) == []


# Shared


@pytest.mark.parametrize(
    ("source", "names", "containers"),
    [
        (durable(capabilities=SHARED), ["sub", "sub|2"], ["c", "c"]),
        (durable(capabilities=GLOBAL), ["sub|global", "sub|global2"], ["c1", "c2"]),
        (volatile(capabilities=SHARED), ["sub|volatile1", "sub|volatile2"], ["c", "c"]),
        (volatile(capabilities=GLOBAL), ["sub|global-volatile1", "sub|global-volatile2"], ["c1", "c2"]),
    ],
    ids=["durable", "durable-global", "volatile", "volatile-global"],
)
def test_sharers_divide_the_messages(scene, source, names, containers):
    clients = [scene.amqp(container) for container in containers]
    links = [client.receiver(source, name) for client, name in zip(clients, names, strict=True)]
    publish(scene, *"abcd")
    got = [client.bodies(link) for client, link in zip(clients, links, strict=True)]
    assert all(got)
    assert sorted([*got[0], *got[1]]) == [*"abcd"]


def test_a_shared_volatile_subscription_goes_with_its_last_link(scene):
    client = scene.amqp("c")
    first = client.receiver(volatile(capabilities=SHARED), "sub|volatile1")
    second = client.receiver(volatile(capabilities=SHARED), "sub|volatile2")
    first.detach()
    scene.run()
    assert len(subscriptions(scene)) == 1
    second.detach()
    scene.run()
    assert subscriptions(scene) == []


def test_durable_and_volatile_ones_of_one_name_are_two(scene):
    client = scene.amqp("c")
    client.receiver(volatile(capabilities=SHARED), "sub|volatile1")
    client.receiver(durable(capabilities=SHARED), "sub")
    assert len(subscriptions(scene)) == 2


def test_what_one_sharer_leaves_goes_to_another(scene):
    client, other = scene.amqp("c1"), scene.amqp("c2")
    source = durable(capabilities=GLOBAL)
    client.receiver(source, "sub|global")
    publish(scene, "a")
    client.lose()
    (again,) = other.messages(other.receiver(source, "sub|global"))
    assert decode_message(again.payload).delivery_count == 1


# Temporary topics


def test_a_client_can_have_a_topic_made(scene):
    client = scene.amqp()
    creator = client.sender(Target(dynamic=True, capabilities=("temporary-topic",)))
    link = client.receiver(Source(creator.target.address, capabilities=("temporary-topic",)))
    other = scene.amqp("other")
    other.send(other.sender(Target()), text("a", to=creator.target.address))
    assert client.bodies(link) == ["a"]


@pytest.mark.parametrize("name", ["x" * 3000, "x\0y"])
def test_a_name_that_cannot_be_kept_is_refused(scene, name):
    client = scene.amqp()
    link = client.session.attach_receiver(name, durable())
    scene.run()
    assert client.refusal(link).condition == "amqp:invalid-field"
    assert subscriptions(scene) == []

"""What AMQP clients make the server keep: all of it comes back when it goes, and too much of it is refused."""

import gc

import pytest

from broker.amqp.amqp_clients import text, within
from heliograph.amqp import Closed, Declare, Rejected, Source
from heliograph.amqp.codec.frames import amqp_frame
from heliograph.amqp.codec.performatives import Transfer
from heliograph.amqp.messages.message import Message, Value, encode_message

MEGABYTE = 1 << 20
LARGE = "x" * 100_000
FULL = "amqp:resource-limit-exceeded"


@pytest.fixture
def scene(make):
    """Little memory, and a queue."""
    scene = make(memory=2 * MEGABYTE)
    scene.queue()
    return scene


def rejections(states):
    """The conditions of those that were rejected."""
    return [state.error.condition for state in states if isinstance(state, Rejected)]


def transfer_of(link):
    """A large part of a message."""
    return amqp_frame(link.session.channel, Transfer(link.handle, 0, b"t", more=True).encoded() + bytes(100_000))


def test_messages_that_are_not_persistent_are_refused(scene):
    client = scene.amqp()
    link = client.sender()
    states = [state for _ in range(30) for state in client.send(link, text(LARGE))]
    refused = rejections(states)
    assert set(refused) == {FULL}
    assert 15 < len(refused) < 30


def test_units_of_work_are_refused(scene):
    client = scene.amqp()
    link = client.coordinator()
    states = []
    for _ in range(20):
        states += client.send(link, *[encode_message(Message(Value(Declare())))] * 50)
    refused = rejections(states)
    assert set(refused) == {FULL}
    assert 300 < len(refused) < 700


def test_messages_in_a_unit_of_work_are_refused(scene):
    client = scene.amqp()
    txn = client.declare(client.coordinator())
    link = client.sender()
    states = [state for _ in range(30) for state in client.send(link, text(LARGE, durable=True), state=within(txn))]
    refused = rejections(states)
    assert set(refused) == {FULL}
    assert 15 < len(refused) < 30


def test_a_message_that_does_not_end_ends_the_connection(scene):
    client = scene.amqp()
    link = client.sender()
    for _ in range(20):
        link.session.connection.write(transfer_of(link))
        scene.run()
    assert client.error.condition == FULL


def test_links_with_much_to_say_are_too_many_soon(scene):
    client = scene.amqp()
    for _ in range(20):
        if client.engine.gone:
            break
        client.receiver("q", properties={"long": "x" * 10_000})
    assert client.take(Closed)[-1].error.condition == FULL


def test_a_new_client_is_refused_when_hardly_anything_is_left(scene):
    scene.broker.memory.account("somebody", "else").add(2 * MEGABYTE - 100_000)
    assert scene.amqp().error.condition == FULL


def everything(scene):
    """A client that makes the server keep all kinds of things, and goes."""
    client = scene.amqp()
    for _ in range(5):
        client.receiver(Source(dynamic=True), credit=0)
        client.receiver("topic://t", credit=0)
    receiver = client.receiver("q", credit=3)
    coordinator, sender, topic = client.coordinator(), client.sender(), client.sender("topic://t")
    txn = client.declare(coordinator)
    for durable in (False, True):
        client.send(sender, *[text("m", durable=durable)] * 10, state=within(txn))
        client.send(sender, *[text("m", durable=durable)] * 10)
        client.send(topic, *[text("m", durable=durable)] * 10)
    assert len(client.messages(receiver)) == 3
    client.connection.receive(transfer_of(sender)[:-1])
    return client


@pytest.mark.parametrize("how", ["lost", "closed", "session"])
def test_all_of_it_comes_back(scene, how):
    memory = scene.broker.memory
    gc.disable()  # nothing may have to wait for it
    try:
        before = memory.used
        client = everything(scene)
        assert memory.used > before + 150_000
        if how == "closed":
            client.engine.close()
        elif how == "session":
            client.session.end()
        scene.run()
        client.lose()
        scene.broker.queues.delete("q")
        scene.turn_ends()
        scene.broker.turn.dirty.clear()  # nobody writes here
        scene.broker.routes.forget_all()
        del client
        assert memory.used == before - 5_002  # the queue is no more
    finally:
        gc.enable()

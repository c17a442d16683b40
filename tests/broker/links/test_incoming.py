"""Messages that clients send: where they go, and what is said of them."""

from broker.links.amqp_clients import text
from heliograph.amqp import Accepted


def test_a_message_for_a_queue_is_in_it_and_accepted(scene):
    queue = scene.queue("q")
    client = scene.amqp()
    link = client.sender("q")
    assert client.send(link, text("hello")) == [Accepted()]
    assert queue.depth == 1


def test_a_consumer_gets_it(scene):
    scene.queue("q")
    client = scene.amqp()
    client.send(client.sender("q"), text("hello"), text("world"))
    receiver = client.receiver("q")
    assert client.bodies(receiver) == ["hello", "world"]

"""Messages of MQTT that cannot be stored, though nobody knows why: nothing is acknowledged that is not stored."""

import pytest

from broker.durable_clients import durable
from heliograph.broker.core.queue_definition import QueueDefinition
from heliograph.log import message_log as ledger
from heliograph.mqtt import PubRec


@pytest.fixture
def spoilt(monkeypatch):
    """Words that the log does not take in messages."""
    words = [b"bad"]
    for name in ("encode_queue_messages", "encode_uniform_messages"):
        original = getattr(ledger, name)

        def picky(messages, receivers, original=original):
            if any(word in messages.data for word in words):
                raise RuntimeError("not this one")
            return original(messages, receivers)

        monkeypatch.setattr(ledger, name, picky)
    return words


def test_a_qos_2_message_that_a_queue_could_not_store_can_be_sent_again(scene, spoilt) -> None:
    queue = scene.broker.queues.define(QueueDefinition("q", default_persistence=True))
    scene.broker.bindings.bind("a", queue)
    client = durable(scene, "publisher")
    with pytest.raises(RuntimeError):
        client.publish("a", b"bad", 2, packet_id=7)
    assert not scene.store.trouble
    client.lose()
    assert queue.depth == 0
    spoilt.clear()
    client = durable(scene, "publisher")
    assert client.connack.session_present
    assert isinstance(client.publish("a", b"bad", 2, packet_id=7, dup=True), PubRec)
    assert queue.depth == 1
    client.publish("a", b"bad", 2, packet_id=7, dup=True)
    assert queue.depth == 1


@pytest.mark.parametrize("qos", [1, 2])
def test_a_message_that_was_sent_but_not_stored_is_the_last_that_anybody_hears_of(scene, spoilt, qos) -> None:
    subscriber = durable(scene, "subscriber")
    subscriber.subscribe("a", qos)
    publisher = durable(scene, "publisher")
    publisher.publish("a", b"fine", 1)
    with pytest.raises(RuntimeError):
        publisher.publish("a", b"bad", qos, packet_id=7)
    assert scene.store.trouble
    scene.broker.turn.end()
    scene.broker.turn.more_is_safe()
    assert subscriber.payloads() == [b"fine"]
    assert publisher.take() == []

"""Whatever bytes come, a connection ends in good order and gives back what it has."""

import itertools
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.amqp.amqp_clients import AmqpScene, text, within
from heliograph.amqp import Accepted, Coordinator, Released, Source, Target
from heliograph.amqp.codec.values import Described, Symbol, ULong


@pytest.fixture(scope="module")
def conversation():
    """What a client sends that uses everything, as pieces."""
    pieces = []
    with tempfile.TemporaryDirectory() as folder:
        scene = AmqpScene(Path(folder))
        scene.queue("q")
        client = scene.amqp_stranger()
        receive = client.connection.receive
        client.connection = _Recorder(client.connection, receive, pieces)
        client.engine.open()
        client.session = client.engine.begin()
        scene.run()
        control = client.sender(Coordinator())
        txn = client.declare(control)
        sender, relay = client.sender("q"), client.sender(Target())
        client.send(sender, text("a"), text("b", durable=True), state=within(txn))
        client.discharge(control, txn)
        client.send(relay, text("c", to="topic://news", reply_to="q"), text("x" * 100_000, to="q"))
        selector = {Symbol("jms-selector"): Described(ULong(0x0000468C00000004), "JMSPriority < 9")}
        link = client.receiver(Source("q", filter=selector, default_outcome=Released()))
        for delivery in client.messages(link)[:1]:
            link.settle(delivery.number, delivery.number, Accepted())
        client.receiver(Source("news", durable=2, expiry_policy="never", capabilities=("topic",)), "sub")
        client.sender(Target(dynamic=True)).detach()
        link.flow(5, drain=True)
        scene.run()
        scene.close()
    return b"".join(pieces)


class _Recorder:
    """Stands in for a connection, and keeps what it is sent."""

    def __init__(self, connection, receive, pieces):
        self._connection, self._receive, self._pieces = connection, receive, pieces

    def receive(self, data):
        self._pieces.append(data)
        self._receive(data)

    def __getattr__(self, name):
        return getattr(self._connection, name)


@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_a_damaged_conversation_does_no_harm(conversation, data):
    damaged = bytearray(conversation)
    places = st.integers(0, len(damaged) - 1)
    for _ in range(data.draw(st.integers(1, 4))):
        # Most of the conversation is one long message; the interesting bytes are before and behind it.
        at = data.draw(st.one_of(places, st.integers(0, 2500), st.integers(len(damaged) - 1500, len(damaged) - 1)))
        damaged[at] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(1, 5000))
    with tempfile.TemporaryDirectory() as folder:
        scene = AmqpScene(Path(folder))
        try:
            queue = scene.queue("q")
            client = scene.amqp_stranger()
            for at in itertools.chain(range(0, len(damaged), cut)):
                client.connection.receive(bytes(damaged[at : at + cut]))
                scene.turn_ends()
                client.outlet.chunks = []
                scene.broker.turn.dirty.clear()
            client.connection.lost()
            scene.turn_ends()
            assert (queue.in_flight, len(queue.consumers)) == (0, 0)
            assert scene.broker.stats.connected == 0
            assert scene.host.containers == {}
            temporary = [one for one in scene.broker.queues.definitions() if one.temporary and one.kind == "local"]
            assert temporary == []
        finally:
            scene.close()

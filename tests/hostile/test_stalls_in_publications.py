"""Single messages that go to thousands: who publishes them waits until all have them, and nobody else does."""

from contextlib import ExitStack

import pytest

from faults.amqp_peer import AmqpPeer, sender_to
from heliograph.amqp import Accepted, Source, Target
from heliograph.amqp.codec.performatives import Attach, Disposition, Durability, ExpiryPolicy, Flow, Transfer
from heliograph.amqp.messages.message import Message, Value, encode_message
from heliograph.mqtt import PubAck, Publish, SubAck, Subscribe, Subscription, encode
from heliograph.mqtt.packets import Will
from hostile.stalling import CONFIG, LONG, bystander
from plain_client import PlainClient
from running import RunningServer, Serve

LINKS = 1000
WINDOW = 1 << 30
FILTERS = tuple("/".join("t+"[index >> bit & 1] for bit in range(9)) for index in range(500))
TOPIC = "/".join("t" * 9)
"""All filters match it."""


@pytest.fixture
def server(serve: Serve) -> RunningServer:
    return serve(CONFIG)


def subscribed(server: RunningServer, stack: ExitStack, source: Source) -> AmqpPeer:
    """A client with very many subscriptions to one topic."""
    peer = stack.enter_context(AmqpPeer(server.port_of("amqp")))
    peer.socket.settimeout(LONG)
    peer.opened(*[Attach(f"s{handle}", handle, True, source=source, target=Target()) for handle in range(LINKS)])
    for _ in range(LINKS):
        peer.wait_for(Attach)
    peer.send(*[Flow(0, WINDOW, 0, WINDOW, handle, 0, 1000) for handle in range(LINKS)])
    return peer


@pytest.mark.parametrize("durable", [False, True])
def test_a_message_for_thousands_of_amqp_subscriptions(server: RunningServer, durable: bool) -> None:
    message = encode_message(Message(Value("x"), durable=durable))
    source = Source("topic://t")
    if durable:
        source = Source("topic://t", durable=Durability.UNSETTLED_STATE, expiry_policy=ExpiryPolicy.NEVER)
    with ExitStack() as stack:
        # Those that are durable belong to the client, not to its connection: one connection has them all.
        crowd = [subscribed(server, stack, source) for _ in range(1 if durable else 3)]
        with bystander(server), AmqpPeer(server.port_of("amqp")).opened(sender_to("topic://t")) as sender:
            sender.socket.settimeout(LONG)
            sender.send(Transfer(0, 0, b"0"), payload=message)
            assert isinstance(sender.wait_for(Disposition).state, Accepted)
            sender.send(*[Transfer(0, number, b"%d" % number) for number in range(1, 11)], payload=message)
            for peer in crowd:
                for _ in range(11 * LINKS):
                    peer.wait_for(Transfer)
            # The next one cannot be read before all have got the last.
            sender.send(Transfer(0, 11, b"11"), payload=message)
            last = 0
            while last < 11:
                answer = sender.wait_for(Disposition)
                assert isinstance(answer.state, Accepted)
                last = max(answer.first, answer.last or 0)


def test_a_message_and_a_will_for_thousands_of_durable_subscriptions(server: RunningServer) -> None:
    asked = encode(Subscribe(1, tuple(Subscription(one, 1) for one in FILTERS)), 5)
    number = 40

    def client(name: int) -> PlainClient:
        found = PlainClient(server.port)
        found.socket.settimeout(LONG)
        return found.connected(f"c{name}", clean_start=False, properties={"session_expiry_interval": 1000})

    for name in range(number):
        with client(name) as one:
            one.send_bytes(asked)
            assert isinstance(one.receive(), SubAck)
    present = client(0)
    with bystander(server):
        will = Will(TOPIC, b"gone", 1)
        with PlainClient(server.port).connected("publisher", will=will) as publisher:
            publisher.socket.settimeout(LONG)
            publisher.send(*[Publish(TOPIC, b"%d" % index, 1, packet_id=index) for index in (1, 2)])
            assert [publisher.receive() for _ in range(2)] == [PubAck(1), PubAck(2)]
        server.wait_until(lambda stats: stats["buffers"]["messages"] >= 3 * 500 * (number - 1), LONG)
    for one in (present, client(number - 1)):
        got = []
        while len(got) < 3 * 500:
            packet = one.receive()
            assert isinstance(packet, Publish)
            got.append(packet.payload)
            one.send(PubAck(packet.packet_id))
        assert [got.count(payload) for payload in (b"1", b"2", b"gone")] == [500] * 3
        one.close()

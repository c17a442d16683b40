"""Clients that go, and leave much to do behind."""

from contextlib import ExitStack

import pytest

from faults.amqp_peer import AmqpPeer, begin
from heliograph.amqp import Source, Target
from heliograph.amqp.codec.performatives import Attach
from heliograph.mqtt import Disconnect, PubAck, Publish
from heliograph.mqtt.packets import Will
from hostile.stalling import CONFIG, bystander
from plain_client import PlainClient
from running import RunningServer, Serve


@pytest.fixture
def server(serve: Serve) -> RunningServer:
    return serve(CONFIG)


def test_all_members_of_a_large_group_but_one_go_with_messages_in_hand(server: RunningServer) -> None:
    with ExitStack() as stack:
        crowd = [stack.enter_context(PlainClient(server.port).connected(f"c{number}")) for number in range(400)]
        for client in crowd:
            assert client.subscribe("$share/group/t", qos=1) == (1,)
        with PlainClient(server.port).connected("publisher") as publisher:
            publisher.send(*[Publish("t", b"%d" % number, qos=1, packet_id=number + 1) for number in range(2000)])
            for _ in range(2000):
                publisher.receive()
        with bystander(server):
            for client in crowd[:-1]:
                client.send(Disconnect())
            payloads: set[bytes] = set()
            while len(payloads) < 2000:
                message = crowd[-1].receive()
                assert isinstance(message, Publish)
                payloads.add(message.payload)


def test_clients_with_wills_go_by_the_thousand(server: RunningServer) -> None:
    number = 2000
    with PlainClient(server.port).connected("heir") as heir:
        heir.subscribe("will/#", qos=1)
        crowd = [
            PlainClient(server.port).connected(f"c{index}", will=Will(f"will/{index}", b"x", 1, retain=True))
            for index in range(number)
        ]
        with bystander(server):
            for client in crowd:
                client.close()
            wills: set[str] = set()
            while len(wills) < number:
                message = heir.receive()
                assert isinstance(message, Publish)
                wills.add(message.topic)
                heir.send(PubAck(message.packet_id))


def test_a_client_goes_that_has_subscriptions_with_full_buffers(server: RunningServer) -> None:
    filters = ["/".join("t+"[index >> bit & 1] for bit in range(9)) for index in range(500)]
    topic = "/".join("t" * 9)
    with PlainClient(server.port).connected("slow", properties={"receive_maximum": 1}) as slow:
        assert slow.subscribe(*filters, qos=1) == (1,) * 500
        with PlainClient(server.port).connected("publisher") as publisher:
            for number in range(400):
                assert publisher.publish(topic, b"x" * number).reason == 0
        assert server.stats()["buffers"]["messages"] > 400 * 499
        with bystander(server):
            slow.close()
            server.wait_until(lambda stats: stats["buffers"]["messages"] == 0)


def test_a_client_goes_that_has_thousands_of_links(server: RunningServer) -> None:
    with bystander(server), AmqpPeer(server.port_of("amqp")).opened() as peer:
        for channel in range(1, 8):
            peer.send(begin(), channel=channel)
        for channel in range(8):
            for first in range(0, 1000, 100):
                links = [
                    Attach(f"{channel}-{handle}", handle, True, source=Source("topic://t"), target=Target())
                    for handle in range(first, first + 100)
                ]
                peer.send(*links, channel=channel)
                for _ in links:
                    peer.wait_for(Attach)
        subscribed = server.stats()["queues"]["others"]
        assert subscribed["count"] == 8000
        peer.socket.close()
        server.wait_until(lambda stats: stats["queues"]["others"]["count"] == 0)

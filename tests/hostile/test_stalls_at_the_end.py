"""Clients that go, and leave much to do behind."""

from contextlib import ExitStack

import pytest

from faults.amqp_peer import AmqpPeer, begin
from heliograph.amqp import Source, Target
from heliograph.amqp.performatives import Attach
from heliograph.mqtt import Disconnect, Publish
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

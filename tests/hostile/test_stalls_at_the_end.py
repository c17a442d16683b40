"""Clients that go, and leave much to do behind."""

from contextlib import ExitStack

import pytest

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

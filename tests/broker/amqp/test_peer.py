"""What is known of an AMQP client while it is connected: links, answers, and how much can be written."""

import pytest

from broker.amqp.amqp_clients import text
from broker.clients import Scene
from heliograph.amqp import Accepted, Target
from heliograph.broker.amqp.host import AmqpHost
from heliograph.broker.amqp.peer import BYTES_AT_ONCE


@pytest.fixture
def client(scene):
    scene.queue("q")
    return scene.amqp()


class Link:
    """Notes what is settled."""

    def __init__(self):
        self.settled = []

    def settle(self, *what):
        self.settled.append(what)


def test_links_lead_somewhere_until_they_are_forgotten(client):
    peer, link = client.connection, Link()
    peer.connect(link, "context")
    assert (link.context, list(peer.links)) == ("context", [link])
    peer.forget(link)
    peer.forget(link)
    assert (link.context, list(peer.links)) == (None, [])


def test_what_a_client_has_made_is_its_own(scene, client):
    mine = client.sender(Target(dynamic=True)).target.address
    other = scene.amqp("other")
    queue = scene.broker.queues.find(mine)
    assert client.connection.made(queue)
    assert not other.connection.made(queue)
    assert not client.connection.made(scene.broker.queues.find("q"))


def test_answers_of_a_turn_leave_together_when_it_is_safe(scene, client):
    one, two = Link(), Link()
    with scene.held():
        client.connection.answer_when_safe(one, 1, 3, "x")
        client.connection.answer_when_safe(two, 4, 4, "y")
        assert (one.settled, two.settled) == ([], [])
        assert len(scene.broker.turn.held._turn.actions) == 1
    assert (one.settled, two.settled) == ([(1, 3, "x")], [(4, 4, "y")])


def test_a_client_that_has_gone_is_told_nothing(scene, client):
    link = Link()
    with scene.held():
        client.connection.answer_when_safe(link, 1, 1, "x")
        client.lose()
    assert link.settled == []


def test_in_memory_there_is_nothing_to_wait_for(client):
    scene = Scene()
    peer, link = client.connection, Link()
    peer.broker = AmqpHost(scene.broker, "server", lambda: 0.0).broker
    peer.answer_when_safe(link, 1, 1, "x")
    assert link.settled == [(1, 1, "x")]


def test_what_can_be_written_runs_out_and_comes_back(scene, client):
    peer = client.connection
    peer.talk()
    peer.writable_bytes = 1000
    sent = scene.broker.stats.messages_sent
    peer.sent(2, 400)
    assert peer.writable_bytes == 600
    assert not scene.broker.turn.restless
    peer.sent(1, 900)
    assert (peer.writable_bytes, scene.broker.turn.restless) == (0, True)
    assert scene.broker.stats.messages_sent == sent + 3
    scene.run()
    assert peer.writable_bytes == BYTES_AT_ONCE


def test_while_nothing_is_written_there_is_no_more_room(client):
    peer = client.connection
    peer.writable_bytes = 0
    peer.outlet.chunks.append(b"x")
    peer.talk()
    assert peer.writable_bytes == 0
    peer.outlet.chunks.clear()
    peer.talk()  # it is on the list already
    assert peer.writable_bytes == 0
    peer.flush()
    peer.outlet.chunks.clear()
    peer.talk()
    assert peer.writable_bytes == BYTES_AT_ONCE


def test_a_link_that_waits_for_its_session_is_served_when_that_has_room(scene, client):
    client.session.incoming_window = 2
    sender = scene.amqp("sender")
    sender.send(sender.sender("q"), *[text(str(n)) for n in range(6)])
    link = client.receiver("q")
    assert client.bodies(link) == [str(n) for n in range(6)]
    assert sender.send(sender.sender("q"), text("a")) == [Accepted()]

"""Connections of AMQP clients that nobody here wrote: how they come in, are kept alive, sent elsewhere and refused."""

import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from certificates import Authority
from configurations import AMQP
from interop.amqp_letters import Letter, Refused, Terminus
from interop.amqp_peers import Connect, Peer, PeerConnection, connecting, rest, take
from interop.conftest import PASSWORD, USER
from interop.proton_peer import Proton
from interop.rhea_peer import Rhea
from running import PATIENCE, SOURCE, RunningServer, servers

SOLE = ("sole-connection-for-container",)


def test_what_the_server_says_of_itself(connection: PeerConnection) -> None:
    assert {"ANONYMOUS-RELAY", "DELAYED_DELIVERY", "SHARED-SUBS"} <= set(connection.offered)
    assert connection.properties["product"] == "heliograph"
    assert connection.properties["topic-prefix"] == "topic://"


# Who comes in


def test_a_user_with_a_password(connect_peer: Connect, queue: str) -> None:
    connection = connect_peer(user=USER, password=PASSWORD)
    connection.sender(queue).send(Letter("hello"))
    assert rest(connection, queue) == ["hello"]


@pytest.mark.parametrize(("user", "password"), [(USER, "wrong"), ("nobody", PASSWORD)])
def test_a_wrong_password(connect_peer: Connect, user: str, password: str) -> None:
    with pytest.raises(Refused) as caught:
        connect_peer(user=user, password=password)
    assert caught.value.condition == "amqp:unauthorized-access"


def test_a_password_over_tls(
    connect_peer: Connect, amqp_server: RunningServer, authority: Authority, queue: str
) -> None:
    secure = {"port": amqp_server.port_of("amqps"), "authority": authority.cert}
    connection = connect_peer(user=USER, password=PASSWORD, **secure)
    body = os.urandom(500_000)
    connection.sender(queue).send(Letter(body))
    assert take(connection.receiver(queue)).body == body
    with pytest.raises(Refused):
        connect_peer(user=USER, password="wrong", **secure)


def test_a_certificate_is_a_user(
    connect_peer: Connect, amqp_server: RunningServer, authority: Authority, queue: str
) -> None:
    pair = authority.issue("lamp", "amqp-peer")
    secure = {"port": amqp_server.port_of("amqps"), "authority": authority.cert}
    connection = connect_peer(certificate=(pair.cert, pair.key), **secure)
    connection.sender(queue).send(Letter("hello"))
    assert rest(connection, queue) == ["hello"]


def test_rhea_over_websocket(rhea: Rhea, amqp_server: RunningServer, queue: str) -> None:
    port = amqp_server.port_of("ws")
    with connecting(rhea, port) as connect:
        connection = connect(websocket=f"ws://127.0.0.1:{port}/amqp")
        bodies = [os.urandom(size) for size in (0, 1, 100, 200_000)]
        assert set(connection.sender(queue).send_all([Letter(body) for body in bodies])) == {"accepted"}
        assert rest(connection, queue) == bodies


# Names


def test_a_container_that_is_to_be_alone(connect_peer: Connect) -> None:
    first = connect_peer(container="alone", desired=SOLE)
    with pytest.raises(Refused) as caught:
        connect_peer(container="alone", desired=SOLE)
    assert caught.value.condition == "amqp:invalid-field"
    assert caught.value.info == {"invalid-field": "container-id"}
    first.close()
    connect_peer(container="alone", desired=SOLE)


def test_a_container_that_does_not_mind(connect_peer: Connect) -> None:
    for _ in range(2):
        connect_peer(container="several")


def test_the_name_of_a_queue_manager_leads_there(connect_peer: Connect) -> None:
    with pytest.raises(Refused) as caught:
        connect_peer(hostname="ELSEWHERE")
    assert caught.value.condition == "amqp:connection:redirect"
    info = caught.value.info
    assert (info["network-host"], info["scheme"]) == ("127.0.0.1", "amqp")
    there = connect_peer(port=int(info["port"]), hostname=info["hostname"])
    there.sender("there").send(Letter("found"))
    assert rest(there, "there") == ["found"]


def test_a_queue_manager_that_is_not_there_is_nobody(connect_peer: Connect) -> None:
    with pytest.raises(Refused) as caught:
        connect_peer(hostname="NOPE")
    assert caught.value.condition == "amqp:not-found"
    assert "there is no queue manager NOPE, only heliograph, ELSEWHERE" in str(caught.value)


@pytest.mark.parametrize(
    "name", ["127.0.0.1", "::1", "localhost", "mq.example.com", "heliograph", socket.gethostname()]
)
def test_a_name_of_this_machine_is_the_server_itself(connect_peer: Connect, name: str) -> None:
    assert connect_peer(hostname=name).properties["product"] == "heliograph"


# Much at once


def test_many_sessions_and_links(connection: PeerConnection, queue: str) -> None:
    sessions = [connection.session() for _ in range(100)]
    receivers = [session.receiver(queue, credit=1) for session in sessions]
    senders = [session.sender(queue) for session in sessions[:25] for _ in range(4)]
    for number, sender in enumerate(senders):
        assert sender.send(Letter(number)).outcome == "accepted"
    assert sorted(take(receiver).body for receiver in receivers) == list(range(100))


def test_more_sessions_than_the_server_takes(rhea: Rhea, amqp_server: RunningServer) -> None:
    with connecting(rhea, amqp_server.port_of("amqp")) as connect:  # Proton keeps to what it is told
        connection = connect()
        for _ in range(257):
            connection.session()
        assert connection.ended() is not None


def test_the_management_node_answers(connection: PeerConnection, queue: str) -> None:
    replies = connection.receiver(Terminus(None, dynamic=True))
    request = Letter(
        {"name": queue}, reply_to=replies.address, message_id="m-1", properties={"operation": "queue-show"}
    )
    assert connection.sender("$management").send(request).outcome == "accepted"
    answer = take(replies)
    assert (answer.properties["status"], answer.correlation_id) == (200, "m-1")
    assert (answer.body["name"], answer.body["depth"]) == (queue, 0)


def test_many_links_of_one_session(connection: PeerConnection, queue: str) -> None:
    session = connection.session()
    senders = [session.sender(queue) for _ in range(500)]
    assert {sender.send(Letter("x")).outcome for sender in senders[::50]} == {"accepted"}
    session.end()
    assert len(rest(connection, queue)) == 10


def test_many_connections(connect_peer: Connect, queue: str) -> None:
    connections = [connect_peer() for _ in range(50)]
    for connection in connections:
        connection.sender(queue).send(Letter("x"))
    assert len(rest(connections[0], queue)) == 50


# Silence


def test_a_client_that_wants_to_hear_something_does(connect_peer: Connect, queue: str) -> None:
    connection = connect_peer(idle=800)
    assert connection.receiver(queue).get(1.8) is None
    assert connection.sender(queue).send(Letter("still here")).outcome == "accepted"


_IMPATIENT = "import heliograph.broker.amqp.host as host; host.IDLE_TIMEOUT = 800"


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server that cuts clients off after 0.8 seconds of silence, and knows of others to go to.

    The first is not in the configuration, so its process gets it from a module that Python runs first.
    """
    folder: Path = tmp_path_factory.mktemp("impatient")
    (folder / "sitecustomize.py").write_text(_IMPATIENT)
    config = """
        log.level = "warning"
        http.port = 0
        server.failover = ["amqp://other.example:5673", "amqps://third.example"]
        listener = [{ protocol = "amqp", port = 0 }]
        queue = [{ name = "q" }]
    """
    with servers(folder) as start:
        yield start(config, PYTHONPATH=f"{folder}:{SOURCE}")


def test_a_client_with_nothing_to_say_stays(peer: Peer, impatient: RunningServer) -> None:
    with connecting(peer, impatient.port_of("amqp")) as connect:
        connection = connect()
        assert connection.ended(2.0) is None
        assert connection.sender("q").send(Letter("still here")).outcome == "accepted"


def test_a_silent_client_is_cut_off_and_what_it_had_comes_again(proton: Proton, impatient: RunningServer) -> None:
    with connecting(proton, impatient.port_of("amqp")) as connect:
        silent = connect()
        silent.sender("q").send(Letter("x", properties={"mine": True}))
        delivery = silent.receiver("q", credit=10).get()
        assert delivery is not None
        time.sleep(1.2)
        other = connect()
        receiver = other.receiver("q")
        while (letter := take(receiver)).properties != {"mine": True}:
            pass
        assert letter.delivery_count == 1
        assert silent.ended() == "amqp:resource-limit-exceeded"


def test_where_else_to_go(peer: Peer, impatient: RunningServer) -> None:
    with connecting(peer, impatient.port_of("amqp")) as connect:
        told = connect().properties["failover-server-list"]
    assert [(it["network-host"], it["port"], it["scheme"]) for it in told] == [
        ("other.example", 5673, "amqp"),
        ("third.example", 5671, "amqps"),
    ]


def test_a_server_that_stops_says_so(peer: Peer, tmp_path: Path) -> None:
    with servers(tmp_path) as start:
        server = start(AMQP)
        with connecting(peer, server.port_of("amqp")) as connect:
            connection = connect()
            server.stop()
            assert connection.ended(PATIENCE) == "amqp:connection:forced"

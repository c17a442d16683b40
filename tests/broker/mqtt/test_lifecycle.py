"""The states of a connection: new, waiting, open and ended, and never back."""

import pytest

from broker.clients import Scene
from heliograph.broker.mqtt.lifecycle import CONNECT_SIZE, ENDED, NEW, OPEN, VERSIONS, WAITING
from heliograph.mqtt import ConnAck, Connect, Disconnect, PingReq, PingResp, Publish, Reason, Will, encode


class LateAuthenticator:
    """Lets the test decide."""

    anonymous = True
    proven_user = None

    def check(self, outlet, user, password, verdict):
        self.verdict = verdict


class Journal:
    """Notes what it is told."""

    def __init__(self):
        self.told = []

    def __getattr__(self, name):
        return lambda *what, **more: self.told.append((name, what[1:] if name in {"admitted", "refused"} else what))


@pytest.fixture
def scene():
    scene = Scene()
    scene.journal = scene.broker.journal = scene.broker.services.journal = Journal()
    return scene


@pytest.fixture
def late():
    return LateAuthenticator()


@pytest.mark.parametrize("version", VERSIONS)
def test_a_connection_is_new_waits_is_open_and_ends(scene, late, version):
    client = scene.stranger(version, late)
    states = [client.connection.state]
    client.send(Connect("c", version))
    states.append(client.connection.state)
    late.verdict(Reason.SUCCESS, "", "me")
    states.append(client.connection.state)
    client.disconnect()
    states.append(client.connection.state)
    assert states == [NEW, WAITING, OPEN, ENDED]
    assert [name for name, _ in scene.journal.told] == ["admitted", "ended"]
    assert scene.broker.stats.connected == 0


def test_what_comes_while_it_waits_is_taken_when_it_is_let_in(scene, late):
    reader = scene.client("r")
    reader.subscribe("a")
    client = scene.stranger(5, late)
    client.send(Connect("c", 5), Publish("a", b"1"))
    client.send(Publish("a", b"2"), PingReq())
    assert reader.take() == []
    late.verdict(Reason.SUCCESS, "", None)
    assert reader.payloads() == [b"1", b"2"]
    assert [type(packet) for packet in client.take()] == [ConnAck, PingResp]


def test_too_much_while_it_waits_is_the_end(scene, late):
    client = scene.stranger(5, late)
    client.send(Connect("c", 5))
    for _ in range(2):
        client.send_bytes(bytes(CONNECT_SIZE // 2 + 1))
    assert client.connection.state is ENDED
    late.verdict(Reason.SUCCESS, "", None)  # comes too late
    assert client.connection.state is ENDED
    assert scene.broker.sessions == {}


@pytest.mark.parametrize(("version", "told"), [(4, 5), (5, Reason.NOT_AUTHORIZED)])
def test_a_refusal_is_told_and_is_the_end(scene, late, version, told):
    client = scene.stranger(version, late)
    client.send(Connect("c", version))
    late.verdict(Reason.NOT_AUTHORIZED, "go away", None)
    (connack,) = client.take()
    assert connack.reason == told
    assert connack.properties == ({"reason_string": "go away"} if version == 5 else {})
    assert client.connection.state is ENDED
    assert scene.broker.stats.refused == 1
    assert scene.journal.told == [("refused", ("NOT_AUTHORIZED", "go away"))]


def test_whoever_goes_while_it_waits_is_not_let_in(scene, late):
    client = scene.stranger(5, late)
    client.send(Connect("c", 5))
    client.lose()
    late.verdict(Reason.SUCCESS, "", None)
    assert (client.connection.state, scene.broker.sessions, client.take()) == (ENDED, {}, [])


def test_whoever_goes_while_connack_is_not_safe_is_not_welcomed(make):
    scene = make()
    with scene.held():
        client = scene.stranger(5)
        client.send(Connect("c", 5, properties={"session_expiry_interval": 60}))
        assert client.connection.state is WAITING
        client.lose()
    assert (client.connection.state, client.take()) == (ENDED, [])
    assert scene.broker.stats.connected == 0


@pytest.mark.parametrize(
    ("first", "told"),
    [
        (encode(PingReq(), 4), []),
        (b"\x10\x0c\x00\x04MQTT\x09\x02\x00\x00\x00\x00", [1]),  # a version that there is not
        (b"\x10\x0c\x00\x04MQTT\x04\x01\x00\x00\x00\x00", []),  # reserved flag: no code for that
        (b"\x20\x02\x00\x00", []),
    ],
)
def test_what_is_no_connect_is_answered_only_where_there_is_a_code(scene, first, told):
    client = scene.stranger(4)
    client.send_bytes(first)
    assert [packet.reason for packet in client.take()] == told
    assert client.connection.state is ENDED


def test_a_second_connect_is_the_end(scene):
    client = scene.client("c")
    client.send(Connect("c", 5))
    (end,) = client.take()
    assert end.reason is Reason.PROTOCOL_ERROR


@pytest.mark.parametrize("packet", [ConnAck(), Disconnect(Reason.SERVER_BUSY)])
def test_packets_that_only_servers_send_are_the_end(scene, packet):
    client = scene.client("c")
    client.send_bytes(encode(packet, 5))
    assert client.connection.state is ENDED


# The end


@pytest.mark.parametrize(
    ("how", "published"),
    [
        (lambda client: client.lose(), True),
        (lambda client: client.disconnect(), False),
        (lambda client: client.disconnect(Reason.DISCONNECT_WITH_WILL), True),
        (lambda client: client.connection.end(Reason.ADMINISTRATIVE_ACTION, "", publish_will=True), True),
        (lambda client: client.connection.end(Reason.SERVER_SHUTTING_DOWN, ""), False),
    ],
)
def test_a_will_is_published_unless_the_client_took_leave(scene, how, published):
    reader = scene.client("r")
    reader.subscribe("will")
    client = scene.client("c", will=Will("will", b"gone"))
    how(client)
    client.connection.lost()  # and then the network connection is gone, which changes nothing
    client.connection.end(Reason.UNSPECIFIED_ERROR, "")
    assert reader.payloads() == ([b"gone"] if published else [])
    assert [name for name, _ in scene.journal.told].count("ended") == 1


@pytest.mark.parametrize(("asked", "expiry"), [(0, 0), (5, 5), (1000, 50)])
def test_a_client_may_say_at_the_end_how_long_it_is_remembered(asked, expiry):
    scene = Scene(session_expiry_max=50)
    client = scene.client("c", session_expiry_interval=20)
    client.disconnect(session_expiry_interval=asked)
    assert client.outlet.left
    if expiry:
        scene.pass_time(expiry - 1)
        assert "c" in scene.broker.sessions
        scene.pass_time(1)
    assert "c" not in scene.broker.sessions


def test_a_session_that_was_not_to_outlive_its_connection_cannot_be_made_to(scene):
    client = scene.client("c")
    client.disconnect(session_expiry_interval=5)
    (end,) = client.take()
    assert end.reason is Reason.PROTOCOL_ERROR


@pytest.mark.parametrize(("wants", "told"), [(1, {"reason_string": "x" * 200}), (0, {})])
def test_reasons_are_told_shortly_to_those_who_want_to_know(scene, wants, told):
    client = scene.client("c", request_problem_information=wants)
    client.connection.end(Reason.ADMINISTRATIVE_ACTION, "x" * 500)
    assert client.take() == [Disconnect(Reason.ADMINISTRATIVE_ACTION, told)]


# Pauses and time-outs


def test_a_client_that_is_paused_gets_nothing_until_it_goes_on(scene):
    client = scene.client("c")
    client.subscribe("a")
    client.connection.pause()
    scene.client("p").publish("a", b"1")
    assert client.take() == []
    client.connection.resume()
    assert client.payloads() == [b"1"]


def test_who_has_ended_does_not_go_on(scene):
    client = scene.client("c")
    client.lose()
    client.connection.resume()
    assert not client.outlet.open


def test_no_connect_in_time_is_the_end_and_says_nothing(scene):
    client = scene.stranger()
    scene.pass_time(10)
    assert (client.connection.state, client.take()) == (ENDED, [])


def test_a_connection_that_has_ended_leaves_no_timer(scene):
    for _ in range(3):
        scene.client("c", keep_alive=5).disconnect()
    assert [timer for timer in scene.broker.timers._heap if timer[2] is not None] == []


def test_a_client_that_waits_for_the_server_is_not_silent(scene):
    client = scene.client("c", keep_alive=10)
    client.connection.publishing = True
    scene.pass_time(20)
    assert client.connection.state is OPEN
    client.connection.publishing = False
    scene.pass_time(20)
    assert client.connection.state is ENDED

"""`helio sub` when its connection is lost, and when nobody reads what it prints."""

import socket

import pytest

from configurations import PAGES, listener
from heliograph.mqtt import (
    ConnAck,
    Connect,
    Disconnect,
    PubComp,
    Publish,
    PubRec,
    PubRel,
    Reason,
    SubAck,
    Subscribe,
)


def subscribe(broker, server, *options):
    """Run `helio sub` on another server to its end."""
    return broker.helio("sub", "-t", "a/#", *options, address=["-h", "127.0.0.1", "-p", str(server.port)])


class Visits:
    """A script with a list of answers for each connection: what follows SUBSCRIBE, or comes instead of CONNACK."""

    def __init__(self, *visits, session_present=False):
        self._visits = list(visits)
        self._now = []
        self._session_present = session_present
        self.count = 0
        self.others = []

    def __call__(self, packet):
        match packet:
            case Connect():
                self._now = self._visits.pop(0)
                self.count += 1
                if isinstance(self._now, ConnAck):
                    return [self._now]
                return [ConnAck(session_present=self._session_present and self.count > 1)]
            case Subscribe():
                return [SubAck(packet.packet_id, (2,)), *self._now]
        self.others.append((self.count, packet))
        match packet:
            case PubRec() if not self._now[-1].dup:
                return None
            case PubRec():
                return [PubRel(packet.packet_id)]
            case PubComp():
                return [Publish("a/2", b"two")]
        return []


def test_it_connects_and_subscribes_again_when_the_server_comes_back(serve, broker):
    server = serve()
    where = ["-h", "127.0.0.1", "-p", str(server.port)]
    subscriber = broker.start_subscribed("-v", "-t", "a/#", "-C", "2", address=where)
    broker.helio("pub", "-q", "1", "-t", "a/1", "-m", "x", address=where)
    assert subscriber.line() == b"a/1 x"
    server.stop()
    subscriber.wait_for("lost: the server closed it; trying again every 1 s")
    serve(listener(port=where[-1]) + PAGES)
    subscriber.wait_for("helio sub: connected again")
    broker.helio("pub", "-q", "1", "-t", "a/2", "-m", "x", address=where)
    assert subscriber.end()[:2] == (0, b"a/2 x\n")


def test_without_a_server_to_begin_with_it_ends_unless_it_is_told_to_retry(broker):
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    where = ["-h", "127.0.0.1", "-p", str(port)]
    status, out, err = broker.helio("sub", "-t", "a", address=where)
    assert (status, out) == (1, b"")
    assert (
        err
        == f"helio sub: cannot connect to 127.0.0.1:{port}: connection refused: nothing listens on 127.0.0.1:{port}\n"
    )
    status, out, err = broker.helio("sub", "-t", "a", "--retry", "-W", "1.5", address=where)
    assert (status, out, err.count("\n")) == (27, b"", 1)  # told once, not for each attempt


def test_retry_waits_for_the_server(broker, scripted_server):
    visits = Visits(ConnAck(reason=Reason.SERVER_UNAVAILABLE), [Publish("a/1", b"one")])
    server = scripted_server(visits)
    status, out, _ = subscribe(broker, server, "-V", "5", "--retry", "-C", "1")
    assert (status, out, visits.count) == (0, b"one\n", 2)


def test_a_message_of_qos_2_is_printed_once_though_the_connection_broke_between(broker, scripted_server):
    first, again = Publish("a/1", b"one", 2, packet_id=7), Publish("a/1", b"one", 2, dup=True, packet_id=7)
    visits = Visits([first], [again], session_present=True)
    server = scripted_server(visits)
    status, out, _ = subscribe(broker, server, "-V", "5", "-q", "2", "-c", "-i", "me", "-C", "2")
    assert (status, out) == (0, b"one\ntwo\n")
    assert [type(packet) for visit, packet in visits.others if visit == 2][:2] == [PubRec, PubComp]


@pytest.mark.parametrize("reason", [Reason.SESSION_TAKEN_OVER, Reason.NOT_AUTHORIZED])
def test_whoever_is_sent_away_for_good_does_not_come_back(broker, scripted_server, reason):
    visits = Visits([Disconnect(reason)])
    server = scripted_server(visits)
    status, _, err = subscribe(broker, server, "-V", "5")
    assert (status, visits.count) == (1, 1)
    assert "disconnected by the server" in err


def test_it_ends_quietly_as_soon_as_its_reader_has_gone(broker):
    broker.mosquitto_pub("-t", "a/1", "-m", "x", "-r")
    subscriber = broker.start_helio("sub", "-t", "a/#")
    assert subscriber.line() == b"x"
    subscriber.stop_reading()  # as `head -1` does; no other message follows
    assert subscriber.end() == (0, b"", "")

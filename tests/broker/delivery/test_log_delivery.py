"""Messages for durable subscriptions: stored once for all, sent when safe, read back when there is room."""

from itertools import chain

import pytest

from broker.durable_clients import durable, subscriber
from heliograph.broker.core.mixed_span import MixedSpan
from heliograph.broker.core.slices import SLICE
from heliograph.broker.core.span import Span, message
from heliograph.broker.delivery import log_delivery
from heliograph.broker.sessions.spool import Spool
from heliograph.errors import StorageError
from heliograph.mqtt import Publish, encode


def run(first, count, qos=1, expires=0.0, retain=False):
    """Messages whose payloads are numbers."""
    data = b"".join([b"%04d" % (first + n) for n in range(count)])
    return Span(b"a", data, count, head=0, qos=qos, id_at=0, version5=False, verbatim=False, expires=expires,
                retain=retain)  # fmt: skip


def deliver(scene, span, publisher=None):
    found = scene.broker.delivery.log.deliver(span, scene.broker.routes.find(b"a", 32), publisher)
    scene.turn_ends()
    return found


def numbers(client):
    return [int(payload) for payload in client.payloads()]


def spool_of(scene, client_id="s"):
    (one,) = scene.broker.sessions[client_id].subscriptions.values()
    return one.spool


def test_nothing_is_sent_before_it_is_safe(scene):
    client = subscriber(scene)
    with scene.held():
        assert deliver(scene, run(0, 3)) == (3, 3)
        assert client.take() == []
    assert numbers(client) == [0, 1, 2]


def test_what_the_window_has_no_room_for_is_read_back(scene):
    client = durable(scene, "s", receive_maximum=2)
    client.subscribe("a", 1)
    deliver(scene, run(0, 5))
    got = client.messages()
    assert [int(m.payload) for m in got] == [0, 1]
    assert spool_of(scene).count == 3
    client.acknowledge(*got)
    assert numbers(client) == [2, 3]


def test_where_some_have_less_room_a_record_is_for_those_who_take_all_of_it(make):
    scene = make(max_messages=4)
    for name in ("empty", "fuller"):
        subscriber(scene, name).lose()
    spool_of(scene, "fuller").put(100, 102)  # as if two more waited
    assert deliver(scene, run(0, 4)) == (4, 4)
    assert (spool_of(scene, "empty").count, spool_of(scene, "fuller").count) == (4, 4)
    assert spool_of(scene, "fuller").rejected == 2
    assert scene.broker.stats.rejected == 2
    assert numbers(durable(scene, "empty")) == [0, 1, 2, 3]


def test_what_nobody_has_room_for_is_retained_all_the_same(make):
    scene = make(max_messages=1)
    subscriber(scene).lose()
    deliver(scene, run(0, 1))
    end = scene.store.ledger.end
    assert deliver(scene, run(1, 1)) == (0, 0)
    assert scene.store.ledger.end == end
    deliver(scene, run(2, 1, retain=True))
    assert scene.store.ledger.end > end


def test_a_publisher_that_wants_nothing_back_gets_nothing(scene):
    client = durable(scene, "s")
    client.subscribe("a", 1, no_local=True)
    taken, _ = deliver(scene, run(0, 2), client.connection.session)
    assert taken == 2
    assert client.take() == []
    assert deliver(scene, run(2, 1)) == (1, 1)
    assert numbers(client) == [2]


def test_what_expires_while_it_waits_is_not_sent(scene):
    subscriber(scene).lose()
    deliver(scene, run(0, 2, expires=scene.now + 5))
    deliver(scene, run(2, 1))
    scene.now += 6
    assert numbers(durable(scene, "s")) == [2]
    assert scene.broker.stats.expired == 2
    assert spool_of(scene).expired == 2


def test_what_is_too_large_for_the_client_is_left_out(scene):
    subscriber(scene).lose()
    deliver(scene, message(b"a", b"x" * 500, qos=1))
    deliver(scene, run(7, 1))
    client = durable(scene, "s", maximum_packet_size=100)
    assert numbers(client) == [7]
    assert scene.broker.stats.too_large == 1
    assert spool_of(scene).cursor.pending == 1  # what is on its way


@pytest.mark.parametrize("properties", [{}, {"maximum_packet_size": 1000}])
def test_messages_of_many_clients_are_sent_one_by_one_where_each_has_to_be_looked_at(scene, properties):
    subscriber(scene).lose()
    packets = [encode(Publish("a", b"%d" % n, 1, packet_id=1), 4) for n in range(3)]
    deliver(scene, MixedSpan.of_packets(packets, [5] * 3, [7] * 3, qos=1, version5=False))
    assert numbers(durable(scene, "s", **properties)) == [0, 1, 2]


def come_back_unreadable(scene, monkeypatch):
    """A client comes back while nothing can be read, and gets nothing; and what the journal was told."""
    told = []
    monkeypatch.setattr(scene.broker.journal, "unreadable", lambda *what: told.append(what))

    def fail(self, offset):
        raise StorageError("broken")

    with monkeypatch.context() as broken:
        broken.setattr(Spool, "find", fail)
        client = durable(scene, "s")
        assert client.take() == []
    return client, told


def test_what_cannot_be_read_waits_and_is_told(scene, monkeypatch):
    subscriber(scene).lose()
    deliver(scene, run(0, 2))
    client, told = come_back_unreadable(scene, monkeypatch)
    assert told[0] == ("s", "broken")
    client.connection.resume()
    assert numbers(client) == [0, 1]


def test_a_flight_that_cannot_be_read_is_sent_again_later(scene, monkeypatch):
    client = subscriber(scene)
    deliver(scene, run(0, 2))
    client.take()
    client.lose()
    client, told = come_back_unreadable(scene, monkeypatch)
    assert set(told) == {("s", "broken")}
    client.connection.resume()
    again = client.messages()
    assert [(int(m.payload), m.dup) for m in again] == [(0, True), (1, True)]


def test_clients_that_wait_for_what_is_not_safe_get_it_some_at_a_time(scene, monkeypatch):
    monkeypatch.setattr(log_delivery, "_PUMPED_AT_ONCE", 2)
    delivery = scene.broker.delivery.log
    pumped = []

    def pump(session):
        pumped.append(session)
        scene.now += SLICE

    monkeypatch.setattr(delivery, "_pump_session", pump)
    sessions = [durable(scene, f"c{n}").connection.session for n in range(5)]
    delivery.stalled = dict.fromkeys(sessions)
    delivery.go_on()
    assert pumped == sessions[:2]
    scene.run_slices()
    assert pumped == sessions


def test_a_client_or_group_that_fails_keeps_no_other_from_its_messages(scene, monkeypatch, failures):
    scene.broker.defects._journal = failures
    delivery = scene.broker.delivery.log
    broken, fine = (durable(scene, name).connection.session for name in ("broken", "fine"))
    member = subscriber(scene, "m", "$share/g/a")
    (group,) = scene.broker.subscriptions.groups.values()
    pumped = []

    def pump(session):
        if session is broken:
            raise RuntimeError
        pumped.append(session)

    monkeypatch.setattr(delivery, "_pump_session", pump)
    monkeypatch.setattr(delivery, "deal", lambda group: 1 / 0)
    delivery.stalled, delivery.stalled_groups = {broken: None, fine: None}, {group: None}
    delivery.go_on()
    assert pumped == [fine]
    assert [what for what, _ in failures.seen] == [
        "messages for the shared subscription g could not be sent",
        "messages that are safe could not be sent",
    ]
    assert failures.seen[1][1] is broken.outlet
    assert member.take() == []


def test_sharers_get_equal_parts_of_what_is_safe(scene):
    clients = [subscriber(scene, f"c{n}", "$share/g/a") for n in range(3)]
    deliver(scene, run(0, 9))
    got = [numbers(client) for client in clients]
    assert sorted(map(len, got)) == [3, 3, 3]
    assert sorted(chain.from_iterable(got)) == list(range(9))


def test_if_it_is_not_known_what_was_stored_nothing_more_is(scene, monkeypatch):
    subscriber(scene)
    route = scene.broker.routes.find(b"a", 32)
    monkeypatch.setattr(type(scene.store), "keep", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        scene.broker.delivery.log.deliver(run(0, 1), route, None)
    assert scene.store.ledger.halted


def test_what_was_for_nobody_can_fail_without_harm(scene, monkeypatch):
    monkeypatch.setattr(type(scene.store), "keep", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        scene.broker.delivery.log.deliver(run(0, 1, retain=True), scene.broker.routes.find(b"a", 32), None)
    assert not scene.store.ledger.halted


# What is sent again after a reconnect


def mixed(scene, *payloads):
    """Messages of several clients in one span, for all who want them."""
    packets = [encode(Publish("a", payload, 1, packet_id=1), 4) for payload in payloads]
    ends, heads = [5] * len(packets), [7] * len(packets)
    deliver(scene, MixedSpan.of_packets(packets, ends, heads, qos=1, version5=False))


def test_messages_of_many_clients_are_sent_again_one_by_one_where_each_has_to_be_looked_at(scene):
    client = subscriber(scene)
    mixed(scene, b"1", b"2" * 50, b"3")
    assert len(client.messages()) == 3
    client.lose()
    again = durable(scene, "s", maximum_packet_size=40)
    assert [(m.payload, m.packet_id, m.dup) for m in again.messages()] == [(b"1", 1, True), (b"3", 3, True)]
    assert scene.broker.stats.too_large == 1
    assert scene.broker.sessions["s"].window.in_flight == 2
    assert spool_of(scene).cursor.pending == 2


def test_as_much_is_sent_again_as_the_client_takes(scene):
    client = subscriber(scene)
    deliver(scene, run(0, 5))
    client.take()
    client.lose()
    again = durable(scene, "s", receive_maximum=2)
    first = again.messages()
    assert [(int(m.payload), m.packet_id) for m in first] == [(0, 1), (1, 2)]
    again.acknowledge(*first)
    rest = again.messages()
    assert [(int(m.payload), m.packet_id, m.dup) for m in rest] == [(2, 3, True), (3, 4, True)]

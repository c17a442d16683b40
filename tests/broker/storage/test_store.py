"""A broker with a store: what it has acknowledged outlives it, and it acknowledges nothing that would not."""

import pytest

from broker.durable_clients import BOTH, DAY, durable, kinds, subscriber
from heliograph.broker.core.outlet import Outlet
from heliograph.broker.storage import offline_sessions, record_kinds
from heliograph.broker.storage.store import ACKS_WAIT_MOST, WAITING_MOST
from heliograph.broker.storage.streams import StreamOptions, Streams
from heliograph.log import maintenance as upkeep
from heliograph.log.log_kinds import ACKS, MESSAGES
from heliograph.log.record import HEADER_SIZE, padded
from heliograph.mqtt import (
    ConnAck,
    PubAck,
    PubComp,
    Publish,
    PubRec,
    PubRel,
    Reason,
    SubAck,
    Subscribe,
    Subscription,
    UnsubAck,
    Unsubscribe,
)

MARK = padded(HEADER_SIZE)
"""Bytes of the start of a batch."""

# What is held until it is safe


def test_a_durable_session_is_welcomed_when_it_is_safe(scene) -> None:
    with scene.held():
        client = scene.stranger(5)
        client.connect("s", clean=False, session_expiry_interval=DAY)
        assert client.take() == []
    assert kinds(client) == [ConnAck]


def test_what_a_client_sends_before_connack_is_taken_afterwards(scene) -> None:
    with scene.held():
        client = scene.stranger(5)
        client.connect("s", clean=False, session_expiry_interval=DAY)
        client.send(Subscribe(1, (Subscription("a", 1),)))
        assert client.take() == []
    assert kinds(client) == [ConnAck, SubAck]


def test_a_session_that_ends_with_its_connection_waits_for_nothing(scene) -> None:
    with scene.held():
        client = scene.client("s")
        assert client.connack is not None
        assert client.subscribe("a", 1) == 1
        assert client.unsubscribe("a") == (Reason.SUCCESS,)


def test_subscribing_is_acknowledged_when_it_is_safe(scene) -> None:
    client = durable(scene, "s")
    with scene.held():
        client.send(Subscribe(1, (Subscription("a", 1),)))
        assert client.take() == []
    assert kinds(client) == [SubAck]
    with scene.held():
        client.send(Unsubscribe(1, ("a",)))
        assert client.take() == []
    assert kinds(client) == [UnsubAck]


@pytest.mark.parametrize(("qos", "answer"), [(1, PubAck), (2, PubRec)])
def test_a_stored_message_is_acknowledged_and_delivered_when_it_is_safe(scene, qos, answer) -> None:
    receiver = subscriber(scene, qos=qos)
    publisher = scene.client("p")
    with scene.held():
        publisher.send(Publish("a", b"x", qos, packet_id=1))
        assert publisher.take() == []
        assert receiver.take() == []
    assert kinds(publisher) == [answer]
    assert receiver.payloads() == [b"x"]


def test_acknowledgements_keep_their_order(scene) -> None:
    subscriber(scene, topic_filter="stored")
    publisher = scene.client("p")
    with scene.held():
        for packet_id, topic in enumerate(("nobody", "stored", "nobody", "stored"), 1):
            publisher.send(Publish(topic, b"x", 1, packet_id=packet_id))
        assert [packet.packet_id for packet in publisher.take()] == [1]
    assert [packet.packet_id for packet in publisher.take()] == [2, 3, 4]


def test_messages_without_durable_receivers_are_not_stored(scene) -> None:
    volatile = scene.client("v")
    volatile.subscribe("a", 1)
    subscriber(scene, topic_filter="b")
    publisher = scene.client("p")
    end = scene.store.ledger.end
    with scene.held():
        assert publisher.publish("a", b"1", 1).packet_id == 1
        assert publisher.publish("nobody", b"2", 2).packet_id == 2
        publisher.publish("b", b"3", 0)
        assert volatile.payloads() == [b"1"]
    assert scene.store.ledger.end == end


def test_pubrel_to_a_durable_publisher_is_answered_when_it_is_safe(scene) -> None:
    publisher = durable(scene, "p")
    publisher.publish("a", b"x", 2)
    with scene.held():
        publisher.send(PubRel(1))
        assert publisher.take() == []
    assert kinds(publisher) == [PubComp]


def test_pubrel_to_a_durable_receiver_leaves_when_it_is_safe(scene) -> None:
    receiver = subscriber(scene, qos=2)
    scene.client("p").publish("a", b"x", 2)
    (message,) = receiver.messages()
    with scene.held():
        receiver.send(PubRec(message.packet_id))
        assert receiver.take() == []
    assert receiver.take() == [PubRel(message.packet_id)]


def test_a_crash_before_it_is_safe_takes_back_what_nobody_was_told_of(scene) -> None:
    subscriber(scene).disconnect()
    publisher = scene.client("p")
    scene.stop_the_clock_of_the_log()
    publisher.send(Publish("a", b"x", 1, packet_id=1))
    assert publisher.take() == []
    scene.restart()
    assert durable(scene, "s").messages() == []


def test_acknowledgements_that_nobody_waits_for_are_written_with_what_comes_next(scene) -> None:
    receiver, publisher, ledger = subscriber(scene), scene.client("p"), scene.store.ledger
    publisher.publish("a", b"first", 1)
    with scene.held():
        receiver.acknowledge(*receiver.messages())
        end = ledger.end
        scene.broker.turn.end()
        assert ledger.end == end
        publisher.send(Publish("a", b"second", 1, packet_id=7))
        scene.broker.turn.end()
        assert not ledger.has_unwritten
        assert ledger.wait()
    messages, acks = ledger.log.records(end + MARK)
    assert [messages.kind, acks.kind] == [MESSAGES, ACKS]
    assert messages.end == acks.position  # one batch


def test_acknowledgements_do_not_wait_long_for_something_else(scene) -> None:
    receiver, ledger = subscriber(scene), scene.store.ledger
    scene.client("p").publish("a", b"first", 1)
    with scene.held():
        receiver.acknowledge(*receiver.messages())
        scene.broker.turn.end()
        end = ledger.end
        scene.now += 2 * ACKS_WAIT_MOST
        scene.broker.turn.end()
        assert ledger.end > end


def test_a_message_read_back_does_not_overtake_one_that_is_held(make) -> None:
    scene = make(inflight=2)
    receiver = subscriber(scene)
    publisher = scene.client("p")
    publisher.publish("a", b"1", 1)
    (first,) = receiver.messages()
    scene.stop_the_clock_of_the_log()
    publisher.send(Publish("a", b"2", 1, packet_id=2))  # sent, but held
    publisher.send(Publish("a", b"3", 1, packet_id=3))  # no room: has to be read back
    scene.broker.turn.end()
    assert scene.store.ledger.wait()  # safe, but the broker has not been told yet
    receiver.send(PubAck(first.packet_id))
    scene._held = False
    scene.turn_ends()
    assert receiver.payloads() == [b"2", b"3"]


# Sessions and what waits for them


@BOTH
def test_a_session_and_its_subscriptions_outlive_the_server(scene, crash) -> None:
    subscriber(scene)
    scene.restart(crash=crash)
    receiver = durable(scene, "s")
    assert receiver.connack.session_present
    scene.client("p").publish("a", b"x", 1)
    assert receiver.payloads() == [b"x"]


@BOTH
def test_options_of_subscriptions_outlive_the_server(scene, crash) -> None:
    client = durable(scene, "s")
    client.subscribe("a", 1, identifier=77, no_local=True, retain_as_published=True)
    client.subscribe("b", 2)
    client.subscribe("c", 0)
    client.disconnect()
    scene.restart(crash=crash)
    client = durable(scene, "s")
    client.publish("a", b"own", 1)
    assert client.messages() == []
    publisher = scene.client("p")
    publisher.publish("a", b"1", 2, retain=True)
    publisher.publish("b", b"2", 2, retain=True)
    publisher.publish("c", b"3", 2)
    one, two, three = client.messages()
    assert (one.qos, one.retain, one.properties) == (1, True, {"subscription_identifier": [77]})
    assert (two.qos, two.retain, two.properties) == (2, False, {})
    assert three.qos == 0


@BOTH
@pytest.mark.parametrize("qos", [1, 2])
def test_what_waits_outlives_the_server(scene, crash, qos) -> None:
    subscriber(scene, qos=qos).disconnect()
    publisher = scene.client("p")
    for n in range(100):
        publisher.publish("a", b"%d" % n, qos, content_type="text")
    scene.restart(crash=crash)
    got = durable(scene, "s").messages()
    assert [message.payload for message in got] == [b"%d" % n for n in range(100)]
    assert {(message.topic, message.qos, message.dup) for message in got} == {("a", qos, False)}
    assert got[0].properties == {"content_type": "text"}


@BOTH
def test_messages_on_their_way_are_sent_again_with_their_identifiers(scene, crash) -> None:
    receiver = subscriber(scene, qos=2)
    publisher = scene.client("p")
    for n in range(6):
        publisher.publish("a", b"%d" % n, 1 + n % 2)
    sent = receiver.messages()
    receiver.acknowledge(sent[1], sent[2])
    scene.restart(crash=crash)
    receiver = durable(scene, "s")
    got = receiver.messages()
    left = [sent[0], *sent[3:]]
    assert [(m.payload, m.packet_id, m.qos) for m in got] == [(m.payload, m.packet_id, m.qos) for m in left]
    assert all(message.dup for message in got)
    receiver.acknowledge(*got)
    scene.client("p").publish("a", b"new", 2)
    (new,) = receiver.messages()
    assert (new.payload, new.dup) == (b"new", False)
    scene.restart(crash=crash)
    receiver = durable(scene, "s")
    assert [message.payload for message in receiver.messages()] == [b"new"]


def everything(client) -> list[bytes]:
    """The payloads that a client gets which acknowledges whatever comes, for as long as something comes."""
    payloads = []
    while packets := client.take():
        for packet in packets:
            if isinstance(packet, PubRel):
                client.send(PubComp(packet.packet_id))
            else:
                payloads.append(packet.payload)
                client.send(PubAck(packet.packet_id) if packet.qos == 1 else PubRec(packet.packet_id))
    return payloads


@pytest.mark.parametrize("qos", [1, 2])
def test_what_is_read_back_stays_before_what_is_sent_after_it_in_the_same_turn(make, qos) -> None:
    """After a crash, too, wherever it cuts the log: the one is a fact there, the other is noted with its message."""
    scene = make(inflight=2)
    receiver, publisher = subscriber(scene, qos=qos), scene.client("p")
    for payload in (b"1", b"2", b"3"):
        publisher.publish("a", payload, qos)
    sent = receiver.messages()
    safe = scene.store.ledger.end
    with scene.held():
        for message in sent:
            acknowledgements = (PubAck,) if qos == 1 else (PubRec, PubComp)
            receiver.send(*[one(message.packet_id) for one in acknowledgements])
        publisher.send(Publish("a", b"4", qos, packet_id=99))
    log, end = scene.log, scene.store.ledger.end
    assert [packet.payload for packet in receiver.take() if isinstance(packet, Publish)] == [b"3", b"4"]
    seen = []
    for cut in range(safe, end + 1, 8):
        scene.log = log
        scene.restart(cut=cut)
        seen.append(everything(durable(scene, "s")))
    assert seen[-1] == [b"3", b"4"]
    assert [one for one in seen if one != sorted(one)] == []


def test_a_checkpoint_in_the_middle_of_a_turn_delivers_nothing_twice(make, monkeypatch) -> None:
    """After a crash, that is; also after one that leaves nothing of that turn behind the checkpoint."""
    monkeypatch.setattr(upkeep, "CHECKPOINT_AFTER", 0)
    scene = make(inflight=2)
    receiver, publisher = subscriber(scene, qos=2), scene.client("p")
    for payload in (b"1", b"2", b"3"):
        publisher.publish("a", payload, 2)
    first, second = receiver.messages()
    with scene.held():
        receiver.send(PubRec(first.packet_id), PubComp(first.packet_id), PubRec(second.packet_id))
        scene.broker.look_after_log(10)  # no longer than it takes
        assert scene.store.ledger.checkpoint
        end_of_checkpoint = scene.store.ledger.end
    log, end = scene.log, scene.store.ledger.end
    for cut in (end_of_checkpoint, end):
        scene.log = log
        scene.restart(cut=cut)
        assert everything(durable(scene, "s")) == [b"3"]


@BOTH
def test_released_identifiers_are_released_again(scene, crash) -> None:
    receiver = subscriber(scene, qos=2)
    scene.client("p").publish("a", b"x", 2)
    (message,) = receiver.messages()
    receiver.send(PubRec(message.packet_id))
    scene.restart(crash=crash)
    receiver = durable(scene, "s")
    assert receiver.take() == [PubRel(message.packet_id)]
    receiver.send(PubComp(message.packet_id))
    scene.restart(crash=crash)
    assert durable(scene, "s").take() == []


def test_a_receipt_cut_in_two_by_a_crash_never_delivers_twice(scene) -> None:
    """The receipt of a QoS 2 message is more than one record: with any part of them, it is either all or nothing."""
    receiver = subscriber(scene, qos=2)
    scene.client("p").publish("a", b"x", 2)
    (message,) = receiver.messages()
    safe = scene.store.ledger.end
    receiver.send(PubRec(message.packet_id))
    end = scene.store.ledger.end
    assert receiver.take() == [PubRel(message.packet_id)]
    log = scene.log
    for cut in range(safe, end + 1, 8):
        scene.log = log
        scene.restart(cut=cut)
        assert kinds(durable(scene, "s")) in ([Publish], [PubRel])


@BOTH
def test_a_qos_2_publish_is_not_taken_twice(scene, crash) -> None:
    subscriber(scene, qos=2).disconnect()
    publisher = durable(scene, "p")
    publisher.publish("a", b"stored", 2, packet_id=1)
    publisher.publish("nobody", b"not stored", 2, packet_id=2)
    scene.restart(crash=crash)
    publisher = durable(scene, "p")
    assert publisher.connack.session_present
    publisher.publish("a", b"stored", 2, packet_id=1, dup=True)
    publisher.publish("nobody", b"not stored", 2, packet_id=2, dup=True)
    publisher.send(PubRel(1), PubRel(2))
    assert [packet.reason for packet in publisher.take()] == [Reason.SUCCESS, Reason.SUCCESS]
    assert durable(scene, "s").payloads() == [b"stored"]
    scene.restart(crash=crash)
    publisher = durable(scene, "p")
    publisher.publish("a", b"another", 2, packet_id=1)
    assert [m.payload for m in durable(scene, "s").messages()] == [b"stored", b"another"]


@BOTH
def test_clean_start_forgets(scene, crash) -> None:
    receiver = subscriber(scene)
    publisher = scene.client("p")
    publisher.publish("a", b"on its way", 1)
    receiver.disconnect()
    publisher.publish("a", b"waiting", 1)
    receiver = durable(scene, "s", clean=True)
    assert not receiver.connack.session_present
    assert receiver.messages() == []
    scene.restart(crash=crash)
    receiver = durable(scene, "s")
    publisher = scene.client("p")
    publisher.publish("a", b"later", 1)
    assert receiver.messages() == []
    assert scene.store.ledger.cursors == {}


def test_what_was_on_its_way_to_a_session_that_ends_is_not_kept(scene) -> None:
    receiver = subscriber(scene)
    scene.client("p").publish("a", b"x", 1)
    assert len(receiver.messages()) == 1
    receiver.disconnect(session_expiry_interval=0)
    assert scene.store.ledger.cursors == {}


def test_a_clean_start_without_a_durable_session_is_safe_before_it_is_told(scene) -> None:
    subscriber(scene).disconnect()
    scene.stop_the_clock_of_the_log()
    client = scene.client("s", clean=True)
    told = client.connack is not None
    scene.restart()
    assert not told or "s" not in scene.broker.sessions


@BOTH
def test_a_session_expires_while_the_server_is_away(scene, crash) -> None:
    durable(scene, "short", session_expiry_interval=100).disconnect()
    durable(scene, "long", session_expiry_interval=1000).disconnect()
    scene.pass_time(60)
    scene.turn_ends()
    scene.now += 60
    scene.restart(crash=crash)
    scene.pass_time(1)
    assert not scene.client("short", clean=False).connack.session_present
    assert scene.client("long", clean=False).connack.session_present


@BOTH
def test_a_message_expires_while_the_server_is_away(scene, crash) -> None:
    subscriber(scene).disconnect()
    publisher = scene.client("p")
    publisher.publish("a", b"short", 1, message_expiry_interval=10)
    publisher.publish("a", b"long", 1, message_expiry_interval=100)
    scene.now += 30
    scene.restart(crash=crash)
    (message,) = durable(scene, "s").messages()
    assert message.payload == b"long"
    assert message.properties["message_expiry_interval"] == 70


# What waits for the disk


def test_publishers_wait_while_too_much_waits_for_the_disk(scene, monkeypatch) -> None:
    store, asked = scene.store, []

    class Watched(Outlet):
        __slots__ = ()

        def stop_reading(self):
            asked.append("stop")

        def go_on_reading(self):
            asked.append("go on")

    waiting = [WAITING_MOST]
    monkeypatch.setattr(type(store.ledger), "waiting", property(lambda _: waiting[0]))
    scene.broker.memory.set_limit(64 * WAITING_MOST)
    outlet = Watched()
    store.pause_if_behind(outlet)
    assert asked == []
    waiting[0] += 1
    store.pause_if_behind(outlet)
    store.let_go_on()
    assert asked == ["stop"]
    waiting[0] = WAITING_MOST // 2 - 1
    store.let_go_on()
    store.let_go_on()
    assert asked == ["stop", "go on"]


def test_what_waits_for_the_disk_is_charged(scene, monkeypatch) -> None:
    waiting = [0]
    monkeypatch.setattr(type(scene.store.ledger), "waiting", property(lambda _: waiting[0]))
    used = scene.broker.memory.used
    for number, charged in ((1000, 0), (5 << 20, 5 << 20), (1000, 0)):
        waiting[0] = number
        scene.store._note_unwritten()
        assert scene.broker.memory.used - used == charged


def test_with_little_memory_less_may_wait(scene, monkeypatch) -> None:
    monkeypatch.setattr(type(scene.store.ledger), "waiting", property(lambda _: 3 << 20))
    assert not scene.store.is_behind
    scene.broker.memory.set_limit(16 << 20)
    assert scene.store.is_behind


def test_a_subscription_that_has_gone_goes_with_the_last_that_was_on_its_way(scene) -> None:
    client = subscriber(scene)
    scene.client("p").publish("a", b"x", qos=1)
    (message,) = client.messages()
    (cursor,) = [one.spool.cursor for one in scene.broker.sessions["s"].subscriptions.values()]
    client.unsubscribe("a")
    assert scene.store.retired == {cursor.number}
    assert cursor.number in scene.store.ledger.cursors
    client.acknowledge(message)
    assert scene.store.retired == set()
    assert cursor.number not in scene.store.ledger.cursors


def test_retention_that_fails_for_one_stream_goes_on_with_the_next(scene, failures, monkeypatch) -> None:
    scene.store.defects._journal = failures
    retained = []

    def retain(self, stream, now):
        if stream.name == "broken":
            raise RuntimeError
        retained.append(stream.name)
        yield 10

    for name in ("broken", "fine"):
        scene.store.make_stream(StreamOptions(name, "a"))
    monkeypatch.setattr(Streams, "retain", retain)
    assert list(scene.store.retain_streams()) == [None]
    assert retained == ["fine"]
    assert [what for what, _ in failures.seen] == ["retention of stream broken"]


def test_very_many_sessions_are_told_in_several_records(scene) -> None:
    for number in range(2 * offline_sessions.AT_ONCE):
        scene.broker.open_session(f"c{number}", clean_start=True, expiry=60)
        scene.broker.detach(scene.broker.sessions[f"c{number}"], publish_will=False)
    records = [body for kind, body in scene.store._session_records() if kind == record_kinds.AWAY]
    assert len(records) == 2
    assert sum(len(list(offline_sessions.split(body))) for body in records) == 2 * offline_sessions.AT_ONCE

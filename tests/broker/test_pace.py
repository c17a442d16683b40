"""How often the disk is forced, and for whom: not for acknowledgements, once for a message, and at once for some."""

import os
import threading

import pytest

from broker.clients import DurableScene
from broker.durable_clients import durable, kinds, subscriber
from heliograph.broker.broker import Broker
from heliograph.broker.core.limits import Limits
from heliograph.broker.storage.store import ACKS_WAIT_MOST
from heliograph.log.log import LogOptions
from heliograph.mqtt import PingReq, PingResp, PubAck, PubComp, Publish, PubRec, PubRel

INTERVAL = 3600.0
"""Between two commits that are in no hurry: longer than any test."""
LATER = 100 * INTERVAL
PATIENCE = 20.0


class ForcedScene(DurableScene):
    """A broker whose log is forced to the disk, and counts how often. Nothing is waited for but what is said."""

    options = LogOptions(force=True, interval=INTERVAL, retry=0.01)

    def __init__(self, directory, **limits):
        self._news = threading.Condition()
        super().__init__(directory, **limits)

    def wake(self):
        with self._news:
            self._news.notify_all()

    def end_turn(self):
        """What the server does at the end of a turn; nothing else happens before the next one."""
        self.now += 0.001
        self.broker.turn.end()

    def until_safe(self):
        """The log's thread forces all there is, and the broker hears of it; nothing is said to make it do so."""
        with self._news:
            assert self._news.wait_for(lambda: self.store.ledger.safe == self.store.ledger.end, PATIENCE)
        self.broker.turn.more_is_safe()


@pytest.fixture
def forced(monkeypatch):
    """Descriptors that were forced."""
    seen, real = [], os.fdatasync

    def count(descriptor):
        seen.append(descriptor)
        real(descriptor)

    monkeypatch.setattr(os, "fdatasync", count)
    return seen


@pytest.fixture
def scene(tmp_path, forced):
    scene = ForcedScene(tmp_path / "logs")
    yield scene
    scene.close()


def publish(client, number=1, topic="a"):
    client.send(Publish(topic, b"%d" % number, 1, packet_id=number))


# Nobody waits


def test_acknowledgements_are_never_forced_by_themselves(scene, forced) -> None:
    receiver, publisher = subscriber(scene), scene.client("p")
    publisher.publish("a", b"x", 1)
    scene.stop_the_clock_of_the_log()
    receiver.acknowledge(*receiver.messages())
    forced.clear()
    for _ in range(5):
        scene.now += 2 * ACKS_WAIT_MOST
        scene.end_turn()
    ledger = scene.store.ledger
    assert not ledger.has_unwritten
    assert ledger.safe < ledger.end
    publish(publisher, 2)
    scene.end_turn()
    scene.until_safe()
    assert len(forced) == 1


def test_the_end_of_a_qos_2_delivery_is_not_forced_by_itself(scene) -> None:
    receiver, publisher = subscriber(scene, qos=2), scene.client("p")
    publisher.publish("a", b"x", 2)
    (message,) = receiver.messages()
    receiver.send(PubRec(message.packet_id))
    assert receiver.take() == [PubRel(message.packet_id)]
    scene.stop_the_clock_of_the_log()
    end = scene.store.ledger.end
    receiver.send(PubComp(message.packet_id))
    scene.end_turn()
    assert scene.store.ledger.end > end
    assert scene.store.ledger.log.committer._soon == end


def test_acknowledgements_that_were_only_written_outlive_a_server_that_is_killed(scene) -> None:
    receiver = subscriber(scene)
    scene.client("p").publish("a", b"x", 1)
    scene.stop_the_clock_of_the_log()
    receiver.acknowledge(*receiver.messages())
    ledger = scene.store.ledger
    batch, done = ledger.end, threading.Event()
    scene.store.ledger.log.committer._put = told(scene.store.ledger.log.committer._put, done)
    for _ in range(2):
        scene.now += 2 * ACKS_WAIT_MOST
        scene.end_turn()
    assert ledger.end > batch
    assert done.wait(PATIENCE)
    scene.restart()
    assert durable(scene, "s").messages() == []


def told(call, done):
    """The same, but it says when it is done."""

    def told(*args, **options):
        call(*args, **options)
        done.set()

    return told


@pytest.mark.parametrize("topic_filter", ["a", "$share/g/a"])
def test_a_message_whose_acknowledgement_was_lost_with_the_power_is_sent_again(scene, topic_filter) -> None:
    receiver, publisher = subscriber(scene, "s", topic_filter), scene.client("p")
    publisher.publish("a", b"before", 1)
    receiver.acknowledge(*receiver.messages())
    scene.stop_the_clock_of_the_log()
    publish(publisher)
    scene.end_turn()
    scene.until_safe()
    safe = scene.store.ledger.safe
    scene.end_turn()
    receiver.acknowledge(*receiver.messages())
    for _ in range(2):
        scene.now += 2 * ACKS_WAIT_MOST
        scene.end_turn()
    assert scene.store.ledger.end > safe
    scene.restart(cut=safe)
    assert durable(scene, "s").payloads() == [b"1"]


@pytest.mark.parametrize("members", [1, 3])
def test_a_message_to_sharers_is_forced_once(scene, forced, members) -> None:
    sharers = [subscriber(scene, f"s{number}", "$share/g/a") for number in range(members)]
    publisher = scene.client("p")
    scene.stop_the_clock_of_the_log()
    forced.clear()
    publish(publisher)
    scene.end_turn()
    scene.until_safe()
    (sharer,) = [one for one in sharers if one.outlet.chunks]
    scene.end_turn()  # its identifier
    assert publisher.take() == [PubAck(1)]
    sharer.acknowledge(*sharer.messages())
    for _ in range(5):
        scene.now += 2 * ACKS_WAIT_MOST
        scene.end_turn()
    assert len(forced) == 1
    publish(publisher, 2)
    scene.end_turn()
    scene.until_safe()
    assert len(forced) == 2


def test_an_identifier_of_qos_2_is_forced_before_it_is_used(scene, forced) -> None:
    sharer, publisher = subscriber(scene, "s", "$share/g/a", 2), durable(scene, "p")
    scene.stop_the_clock_of_the_log()
    forced.clear()
    publisher.send(Publish("a", b"x", 2, packet_id=1))
    scene.end_turn()
    scene.until_safe()
    assert kinds(publisher) == [PubRec]
    assert sharer.messages() == []
    scene.end_turn()
    scene.until_safe()
    (message,) = sharer.messages()
    for client, packet, answer in ((sharer, PubRec(message.packet_id), PubRel), (publisher, PubRel(1), PubComp)):
        client.send(packet)
        scene.end_turn()
        assert client.take() == []
        scene.store.ledger.end_turn()  # to free an identifier is in no hurry
        scene.until_safe()
        assert kinds(client) == [answer]
    assert len(forced) == 4


def test_an_answer_behind_another_one_forces_nothing(scene, forced) -> None:
    subscriber(scene)
    publisher = scene.client("p")
    scene.stop_the_clock_of_the_log()
    forced.clear()
    publish(publisher)
    scene.end_turn()
    publish(publisher, 2, "nobody")
    scene.end_turn()
    scene.until_safe()
    assert len(forced) == 1
    assert [packet.packet_id for packet in publisher.take()] == [1, 2]
    assert not publisher.outlet.unsafe


# Who can wait


def test_clients_that_send_now_and_then_share_a_commit(scene, forced) -> None:
    subscriber(scene)
    devices = [durable(scene, f"d{number}") for number in range(10)]
    scene.stop_the_clock_of_the_log()
    scene.now += LATER
    forced.clear()
    for device in devices:
        publish(device)
        scene.end_turn()
    assert not forced
    scene.store.ledger.end_turn()
    scene.until_safe()
    assert len(forced) == 1
    assert [device.take() for device in devices] == [[PubAck(1)]] * 10


def test_a_client_that_sends_right_after_it_was_answered_does_not_wait_for_more(scene, forced) -> None:
    subscriber(scene)
    publisher, device = durable(scene, "p"), durable(scene, "d")
    scene.stop_the_clock_of_the_log()
    scene.now += LATER
    forced.clear()
    publish(device)
    scene.end_turn()
    publisher.outlet.answered = scene.now
    publish(publisher)
    scene.end_turn()
    scene.until_safe()
    assert len(forced) == 1
    assert publisher.take() == device.take() == [PubAck(1)]
    publish(publisher, 2)
    scene.end_turn()
    scene.until_safe()
    assert publisher.take() == [PubAck(2)]


def test_a_client_that_has_just_come_does_not_wait_for_more(scene) -> None:
    subscriber(scene)
    scene.stop_the_clock_of_the_log()
    scene.now += LATER
    client = scene.client("new")
    publish(client)
    scene.end_turn()
    scene.until_safe()
    assert client.take() == [PubAck(1)]


def test_whoever_waits_for_nothing_stored_is_answered_at_once(scene) -> None:
    client = scene.client("c")
    scene.stop_the_clock_of_the_log()
    client.send(PingReq())
    assert kinds(client) == [PingResp]


# Whether the server may pause between two turns


class PacedScene(ForcedScene):
    """A consumer and a device that sends now and then, and nothing else for a long time."""

    def __init__(self, directory):
        super().__init__(directory)
        self.now += 1
        self.consumer, self.device = subscriber(self), durable(self, "device")
        self.other = self.client("other")
        self.other.subscribe("b")
        assert self.device.publish("a", b"first", 1) == PubAck(1)
        self.consumer.acknowledge(*self.consumer.messages())
        self.stop_the_clock_of_the_log()
        self.broker.turn.take_dirty()
        self.now += LATER

    def is_patient_after(self, client, packet):
        """Whether the server may pause when a client has sent this."""
        client.send(packet)
        self.end_turn()
        return self.broker.turn.is_patient(self.now)


@pytest.fixture
def paced(tmp_path):
    scene = PacedScene(tmp_path / "logs")
    yield scene
    scene.close()


def test_devices_that_send_now_and_then_and_their_consumer_are_patient(paced) -> None:
    for number in range(2, 5):
        paced.now += LATER
        assert paced.is_patient_after(paced.device, Publish("a", b"x", 1, packet_id=number))
        paced.store.ledger.end_turn()
        paced.until_safe()
        assert paced.device.take() == [PubAck(number)]
        (message,) = paced.consumer.messages()
        assert paced.is_patient_after(paced.consumer, PubAck(message.packet_id))


def test_a_client_in_conversation_is_not_patient(paced) -> None:
    paced.device.outlet.answered = paced.now
    assert not paced.is_patient_after(paced.device, Publish("a", b"x", 1, packet_id=2))
    paced.now += LATER
    assert paced.broker.turn.is_patient(paced.now)


def test_a_message_that_nobody_stores_is_not_patient(paced) -> None:
    assert not paced.is_patient_after(paced.device, Publish("b", b"x"))
    assert len(paced.other.messages()) == 1


def test_a_client_that_only_says_that_it_is_there_is_patient(paced) -> None:
    assert paced.is_patient_after(paced.device, PingReq())
    assert kinds(paced.device) == [PingResp]


def test_the_end_of_a_qos_2_delivery_is_patient(paced) -> None:
    assert not paced.is_patient_after(paced.other, Publish("nobody", b"x", 2, packet_id=1))
    assert kinds(paced.other) == [PubRec]
    paced.now += LATER
    assert paced.is_patient_after(paced.other, PubRel(1))
    assert paced.other.take() == [PubComp(1)]


def test_where_nothing_is_stored_there_is_no_pause() -> None:
    assert Broker(Limits(), lambda: 0.0, lambda: "id").turn.pause(LATER) == 0

"""A broker with a store: backlogs have limits, and disks have trouble."""

import errno
import os
import tracemalloc
from functools import partial

import pytest

from broker.durable_clients import BOTH, durable, kinds, subscriber
from heliograph.broker.core.limits import WhenFull
from heliograph.broker.core.queue_definition import QueueDefinition
from heliograph.broker.storage.streams import StreamOptions
from heliograph.mqtt import (
    PubAck,
    Publish,
    PubRec,
    Reason,
)

# Limits


def publish_many(scene, number, size=0):
    publisher = scene.client("p")
    return [publisher.publish("a", b"%d" % n + bytes(size), 1).reason for n in range(number)]


@BOTH
def test_a_full_spool_rejects_new_messages(make, crash) -> None:
    scene = make(max_messages=5)
    subscriber(scene).disconnect()
    assert publish_many(scene, 8) == [Reason.SUCCESS] * 5 + [Reason.QUOTA_EXCEEDED] * 3
    scene.restart(crash=crash)
    assert publish_many(scene, 1) == [Reason.QUOTA_EXCEEDED]
    assert durable(scene, "s").payloads() == [b"%d" % n for n in range(5)]


@BOTH
def test_a_unit_of_work_discards_no_more_old_messages_than_it_has_to(make, crash) -> None:
    scene = make(max_bytes=900_000, when_full=WhenFull.DISCARD_OLD)
    subscriber(scene).disconnect()
    publish_many(scene, 8, size=100_000)
    work = scene.broker.queues.begin()
    for n in (8, 9, 10):
        payload = b"%d" % n + bytes(100_000)
        work.publish(1, partial(scene.broker.publish_message, "a", payload, qos=1))
    work.commit(lambda refusal: None)
    scene.turn_ends()
    scene.restart(crash=crash)
    numbers = [int(payload.rstrip(bytes(1))) for payload in durable(scene, "s").payloads()]
    assert numbers == list(range(numbers[0], 11))
    assert numbers[0] <= 5


@BOTH
def test_a_full_spool_discards_old_messages_if_so_configured(make, crash) -> None:
    scene = make(max_messages=5, when_full=WhenFull.DISCARD_OLD)
    subscriber(scene).disconnect()
    assert publish_many(scene, 8) == [Reason.SUCCESS] * 8
    scene.restart(crash=crash)
    assert durable(scene, "s").payloads() == [b"%d" % n for n in range(3, 8)]


def test_a_spool_rejects_what_is_too_many_bytes(make) -> None:
    scene = make(max_bytes=10_000)
    subscriber(scene).disconnect()
    reasons = publish_many(scene, 20, 1000)
    assert reasons[0] == Reason.SUCCESS
    assert 6 <= reasons.count(Reason.SUCCESS) <= 10
    assert len(durable(scene, "s").messages()) == reasons.count(Reason.SUCCESS)


def test_a_spool_discards_what_is_too_many_bytes_if_so_configured(make) -> None:
    scene = make(max_bytes=1_000_000, when_full=WhenFull.DISCARD_OLD)
    subscriber(scene).disconnect()
    assert set(publish_many(scene, 40, 100_000)) == {Reason.SUCCESS}
    got = durable(scene, "s").payloads()
    assert 5 <= len(got) <= 10
    assert got[-1].startswith(b"39")


def test_a_backlog_costs_no_memory_for_its_messages(make) -> None:
    scene = make(max_messages=1_000_000, receive_maximum=65_535)
    subscriber(scene).disconnect()
    publisher = scene.client("p", 4)
    payload = bytes(100)

    def publish(rounds):
        for _ in range(rounds):
            publisher.send(*[Publish("a", payload, 1, packet_id=n) for n in range(1, 1001)])
            publisher.take()

    publish(5)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    publish(95)
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 1_000_000
    assert scene.broker.sessions["s"].subscriptions["a"].spool.count == 100_000


def test_messages_too_large_for_a_client_are_left_out(scene) -> None:
    subscriber(scene).disconnect()
    publisher = scene.client("p")
    for size in (10, 1000, 10):
        publisher.publish("a", bytes(size), 1)
    scene.restart()
    receiver = durable(scene, "s", maximum_packet_size=100)
    got = receiver.messages()
    assert [len(m.payload) for m in got] == [10, 10]
    receiver.acknowledge(*got)
    receiver.disconnect()
    assert durable(scene, "s").messages() == []


def test_topic_aliases_are_used_for_what_is_read_back(scene) -> None:
    subscriber(scene).disconnect()
    publisher = scene.client("p")
    for n in range(3):
        publisher.publish("a", b"%d" % n, 1)
    got = durable(scene, "s", topic_alias_maximum=5).messages()
    assert [(m.topic, m.properties["topic_alias"]) for m in got] == [("a", 1), ("", 1), ("", 1)]


def test_a_client_of_another_version_takes_what_was_published_in_the_first(scene) -> None:
    subscriber(scene).disconnect()
    scene.client("p", 5).publish("a", b"1", 1, content_type="x")
    scene.client("p", 4).publish("a", b"2", 1)
    scene.restart()
    assert durable(scene, "s", 4).payloads() == [b"1", b"2"]


# Trouble with the disk


@pytest.fixture
def disk(monkeypatch):
    """Can be told to fail, and to work again."""

    class Disk:
        write = staticmethod(os.pwritev)

        def fail(self, scene, code):
            def broken(*_):
                raise OSError(code, os.strerror(code))

            monkeypatch.setattr(os, "pwritev", broken)
            # Somebody tries to write, and finds out.
            scene._held = True
            scene.broker.publish_message("x", b"1", retain=True)
            scene.broker.turn.end()
            assert not scene.store.ledger.wait()

        def work(self, scene):
            monkeypatch.setattr(os, "pwritev", self.write)
            while not scene.store.ledger.wait():
                pass
            scene._held = False
            scene.turn_ends()

    return Disk()


TROUBLES = pytest.mark.parametrize(
    ("code", "reason"),
    [(errno.ENOSPC, Reason.QUOTA_EXCEEDED), (errno.EIO, Reason.IMPLEMENTATION_SPECIFIC_ERROR)],
    ids=["full", "broken"],
)


@TROUBLES
@pytest.mark.parametrize("qos", [1, 2])
def test_publishers_are_told_that_nothing_can_be_stored(scene, disk, code, reason, qos) -> None:
    receiver = subscriber(scene, qos=2)
    publisher, old = scene.client("p"), scene.client("old", 4)
    disk.fail(scene, code)
    assert publisher.publish("a", b"refused", qos).reason == reason
    old.send(Publish("a", b"late", qos, packet_id=1))
    scene.broker.turn.end()
    assert old.take() == []
    assert receiver.take() == []
    disk.work(scene)
    assert kinds(old) == [PubAck if qos == 1 else PubRec]
    assert receiver.payloads() == [b"late"]
    assert publisher.publish("a", b"again", qos).reason == Reason.SUCCESS
    assert receiver.payloads() == [b"again"]
    scene.restart()
    assert [m.payload for m in durable(scene, "s").messages()] == [b"late", b"again"]


@TROUBLES
def test_publishers_to_queues_are_told_the_same(scene, disk, code, reason) -> None:
    queue = scene.broker.queues.define(QueueDefinition("Q"))
    scene.broker.bindings.bind("a", queue)
    publisher, old = scene.client("p"), scene.client("old", 4)
    disk.fail(scene, code)
    assert publisher.publish("a", b"refused", 1).reason == reason
    old.send(Publish("a", b"late", 1, packet_id=1))
    scene.broker.turn.end()
    assert old.take() == []
    disk.work(scene)
    assert kinds(old) == [PubAck]
    assert publisher.publish("a", b"again", 1).reason == Reason.SUCCESS
    scene.restart()
    assert scene.broker.queues.find("Q").depth == 2


def test_a_durable_publisher_is_told_at_once_that_a_qos_2_message_cannot_be_stored(scene, disk) -> None:
    subscriber(scene, qos=2)
    publisher = durable(scene, "p")
    disk.fail(scene, errno.ENOSPC)
    try:
        assert publisher.publish("a", b"refused", 2).reason == Reason.QUOTA_EXCEEDED
    finally:
        disk.work(scene)


@TROUBLES
def test_durable_sessions_are_refused_while_nothing_can_be_stored(scene, disk, code, reason) -> None:
    subscriber(scene).disconnect()
    disk.fail(scene, code)
    refused = durable(scene, "s")
    assert refused.connack.reason == Reason.SERVER_UNAVAILABLE
    assert refused.ended
    old = durable(scene, "old", 4)
    assert old.connack.reason == 3
    disk.work(scene)
    assert durable(scene, "s").connack.session_present


@TROUBLES
def test_what_is_not_stored_goes_on_while_nothing_can_be_stored(scene, disk, code, reason) -> None:
    keeper = subscriber(scene, topic_filter="a")
    disk.fail(scene, code)
    passing = scene.client("v")
    passing.subscribe("b", 1)
    publisher = scene.client("p")
    publisher.publish("a", b"0", 0)
    assert keeper.payloads() == [b"0"]
    assert publisher.publish("b", b"1", 1).reason == Reason.SUCCESS
    assert passing.payloads() == [b"1"]
    disk.work(scene)


def test_what_is_not_answered_is_taken_for_a_stream_while_nothing_can_be_stored(scene, disk) -> None:
    """A publisher of QoS 0 cannot be told, so its message is stored when the disk works again."""
    stream, _ = scene.store.make_stream(StreamOptions("s", "a/#"))
    scene.broker.feed(stream)
    publisher = scene.client("p")
    disk.fail(scene, errno.ENOSPC)
    try:
        publisher.send(Publish("a/1", b"x"), Publish("a/2", b"yy"))
    finally:
        disk.work(scene)
    assert stream.cursors[0].next == 2

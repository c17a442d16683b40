"""What MQTT promises holds over restarts and crashes of the server too, for all that it has acknowledged."""

import shutil
import tempfile
from pathlib import Path
from typing import ClassVar
from unittest import mock

from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from broker.clients import DurableScene
from broker.test_guarantees import DAY, LOOKED_AT, Publisher, Subscriber
from heliograph.mqtt import Publish


class DurablePublisher(Publisher):
    def reconnect(self, *, lose=True):
        self.client.take()
        if lose:
            self.client.lose()
        self.client = self.scene.client("publisher", clean=False, session_expiry_interval=DAY)
        assert self.client.connack.session_present
        for packet in self.unfinished.values():
            if isinstance(packet, Publish):
                packet = Publish(packet.topic, packet.payload, packet.qos, dup=True, packet_id=packet.packet_id)
            self.client.send(packet)


class DurableSubscriber(Subscriber):
    def reconnect(self, most, *, lose=True):
        self.most = most if self.version == 5 else 65_535
        self.client.take()
        if lose:
            self.client.lose()
        self.owed = []
        self.connect()
        assert self.client.connack.session_present


class DurableGuarantees(RuleBasedStateMachine):
    VERSION = 5
    MIXED = False
    PROPERTIES: ClassVar = {}
    CUTS = False
    """A crash may also leave a part of what was on its way to the disk."""

    def __init__(self):
        super().__init__()
        self.unforced = mock.patch("os.fsync")
        self.unforced.start()
        self.root = Path(tempfile.mkdtemp(prefix="guarantees-"))
        self.scene = DurableScene(self.root, max_messages=100_000, inflight=20, connects_per_second=100_000)
        self.subscriber = DurableSubscriber(self.scene, self.VERSION, **self.PROPERTIES)
        self.publisher = DurablePublisher(self.scene, self.MIXED)
        self.published = {1: [], 2: []}  # by QoS
        self.next_number = 10_000  # all of one length, so that they travel in spans
        self.scene._held = True
        self.told = self.scene.store.ledger.end

    @rule(count=st.sampled_from([1, 1, 2, 5, 12]), qos=st.integers(1, 2), safe=st.booleans())
    def publish(self, count, qos, safe):
        numbers = range(self.next_number, self.next_number + count)
        self.next_number += count
        self.published[qos] += numbers
        self.publisher.publish(numbers, qos)
        if safe:
            self.turn_ends()

    @rule()
    def publisher_reads(self):
        self.publisher.read()

    @rule()
    def subscriber_reads(self):
        self.subscriber.read()

    @rule(count=st.sampled_from([1, 2, 5, 100]), safe=st.booleans())
    def subscriber_acknowledges(self, count, safe):
        self.subscriber.read()
        self.subscriber.acknowledge(count)
        if safe:
            self.turn_ends()

    # Turns

    @rule()
    def turn_ends(self):
        """All of it becomes safe, and the broker is told."""
        self.scene._held = False
        self.scene.turn_ends()
        self.scene._held = True
        self.told = self.scene.store.ledger.end

    @rule()
    def turn_is_written(self):
        """All of it is safe, but the broker has not been told yet."""
        if self.CUTS:
            self.scene.broker.turn.write_down()
            assert self.scene.store.ledger.wait()

    @rule()
    def upkeep(self):
        self.turn_ends()
        self.scene.store.upkeep.compact()
        self.told = self.scene.store.ledger.end

    # Connections

    @rule()
    def publisher_reconnects(self):
        self.scene._held = False
        self.publisher.reconnect()
        self.turn_ends()

    @rule(most=st.sampled_from([1, 2, 7, 65_535]))
    def subscriber_reconnects(self, most):
        self.scene._held = False
        self.subscriber.reconnect(most)
        self.turn_ends()

    @rule()
    def subscriber_slows_down_or_catches_up(self):
        connection = self.subscriber.client.connection
        if connection.outlet.open:
            connection.pause()
        else:
            connection.resume()

    # Servers

    @rule(
        last=st.sampled_from(["publish", "receive", "release", ""]),
        share=st.integers(0, 100),
        most=st.sampled_from([1, 7, 65_535]),
    )
    def server_crashes(self, last, share, most):
        """What has not been written is lost; what has been written, but not been told to anybody, may be."""
        if last == "publish":
            self.publish(3, 2, safe=False)
        elif last:
            self.publish(3, 2, safe=True)
            self.subscriber_acknowledges(100, safe=last == "release")
            self.subscriber_acknowledges(2, safe=False)
        cut = None
        if self.CUTS:
            self.turn_is_written()
            cut = self.told + (self.scene.store.ledger.safe - self.told) * share // 100
        self.scene.restart(cut=cut)
        self._come_back(most)

    @rule(most=st.sampled_from([1, 7, 65_535]))
    def server_restarts(self, most):
        self.turn_ends()
        self.scene._held = False
        self.scene.restart(crash=False)
        self._come_back(most)

    def _come_back(self, most):
        self.subscriber.reconnect(most, lose=False)
        self.publisher.reconnect(lose=False)
        self.turn_ends()

    def teardown(self):
        try:
            self._check()
        finally:
            self.scene.close()
            shutil.rmtree(self.root)
            self.unforced.stop()

    def _check(self):
        self.scene._held = False
        self.scene.turn_ends()
        self.subscriber.client.connection.resume()
        self.publisher.reconnect()
        for _ in range(1000):
            self.publisher.read()
            self.subscriber.read()
            if not self.subscriber.owed and not self.publisher.unfinished:
                break
            self.subscriber.acknowledge(1000)
        assert not self.publisher.unfinished
        at_least_once = list(dict.fromkeys(self.subscriber.got[1]))
        assert at_least_once == self.published[1]
        assert self.subscriber.got[2] == self.published[2]
        self.scene.turn_ends()
        assert not any(cursor.pending for cursor in self.scene.store.ledger.cursors.values())
        assert self.scene.broker.sessions["subscriber"].subscriptions["a"].spool.count == 0
        window = self.scene.broker.sessions["subscriber"].window
        assert window is None or window.in_flight == 0


class DurableGuaranteesOfMqtt3(DurableGuarantees):
    VERSION = 4


class WithTornBatches(DurableGuarantees):
    CUTS = True


class OfMixedSpans(DurableGuarantees):
    MIXED = True
    CUTS = True


class OfMixedSpansTakenApart(DurableGuarantees):
    MIXED = True
    PROPERTIES = LOOKED_AT


SETTINGS = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestDurableGuarantees = DurableGuarantees.TestCase
TestDurableGuarantees.settings = SETTINGS
TestDurableGuaranteesOfMqtt3 = DurableGuaranteesOfMqtt3.TestCase
TestDurableGuaranteesOfMqtt3.settings = SETTINGS
TestOfMixedSpans = OfMixedSpans.TestCase
TestOfMixedSpans.settings = settings(SETTINGS, phases=[Phase.generate])
TestOfMixedSpansTakenApart = OfMixedSpansTakenApart.TestCase
TestOfMixedSpansTakenApart.settings = SETTINGS
TestWithTornBatches = WithTornBatches.TestCase
TestWithTornBatches.settings = settings(SETTINGS, phases=[Phase.generate])

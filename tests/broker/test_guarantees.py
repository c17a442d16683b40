"""What MQTT promises, whatever happens to connections: QoS 1 at least once, QoS 2 exactly once, both in order."""

from typing import ClassVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from broker.clients import Scene
from heliograph.mqtt import PubAck, PubComp, Publish, PubRec, PubRel

DAY = 86_400


class Publisher:
    """Publishes numbers and sends again what is unfinished when its connection breaks, as the standard says."""

    def __init__(self, scene, mixed=False):
        self.scene = scene
        self.mixed = mixed
        """Messages differ in their length from those before and behind them."""
        self.unfinished = {}
        """Packet identifier to what has to be sent again: a PUBLISH or a PUBREL."""
        self.next_id = 1
        self.client = scene.client("publisher", session_expiry_interval=DAY)

    def publish(self, numbers, qos):
        packets = []
        for number in numbers:
            payload = b"%d" % number + b" " * (number % 3 if self.mixed else 0)
            packets.append(Publish("a", payload, qos, packet_id=self.next_id if qos else 0))
            if qos:
                self.unfinished[self.next_id] = packets[-1]
                self.next_id += 1
        self.client.send(*packets)

    def read(self):
        for packet in self.client.take():
            match packet:
                case PubAck(packet_id) | PubComp(packet_id):
                    self.unfinished.pop(packet_id, None)
                case PubRec(packet_id):
                    self.unfinished[packet_id] = PubRel(packet_id)
                    self.client.send(PubRel(packet_id))

    def reconnect(self):
        self.client.take()  # what it had not read is lost
        self.client.lose()
        self.client = self.scene.client("publisher", clean=False, session_expiry_interval=DAY)
        for packet in self.unfinished.values():
            if isinstance(packet, Publish):
                packet = Publish(packet.topic, packet.payload, packet.qos, dup=True, packet_id=packet.packet_id)
            self.client.send(packet)


class Subscriber:
    """Takes messages and acknowledges them, in order but not at once."""

    def __init__(self, scene, version, **properties):
        self.scene = scene
        self.version = version
        self.properties = properties
        self.got = {1: [], 2: []}
        self.unreleased = set()
        self.owed = []
        """Acknowledgements not sent yet."""
        self.most = 65_535
        self.in_flight = set()
        self.connect(clean=True)
        self.client.subscribe("a", 2)

    def connect(self, clean=False):
        properties = {}
        if self.version == 5:
            properties = {"session_expiry_interval": DAY, "receive_maximum": self.most, **self.properties}
        self.client = self.scene.client("subscriber", self.version, clean=clean and self.version == 5, **properties)
        self.in_flight = set()

    def read(self):
        for packet in self.client.take():
            match packet:
                case Publish(qos=1):
                    self.got[1].append(int(packet.payload))
                    self.owed.append(PubAck(packet.packet_id))
                case Publish(qos=2):
                    if packet.packet_id not in self.unreleased:
                        self.unreleased.add(packet.packet_id)
                        self.got[2].append(int(packet.payload))
                    self.owed.append(PubRec(packet.packet_id))
                case PubRel(packet_id):
                    self.unreleased.discard(packet_id)
                    self.owed.append(PubComp(packet_id))
            if isinstance(packet, Publish) and packet.qos:
                assert packet.packet_id not in self.in_flight, "an identifier in use came again"
                self.in_flight.add(packet.packet_id)
                assert len(self.in_flight) <= self.most, "more than receive maximum"

    def acknowledge(self, count):
        now, self.owed = self.owed[:count], self.owed[count:]
        for packet in now:
            if not isinstance(packet, PubRec):
                self.in_flight.discard(packet.packet_id)
        if now:
            self.client.send(*now)

    def reconnect(self, most):
        self.most = most if self.version == 5 else 65_535
        self.client.take()
        self.client.lose()
        self.owed = []
        self.connect()


LOOKED_AT = {"topic_alias_maximum": 3, "maximum_packet_size": 1000}
"""What a client says for whom the broker has to look at each message."""


class Guarantees(RuleBasedStateMachine):
    VERSION = 5
    MIXED = False
    PROPERTIES: ClassVar = {}

    def __init__(self):
        super().__init__()
        self.scene = Scene(max_messages=100_000, inflight=20, connects_per_second=100_000)
        self.subscriber = Subscriber(self.scene, self.VERSION, **self.PROPERTIES)
        self.publisher = Publisher(self.scene, self.MIXED)
        self.published = {0: [], 1: [], 2: []}  # by QoS
        self.next_number = 10_000  # all of one length, so that they travel in spans

    @rule(count=st.sampled_from([1, 1, 2, 5, 12]), qos=st.integers(0, 2))
    def publish(self, count, qos):
        numbers = range(self.next_number, self.next_number + count)
        self.next_number += count
        self.published[qos] += numbers
        self.publisher.publish(numbers, qos)

    @rule()
    def publisher_reads(self):
        self.publisher.read()

    @rule()
    def publisher_reconnects(self):
        self.publisher.reconnect()

    @rule()
    def subscriber_reads(self):
        self.subscriber.read()

    @rule(count=st.sampled_from([1, 2, 5, 100]))
    def subscriber_acknowledges(self, count):
        self.subscriber.acknowledge(count)

    @rule(most=st.sampled_from([1, 2, 7, 65_535]))
    def subscriber_reconnects(self, most):
        self.subscriber.reconnect(most)

    @precondition(lambda self: self.subscriber.client.outlet.open)
    @rule()
    def subscriber_slows_down(self):
        self.subscriber.client.connection.pause()

    @rule()
    def subscriber_catches_up(self):
        self.subscriber.client.connection.resume()

    def teardown(self):
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
        assert self.scene.broker.held.bytes == 0
        window = self.scene.broker.sessions["subscriber"].window
        assert window is None or window.in_flight == 0


class GuaranteesOfMqtt3(Guarantees):
    VERSION = 4


class OfMixedSpans(Guarantees):
    MIXED = True


class OfMixedSpansTakenApart(Guarantees):
    MIXED = True
    PROPERTIES = LOOKED_AT


SETTINGS = settings(max_examples=100, stateful_step_count=40, deadline=None)
TestGuarantees = Guarantees.TestCase
TestGuarantees.settings = SETTINGS
TestGuaranteesOfMqtt3 = GuaranteesOfMqtt3.TestCase
TestGuaranteesOfMqtt3.settings = SETTINGS
TestOfMixedSpans = OfMixedSpans.TestCase
TestOfMixedSpans.settings = SETTINGS
TestOfMixedSpansTakenApart = OfMixedSpansTakenApart.TestCase
TestOfMixedSpansTakenApart.settings = SETTINGS

"""What a client session promises, whatever is cut off or comes again when connections break.

Messages go from one session through a broker in memory to another. QoS 1 arrives at least once, QoS 2 exactly once, and
both in order on each topic.
"""

from collections import defaultdict

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from broker.clients import Scene
from heliograph.mqtt import Subscription
from heliograph.mqtt.client import (
    Acknowledged,
    Arrival,
    ClientSession,
    Connected,
    Disconnected,
    Failed,
    Forgotten,
    Messages,
)
from mqtt.client.broker_line import Line, connect_packet

TOPICS = ("plant/a", "plant/b")
SOME_BYTES = st.sampled_from([1, 3, 10, 60, 500, None])
MAXIMA = st.sampled_from([1, 2, 7, 65_535])


class Producer:
    """Publishes what is wanted as soon as the session takes it."""

    def __init__(self, scene, version, aliases):
        self.version = version
        self.line = Line(scene, ClientSession(topic_aliases=aliases))
        self.wanted = []
        """(topic, QoS, payloads) that the session has not taken yet."""
        self.unacknowledged = set()
        self.connect()

    def connect(self):
        self.line.connect(connect_packet("producer", self.version))

    def push(self):
        while self.wanted:
            topic, qos, payloads = self.wanted[0]
            taken = self.line.session.publish(topic, payloads, qos)
            assert not self.unacknowledged & set(taken), "a number was given twice"
            self.unacknowledged |= set(taken)
            if len(taken) < len(payloads):
                self.wanted[0] = topic, qos, payloads[len(taken) :]
                return
            self.wanted.pop(0)

    def fetch(self, most=None):
        for event in self.line.fetch(most):
            assert not isinstance(event, Failed | Disconnected | Forgotten), event
            if isinstance(event, Acknowledged):
                assert event.reason < 0x80
                assert set(event.numbers) <= self.unacknowledged, "acknowledged twice"
                self.unacknowledged -= set(event.numbers)


class Consumer:
    """Keeps what it is given, together with the identifiers of QoS 2, and acknowledges when a test wants it."""

    def __init__(self, scene, version):
        self.scene = scene
        self.version = version
        self.got = {1: defaultdict(list), 2: defaultdict(list)}
        self.kept = frozenset()
        self.arrivals = []
        self.connections = 0
        self.line = Line(scene, ClientSession(manual=True))
        self.connect(65_535)

    def connect(self, most):
        self.line.connect(connect_packet("consumer", self.version, receive_maximum=most, topic_alias_maximum=2))

    def fetch(self, most=None):
        for event in self.line.fetch(most):
            assert not isinstance(event, Failed | Disconnected), event
            if isinstance(event, Connected):
                if not self.connections:
                    self.line.session.subscribe([Subscription("plant/#", 2)])
                self.connections += 1
            if isinstance(event, Messages):
                self.got[event.qos][event.topic] += map(int, event.payloads)
            if isinstance(event, Arrival):
                self.arrivals.append(event)
        self.kept = frozenset(self.line.session.received)

    def acknowledge(self, count):
        while self.arrivals and count:
            arrival = self.arrivals[0]
            here = min(count, len(arrival.ids) - arrival.done)
            self.line.session.acknowledge(arrival, here)
            count -= here
            if arrival.done == len(arrival.ids):
                self.arrivals.pop(0)

    def restart(self, most):
        """The process ends, and another one goes on with what was kept."""
        self.line.lose()
        self.arrivals.clear()
        self.line = Line(self.scene, ClientSession(manual=True, received=self.kept))
        self.connect(most)


class Guarantees(RuleBasedStateMachine):
    VERSION = 5
    ALIASES = 0

    def __init__(self):
        super().__init__()
        self.scene = Scene(max_messages=100_000, inflight=20, receive_maximum=15, connects_per_second=100_000)
        self.consumer = Consumer(self.scene, self.VERSION)
        self.producer = Producer(self.scene, self.VERSION, self.ALIASES)
        self.flow()  # they are connected, and one has subscribed
        self.published = {1: defaultdict(list), 2: defaultdict(list)}
        self.next_number = 9_990  # lengths differ in between

    def flow(self):
        """Let everything come that is under way."""
        while not (self.producer.line.idle and self.consumer.line.idle):
            self.producer.line.bring()
            self.consumer.line.bring()
            self.producer.fetch()
            self.consumer.fetch()

    @rule(count=st.sampled_from([1, 1, 2, 5, 30]), qos=st.integers(1, 2), topic=st.sampled_from(TOPICS))
    def publish(self, count, qos, topic):
        numbers = range(self.next_number, self.next_number + count)
        self.next_number += count
        self.published[qos][topic] += numbers
        self.producer.wanted.append((topic, qos, [b"%d" % number for number in numbers]))
        self.producer.push()

    @rule(most=SOME_BYTES)
    def producer_is_heard(self, most):
        self.producer.line.bring(most)

    @rule(most=SOME_BYTES)
    def producer_hears(self, most):
        self.producer.fetch(most)
        self.producer.push()

    @rule()
    def producer_reconnects(self):
        self.producer.connect()

    @rule(most=SOME_BYTES)
    def consumer_is_heard(self, most):
        self.consumer.line.bring(most)

    @rule(most=SOME_BYTES)
    def consumer_hears(self, most):
        self.consumer.fetch(most)

    @rule(count=st.sampled_from([1, 2, 5, 100]))
    def consumer_acknowledges(self, count):
        self.consumer.acknowledge(count)

    @rule(most=MAXIMA)
    def consumer_reconnects(self, most):
        self.consumer.connect(most)

    @precondition(lambda self: self.consumer.connections)
    @rule(most=MAXIMA)
    def consumer_is_killed(self, most):
        self.consumer.restart(most)

    def teardown(self):
        self.producer.connect()
        self.consumer.connect(65_535)
        for _ in range(2000):
            self.producer.push()
            self.flow()
            self.consumer.acknowledge(1000)
            if self.producer.line.idle and self.consumer.line.idle and not self.producer.wanted:
                break
        assert not self.producer.wanted
        assert not self.producer.unacknowledged
        assert self.producer.line.session.in_flight == 0
        assert not self.consumer.line.session.received
        at_least_once = {topic: list(dict.fromkeys(numbers)) for topic, numbers in self.consumer.got[1].items()}
        assert at_least_once == self.published[1]
        assert self.consumer.got[2] == self.published[2]


class GuaranteesWithAliases(Guarantees):
    ALIASES = 1


class GuaranteesOfMqtt311(Guarantees):
    VERSION = 4


class GuaranteesOfMqtt31(Guarantees):
    VERSION = 3


SETTINGS = settings(max_examples=60, stateful_step_count=50, deadline=None)
TestGuarantees = Guarantees.TestCase
TestGuarantees.settings = SETTINGS
TestGuaranteesWithAliases = GuaranteesWithAliases.TestCase
TestGuaranteesWithAliases.settings = SETTINGS
TestGuaranteesOfMqtt311 = GuaranteesOfMqtt311.TestCase
TestGuaranteesOfMqtt311.settings = SETTINGS
TestGuaranteesOfMqtt31 = GuaranteesOfMqtt31.TestCase
TestGuaranteesOfMqtt31.settings = SETTINGS

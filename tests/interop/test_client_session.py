"""Our client session and a mosquitto, over sockets that are cut while messages are on their way."""

import select
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from heliograph.mqtt import Connect, Properties, SubAck, Subscription
from heliograph.mqtt.client import Arrival, ClientSession, Connected, Event, Failed, Forgotten, Messages
from pipeline.spool.mosquitto import Mosquitto
from running import PATIENCE

COUNT, RUN = 3000, 100


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Mosquitto]:
    started = Mosquitto(tmp_path)
    yield started
    started.stop()


class Client:
    """A session on a socket; what comes is acknowledged when it is in `got`."""

    def __init__(self, broker: Mosquitto, name: str, version: int, qos: int) -> None:
        self.session = ClientSession(manual=True)
        self.got: list[int] = []
        self.subscribed = False
        self._broker = broker
        self._qos = qos
        properties = Properties(session_expiry_interval=3600) if version == 5 else Properties()
        self._connect = Connect(name, version, clean_start=False, keep_alive=20, properties=properties)
        self._socket: socket.socket | None = None
        self.connect()

    def connect(self) -> None:
        """Cut the connection, if there is one, and make another."""
        self.close()
        self._socket = socket.create_connection(("127.0.0.1", self._broker.port), PATIENCE)
        self.session.open(self._connect, time.monotonic())
        self.until(lambda: self.session.connected)

    def subscribe(self) -> None:
        self.session.subscribe([Subscription("plant/#", self._qos)])
        self.until(lambda: self.subscribed)

    def until(self, done: Callable[[], bool]) -> None:
        """Go on until that is so."""
        deadline = time.monotonic() + PATIENCE
        while not done():
            assert time.monotonic() < deadline, "nothing happened"
            self.step(0.05)

    def step(self, timeout: float) -> None:
        """Write what is to be written, and read what comes within this time."""
        assert self._socket is not None
        self._socket.sendall(self.session.take_output())
        if select.select([self._socket], [], [], timeout)[0]:
            data = self._socket.recv(20_000)
            assert data, "mosquitto has closed the connection"
            self._handle(self.session.receive(data, time.monotonic()))
            self._socket.sendall(self.session.take_output())

    def _handle(self, events: list[Event]) -> None:
        for event in events:
            assert not isinstance(event, Failed | Forgotten), event
            self.subscribed = self.subscribed or isinstance(event, SubAck)
            if isinstance(event, Connected):
                assert event.session_present == self.subscribed or not self.subscribed
            if isinstance(event, Messages):
                self.got += map(int, event.payloads)
            if isinstance(event, Arrival):
                self.session.acknowledge(event)

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self.session.lost()


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("qos", [1, 2])
def test_nothing_is_lost_when_connections_are_cut(broker: Mosquitto, version: int, qos: int) -> None:
    """And with QoS 2, nothing comes twice."""
    consumer, producer = (Client(broker, name, version, qos) for name in ("consumer", "producer"))
    consumer.subscribe()
    # Mosquitto drops what is more than this of QoS 2, and says so to those who speak MQTT 5 alone.
    window = 20 if version == 4 else COUNT
    done = cuts = 0
    while done < COUNT or producer.session.in_flight:
        room = max(0, min(RUN, window - producer.session.in_flight))
        payloads = [b"%d" % number for number in range(done, min(COUNT, done + room))]
        done += len(producer.session.publish("plant/1", payloads, qos))
        producer.step(0.01)
        consumer.step(0)
        if done > cuts * COUNT // 5:
            cuts += 1
            (producer if cuts % 2 else consumer).connect()
    consumer.until(lambda: len(set(consumer.got)) == COUNT)
    if qos == 2:
        assert consumer.got == list(range(COUNT))
    assert list(dict.fromkeys(consumer.got)) == list(range(COUNT))
    for client in (consumer, producer):
        client.close()


def test_mosquitto_is_kept_alive(broker: Mosquitto) -> None:
    client = Client(broker, "quiet", 5, 0)
    events, due = client.session.tick(time.monotonic() + 20)
    assert not events
    assert client.session.output, "a ping was due"
    client.step(PATIENCE)
    assert client.session.tick(time.monotonic())[0] == []
    assert due > time.monotonic()
    client.close()


def test_topic_aliases_work_with_mosquitto(broker: Mosquitto) -> None:
    consumer = Client(broker, "consumer", 5, 1)
    consumer.subscribe()
    producer = Client(broker, "producer", 5, 1)
    producer.session = ClientSession(manual=True, topic_aliases=10)
    producer.connect()
    for first in range(0, 30, 3):
        producer.session.publish("plant/line/1", [b"%d" % number for number in range(first, first + 3)], 1)
    producer.until(lambda: not producer.session.in_flight)
    consumer.until(lambda: len(consumer.got) == 30)
    assert consumer.got == list(range(30))
    for client in (consumer, producer):
        client.close()

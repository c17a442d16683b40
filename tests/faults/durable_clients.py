"""paho clients with durable sessions that carry on over any number of crashes of their server, and note what happens.

Each client is driven by one thread of its own, which calls paho's `loop()`. Nothing else touches it: paho lets another
thread publish between the connection and the repetition of what was unfinished, and would so change the order itself.
"""

import threading
import time
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import paho.mqtt.client as paho
from paho.mqtt.packettypes import PacketTypes

from faults.history import Arrival, History, Stream, Subscriber
from faults.repaired_paho import RepairedPaho
from paho_client import V5, properties

SESSION_SECONDS = 3600
IN_FLIGHT = 30
"""Messages that a publisher has unacknowledged at a time; all of them are sent again after a crash."""
MOMENT = 0.02
"""Seconds between two looks at a server that is down, or at what this client is asked to do."""
LONG = 60.0
"""Seconds for which anything is waited at most, however much else happens."""


class News:
    """Tells whoever waits that something happened: an acknowledgement, an arrival, a connection."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._count = 0

    def tell(self) -> None:
        with self._condition:
            self._count += 1
            self._condition.notify_all()

    def wait_until(self, condition: Callable[[], bool], quiet: float) -> bool:
        """Wait until it holds; False once there has been no news for `quiet` seconds, or news of no use for LONG."""
        give_up = time.monotonic() + LONG
        while not condition():
            with self._condition:
                before = self._count
                news = self._condition.wait_for(lambda: self._count != before, quiet)  # noqa: B023
            if not news or time.monotonic() > give_up:
                return condition()
        return True


class DurableClient(threading.Thread):
    """One client: connects, connects again whenever it has to, and knows whether its session was kept."""

    def __init__(self, name: str, version: int, port: int, history: History, news: News) -> None:
        super().__init__(name=name, daemon=True)
        self.history, self.news = history, news
        self.connections = 0
        self.connected = False
        self._known = False
        """Whether the server has acknowledged the session."""
        self._wanted = threading.Event()
        """Set while this client is to be connected; clear while it is away."""
        self._wanted.set()
        self._ending = False
        options = {} if version == V5 else {"clean_session": False}
        self.client = RepairedPaho(
            paho.CallbackAPIVersion.VERSION2, name, protocol=version, reconnect_on_failure=False, **options
        )
        self.client.max_inflight_messages_set(10 * IN_FLIGHT)
        self.client.on_connect = self._on_connect
        self.client.on_disconnect = self._on_disconnect
        more: dict[str, Any] = {}
        if version == V5:
            told = properties(PacketTypes.CONNECT, SessionExpiryInterval=SESSION_SECONDS)
            more = {"clean_start": False, "properties": told}
        self.client.connect_async("127.0.0.1", port, **more)

    def leave(self) -> None:
        """Be away from now on, having said goodbye."""
        self._wanted.clear()

    def come_back(self) -> None:
        self._wanted.set()

    def end(self) -> None:
        """Disconnect for good."""
        self._ending = True
        self._wanted.clear()
        self.join()

    def run(self) -> None:
        while not self._ending:
            if not self._wanted.wait(MOMENT):
                self._say_goodbye()
            elif self.client.socket() is None:
                self._try_to_connect()
            else:
                self.client.loop(MOMENT)
                if self.connected:
                    self.work()
        self._say_goodbye()

    @abstractmethod
    def work(self) -> None:
        """What there is to do while connected; called often."""

    @abstractmethod
    def welcome(self, session_present: bool) -> None:
        """What there is to do at the start of a connection."""

    def _try_to_connect(self) -> None:
        try:
            self.client.reconnect()
        except OSError:
            time.sleep(MOMENT)  # the server is down; somebody is about to start it

    def _say_goodbye(self) -> None:
        if self.client.socket() is not None:
            self.client.disconnect()
            self.client.loop(MOMENT)

    def _on_connect(self, client: Any, data: Any, flags: Any, reason: Any, told: Any) -> None:
        if reason != 0:
            return
        self.connections += 1
        if self._known and not flags.session_present:
            self.history.forgotten.append(self.name)
        self._known = True
        self.welcome(flags.session_present)
        self.connected = True
        self.news.tell()

    def _on_disconnect(self, *_said: Any) -> None:
        self.connected = False
        self.news.tell()


class PublishingClient(DurableClient):
    """Publishes to its streams in turn, as fast as acknowledgements come, until it is told to stop."""

    def __init__(
        self, name: str, version: int, port: int, history: History, news: News, streams: list[Stream], **options: Any
    ) -> None:
        super().__init__(name, version, port, history, news)
        self._streams = streams
        self._options = options
        self._unfinished: dict[int, tuple[Stream, int]] = {}
        """Packet identifier to what was sent with it."""
        self.client.on_publish = self._on_publish
        self.acknowledged = 0
        self._turn = 0
        self._to_send: float = float("inf")

    def only(self, more: int) -> None:
        """Send so many more messages and no others."""
        self._to_send = more

    def is_done(self) -> bool:
        """Whether all has been sent that was to be sent, and all that was sent has been acknowledged."""
        return self._to_send == 0 and not self._unfinished

    def welcome(self, session_present: bool) -> None:
        """Nothing to do: paho sends again what is unfinished."""

    def work(self) -> None:
        while len(self._unfinished) < IN_FLIGHT and self._to_send:
            self._to_send -= 1
            self._turn += 1
            stream = self._streams[self._turn % len(self._streams)]
            stream.sent += 1  # before it can arrive anywhere
            payload = payload_of(stream, stream.sent)
            info = self.client.publish(stream.topic, payload, stream.qos, **self._options)
            self._unfinished[info.mid] = stream, stream.sent

    def _on_publish(self, client: Any, data: Any, mid: int, reason: Any, told: Any) -> None:
        stream, number = self._unfinished.pop(mid)
        # A PUBCOMP may say that the server no longer knows the identifier: it had finished, and its PUBCOMP was lost.
        if stream.qos == 2 or not reason.is_failure:
            stream.acknowledged.add(number)
            self.acknowledged += 1
        self.news.tell()


class SubscribingClient(DurableClient):
    """Subscribes once, for good, and notes everything that comes."""

    def __init__(self, version: int, port: int, history: History, news: News, notes: Subscriber) -> None:
        super().__init__(notes.name, version, port, history, news)
        self.notes = notes
        self.subscribed = False
        self.seen: defaultdict[str, set[int]] = defaultdict(set)
        self.client.on_subscribe = self._on_subscribe
        self.client.on_message = self._on_message

    def welcome(self, session_present: bool) -> None:
        if not self.subscribed or not session_present:
            share = f"$share/{self.notes.group}/" if self.notes.group else ""
            self.client.subscribe(share + self.notes.filter, self.notes.qos)

    def work(self) -> None:
        """Nothing to do: paho acknowledges by itself."""

    def _on_subscribe(self, client: Any, data: Any, mid: int, reasons: Any, told: Any) -> None:
        assert [one.value for one in reasons] == [self.notes.qos]
        self.subscribed = True
        self.news.tell()

    def _on_message(self, client: Any, data: Any, message: paho.MQTTMessage) -> None:
        arrival = arrival_of(message.topic, message.payload, message.qos, message.dup, self.connections)
        self.notes.arrivals.append(arrival)
        self.seen[arrival.topic].add(arrival.number)
        self.news.tell()


def payload_of(stream: Stream, number: int) -> bytes:
    """The payload of a message; its length changes, so that its place in files and packets does."""
    return b"%s %d %s" % (stream.publisher.encode(), number, b"." * (number * 7 % 100))


def arrival_of(topic: str, payload: bytes, qos: int, dup: bool, connection: int) -> Arrival:
    """What a payload says; one that was damaged names a publisher that does not exist."""
    publisher, _, rest = payload.partition(b" ")
    number, _, filling = rest.partition(b" ")
    if not number.isdigit() or filling != b"." * (int(number) * 7 % 100):
        return Arrival(f"damaged: {payload!r}", topic, 0, qos, dup, connection)
    return Arrival(publisher.decode(), topic, int(number), qos, dup, connection)

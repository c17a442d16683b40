"""Packets in one line each, for -d."""

import contextlib
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Self

from heliograph.cli.errors import CommandFailed, ConnectionFailed
from heliograph.cli.mqtt.connection import CONNECT_TIMEOUT, Address, Connection
from heliograph.errors import InvalidInput, Problem
from heliograph.mqtt import (
    Auth,
    Connect,
    Disconnect,
    Packet,
    Properties,
    ProtocolError,
    Publish,
    Reason,
    SubAck,
    Subscribe,
    Subscription,
    UnsubAck,
    decode,
    packet_bounds,
)
from heliograph.mqtt.client import (
    Acknowledged,
    Arrival,
    ClientSession,
    Connected,
    Disconnected,
    Event,
    Failed,
    Messages,
    Refused,
    Released,
    Repeated,
)

_LARGEST_PACKET = 5 + 268_435_455  # what the length of a packet can say

Log = Callable[[str], None]


class Trace:
    """Shows the packets of one direction of a connection."""

    def __init__(self, log: Log, arrow: str, version: int) -> None:
        self._log = log
        self._arrow = arrow
        self._version = version
        self._data = bytearray()

    def see(self, data: bytes) -> None:
        """Show the packets that are whole now. What is no packet is for others to complain of."""
        self._data += data
        pos = 0
        with contextlib.suppress(ProtocolError):
            while (bounds := packet_bounds(self._data, pos, _LARGEST_PACKET, self._version)) is not None:
                start, end = bounds
                if end > len(self._data):
                    break
                packet = decode(self._data[pos], bytes(self._data[start:end]), self._version)
                self._log(f"{self._arrow} {_summary(packet)}")
                pos = end
        del self._data[:pos]


def _summary(packet: Packet) -> str:
    """A packet in one line for -d, without its payload and without passwords."""
    words = [type(packet).__name__.upper()]
    for field in ("client_id", "packet_id", "topic", "qos", "retain", "dup", "reason", "reasons", "filters"):
        value = getattr(packet, field, None)
        if value:
            words.append(f"{field}={value!r}")
    if isinstance(packet, Subscribe):
        words += [f"{one.filter!r} QoS {one.qos}" for one in packet.subscriptions]
    if isinstance(packet, Publish):
        words.append(f"{len(packet.payload)} bytes")
    return " ".join(words)


# No answer for this long means that none will come.
ANSWER_TIMEOUT = 30.0
# How many QoS 1 and 2 messages are under way at once, unless the server asks for fewer.
_WINDOW = 1000
# MQTT 3 servers cannot ask for fewer. Mosquitto holds 20 of QoS 2, and drops others although it acknowledges them.
_V3_WINDOW_QOS_2 = 20
# How much may be in line for the network before publishing waits.
_UNSENT_MAX = 1024 * 1024
_GOODBYE_TIMEOUT = 2.0

# What the server says when it may well take the client back later.
_PASSING = {
    Reason.SERVER_UNAVAILABLE,
    Reason.SERVER_BUSY,
    Reason.SERVER_SHUTTING_DOWN,
    Reason.KEEP_ALIVE_TIMEOUT,
    Reason.CONNECTION_RATE_EXCEEDED,
}


class SavedSession:
    """What outlives a connection: the session, and messages that nobody has dealt with yet."""

    def __init__(self) -> None:
        self.session = ClientSession(manual=True)
        self.messages: deque[Publish] = deque()
        self.arrivals: deque[Arrival] = deque()
        """Those of QoS 1 and 2 that are not acknowledged, in order."""


class Client:
    """One connection to a server, as a context manager that sends `goodbye` at the end.

    `trace`, if any, is told of each packet, and `warn` of what the server refuses without ending the
    connection. Whatever ends the connection is raised as Problem, or as ConnectionFailed if another one may go better.
    `saved` is the state of a connection before this one.
    """

    def __init__(
        self,
        address: Address,
        connect: Connect,
        *,
        goodbye: Disconnect,
        trace: Log | None,
        warn: Log,
        saved: SavedSession | None = None,
    ) -> None:
        self._warn = warn
        self._address = address
        self._goodbye = goodbye
        self._end_error: Problem | None = None
        self._saved = saved or SavedSession()
        self._session = self._saved.session
        self._answers: dict[int, SubAck | UnsubAck] = {}
        self._topics: dict[int, str] = {}
        """Topics of messages in flight, by their numbers."""
        self._last_acknowledged = time.monotonic()
        self._window = {1: _WINDOW, 2: _WINDOW if connect.version == 5 else _V3_WINDOW_QOS_2}
        self._sent = Trace(trace, "->", connect.version) if trace else None
        self._received = Trace(trace, "<-", connect.version) if trace else None
        self.refused = 0
        """How many messages the server has refused."""
        self.messages = self._saved.messages
        """What has arrived; whoever takes a message removes it and calls `acknowledge`."""
        self._connection = Connection(address)
        try:
            with _sending("CONNECT"):
                self._session.open(connect, time.monotonic())
            self._await(lambda: self._session.connected, CONNECT_TIMEOUT, "CONNECT")
        except BaseException:
            self._connection.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._session.disconnect(self._goodbye.reason, self._goodbye.properties)
        self._write()
        self._connection.close()
        self._session.lost()

    def step(self, timeout: float | None, also: int | None = None) -> bool:
        """Let the connection work until something happens or `timeout` seconds have passed (None: for ever).

        `also` is one more file descriptor to wait for; the answer says whether it can be read.
        """
        events, due = self._session.tick(time.monotonic())
        self._handle(events)
        if self._end_error is not None:
            raise self._end_error
        self._write()
        if due != float("inf"):
            left = max(0.001, due - time.monotonic())
            timeout = left if timeout is None else min(left, timeout)
        data, ready = self._connection.wait(timeout, also)
        if data:
            if self._received is not None:
                self._received.see(data)
            in_flight = self._session.in_flight
            self._handle(self._session.receive(data, time.monotonic()))
            if self._session.in_flight < in_flight:
                self._last_acknowledged = time.monotonic()
            self._write()
        return ready

    def publish(self, topic: str, payload: bytes, qos: int, retain: bool, properties: Properties) -> None:
        """Put a message in line, waiting only when too many are under way. `flush` waits for the last of them."""
        while True:
            if self._connection.unsent <= _UNSENT_MAX and (not qos or self._session.in_flight < self._window[qos]):
                with _sending("PUBLISH"):
                    taken = self._session.publish(topic, [payload], qos, retain=retain, properties=properties)
                if taken:
                    break
            self._step_with_progress()
        if qos:
            self._topics[taken.start] = topic
        self._write()

    def flush(self) -> None:
        """Wait until everything published is sent and, from QoS 1 on, acknowledged."""
        self._last_acknowledged = time.monotonic()
        while self._connection.unsent or self._session.in_flight:
            self._step_with_progress()

    def acknowledge(self, message: Publish) -> None:
        """Tell the server that the oldest message which is not acknowledged has been dealt with: this one."""
        if message.qos:
            self._session.acknowledge(self._saved.arrivals[0], 1)
            self._acknowledge_repeated()
            self._write()

    def settle(self) -> None:
        """Give the server a moment to finish with the QoS 2 messages that were acknowledged."""
        deadline = time.monotonic() + _GOODBYE_TIMEOUT
        with contextlib.suppress(Problem):
            while self._unreleased() and time.monotonic() < deadline:
                self.step(deadline - time.monotonic())

    def subscribe(self, subscriptions: Sequence[Subscription], properties: Properties) -> None:
        """Subscribe and wait for the answer. Warns of each filter refused; Problem when all of them are."""
        with _sending("SUBSCRIBE"):
            packet_id = self._session.subscribe(subscriptions, properties)
        answer = self._answer(packet_id, "SUBSCRIBE")
        refusals = [
            f"subscription to '{one.filter}' refused: {_reason_text(reason)}"
            for one, reason in zip(subscriptions, answer.reasons, strict=False)
            if reason >= 0x80
        ]
        if len(refusals) == len(subscriptions):
            raise CommandFailed("; ".join(refusals))
        for refusal in refusals:
            self._warn(refusal)

    def unsubscribe(self, filters: Sequence[str], properties: Properties) -> None:
        """Unsubscribe and wait for the answer. Warns of each filter refused."""
        with _sending("UNSUBSCRIBE"):
            packet_id = self._session.unsubscribe(filters, properties)
        answer = self._answer(packet_id, "UNSUBSCRIBE")
        for topic_filter, reason in zip(filters, answer.reasons, strict=False):
            if reason >= 0x80:
                self._warn(f"unsubscription from '{topic_filter}' refused: {_reason_text(reason)}")

    def _write(self) -> None:
        """Put what the session has to say in line."""
        data = self._session.take_output()
        if data and self._sent is not None:
            self._sent.see(data)
        self._connection.send(data)

    def _answer(self, packet_id: int, what: str) -> SubAck | UnsubAck:
        self._await(lambda: packet_id in self._answers, ANSWER_TIMEOUT, what)
        return self._answers.pop(packet_id)

    def _await(self, arrived: Callable[[], bool], seconds: float, what: str) -> None:
        deadline = time.monotonic() + seconds
        while not arrived():
            left = deadline - time.monotonic()
            if left <= 0:
                raise ConnectionFailed(f"{self._address} has not answered {what} for {seconds:g} s")
            self.step(left)

    def _step_with_progress(self) -> None:
        silence = time.monotonic() - self._last_acknowledged
        if self._session.in_flight and silence > ANSWER_TIMEOUT:
            raise CommandFailed(f"{self._address} has not acknowledged any message for {ANSWER_TIMEOUT:g} s")
        self.step(ANSWER_TIMEOUT)

    def _handle(self, events: list[Event]) -> None:
        for event in events:
            match event:
                case Messages():
                    self._take(event)
                case Repeated():
                    self._saved.arrivals.append(event)
                    self._acknowledge_repeated()
                case Released():
                    self._session.acknowledge(event)
                case Acknowledged():
                    self._acknowledged(event)
                case SubAck() | UnsubAck():
                    self._answers[event.packet_id] = event
                case Auth():
                    self._end_error = CommandFailed(f"{self._address} sent AUTH, which was not expected")
                case Connected():
                    pass
                case _:
                    # Raised by the next step, so that messages which came before it are not lost.
                    self._end_error = self._end(event)

    def _end(self, event: Event) -> Problem | None:
        """What to tell of an event that ends the connection."""
        match event:
            case Refused():
                kind = ConnectionFailed if event.reason in _PASSING else CommandFailed
                return kind(f"connection refused: {_refusal(event)}")
            case Disconnected():
                kind = ConnectionFailed if event.reason in _PASSING else CommandFailed
                return kind(f"disconnected by the server: {_reason_text(event.reason, event.properties)}")
            case Failed(reason=Reason.KEEP_ALIVE_TIMEOUT):
                return ConnectionFailed(event.text.replace("the server", str(self._address)))
            case Failed():
                return CommandFailed(f"{self._address} sent bytes that are not MQTT: {event.text}")
            case _:
                return None

    def _take(self, run: Messages) -> None:
        """A run of messages, one by one."""
        if run.ids:
            self._saved.arrivals.append(run)
        for packet_id, payload in zip(run.ids or [0] * len(run.payloads), run.payloads, strict=True):
            self.messages.append(Publish(run.topic, payload, run.qos, run.retain, run.dup, packet_id, run.properties))

    def _acknowledge_repeated(self) -> None:
        """Acknowledge what needs nothing else, up to the next message that nobody has dealt with."""
        arrivals = self._saved.arrivals
        while arrivals and (isinstance(arrivals[0], Repeated) or arrivals[0].done == len(arrivals[0].ids)):
            self._session.acknowledge(arrivals.popleft())

    def _unreleased(self) -> set[int]:
        """Packet identifiers of messages of QoS 2 that are acknowledged, and not yet released."""
        waiting = {packet_id for arrival in self._saved.arrivals for packet_id in arrival.ids[arrival.done :]}
        return self._session.received - waiting

    def _acknowledged(self, event: Acknowledged) -> None:
        for number in event.numbers:
            topic = self._topics.pop(number, "")
            if event.reason >= 0x80:
                self.refused += 1
                self._warn(f"message to '{topic}' refused: {_reason_text(event.reason, event.properties)}")


@contextlib.contextmanager
def _sending(what: str) -> Iterator[None]:
    try:
        yield
    except ValueError as error:  # a field too large for MQTT, or text that is not Unicode
        raise InvalidInput(f"cannot send {what}: {error}") from None


def _refusal(event: Refused) -> str:
    answer = event.connack
    if answer.reason < 0x80:  # a return code of MQTT 3
        return f"{_name(event.reason)} (return code {answer.reason})"
    return _reason_text(answer.reason, answer.properties)


def _reason_text(reason: int, properties: Properties | None = None) -> str:
    explanation = (properties or {}).get("reason_string")
    return f"{_name(reason)} (0x{reason:02x})" + (f": {explanation}" if explanation else "")


def _name(reason: int) -> str:
    return Reason(reason).name.lower().replace("_", " ").replace("qos", "QoS")

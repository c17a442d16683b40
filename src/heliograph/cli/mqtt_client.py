"""A small blocking MQTT client: connects, publishes and receives with all three qualities of service."""

import contextlib
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Self

from heliograph.cli.mqtt_connection import CONNECT_TIMEOUT, Address, Connection, Lost
from heliograph.errors import Problem
from heliograph.mqtt import (
    ConnAck,
    Connect,
    Disconnect,
    Packet,
    PingReq,
    PingResp,
    Properties,
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

# No answer for this long means that none will come.
ANSWER_TIMEOUT = 30.0
# How many QoS 1 and 2 messages are under way at once, unless the server asks for fewer.
_WINDOW = 1000
# MQTT 3 servers cannot ask for fewer. Mosquitto holds 20 of QoS 2, and drops others although it acknowledges them.
_V3_WINDOW_QOS_2 = 20
# How much may be in line for the network before publishing waits.
_UNSENT_MAX = 1024 * 1024
_GOODBYE_TIMEOUT = 2.0

_V3_REFUSALS = {
    1: Reason.UNSUPPORTED_PROTOCOL_VERSION,
    2: Reason.CLIENT_IDENTIFIER_NOT_VALID,
    3: Reason.SERVER_UNAVAILABLE,
    4: Reason.BAD_USER_NAME_OR_PASSWORD,
    5: Reason.NOT_AUTHORIZED,
}

# What the server says when it may well take the client back later.
_PASSING = {
    Reason.SERVER_UNAVAILABLE,
    Reason.SERVER_BUSY,
    Reason.SERVER_SHUTTING_DOWN,
    Reason.KEEP_ALIVE_TIMEOUT,
    Reason.CONNECTION_RATE_EXCEEDED,
}

Log = Callable[[str], None]


class Client:
    """One connection to a server, as a context manager that sends `goodbye` at the end.

    `trace`, if any, is told of each packet, and `warn` of what the server refuses without ending the
    connection. Whatever ends the connection is raised as Problem, or as Lost if another one may go better.
    `unreleased` has the QoS 2 messages that a connection before this one has dealt with, and will have those of this.
    """

    def __init__(
        self,
        address: Address,
        connect: Connect,
        *,
        goodbye: Disconnect,
        trace: Log | None,
        warn: Log,
        unreleased: set[int] | None = None,
    ) -> None:
        self._trace = trace
        self._warn = warn
        self._address = address
        self._goodbye = goodbye
        self._farewell: Problem | None = None
        self._connack: ConnAck | None = None
        self._answers: dict[int, SubAck | UnsubAck] = {}
        self._unacknowledged: dict[int, Publish] = {}
        self._unreleased = set() if unreleased is None else unreleased
        self._next_id = 0
        self._ping_sent: float | None = None
        self._last_acknowledged = time.monotonic()
        self._keep_alive = connect.keep_alive
        self._window: dict[int, int] = {}
        self.refused = 0
        """How many messages the server has refused."""
        self.messages: deque[Publish] = deque()
        """What has arrived; whoever takes a message removes it and calls `acknowledge`."""
        self._connection = Connection(address, connect.version)
        try:
            self._connect(connect)
        except BaseException:
            self._connection.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        if self._farewell is None:
            self._send(self._goodbye)
        self._connection.close()

    def step(self, timeout: float | None, also: int | None = None) -> bool:
        """Let the connection work until something happens or `timeout` seconds have passed (None: for ever).

        `also` is one more file descriptor to wait for; the answer says whether it can be read.
        """
        if self._farewell is not None:
            raise self._farewell
        ready = self._connection.wait(self._until_ping(timeout), also)
        while self._connection.packets:
            self._handle(self._connection.packets.popleft())
        return ready

    def publish(self, topic: str, payload: bytes, qos: int, retain: bool, properties: Properties) -> None:
        """Put a message in line, waiting only when too many are under way. `flush` waits for the last of them."""
        while self._connection.unsent > _UNSENT_MAX or (qos and len(self._unacknowledged) >= self._window[qos]):
            self._step_with_progress()
        packet_id = self._new_id() if qos else 0
        message = Publish(topic, payload, qos, retain, False, packet_id, properties)
        if qos:
            self._unacknowledged[packet_id] = message
        self._send(message)

    def flush(self) -> None:
        """Wait until everything published is sent and, from QoS 1 on, acknowledged."""
        self._last_acknowledged = time.monotonic()
        while self._connection.unsent or self._unacknowledged:
            self._step_with_progress()

    def acknowledge(self, message: Publish) -> None:
        """Tell the server that a message which arrived has been dealt with."""
        if message.qos == 1:
            self._send(PubAck(message.packet_id))
        elif message.qos == 2:
            self._unreleased.add(message.packet_id)
            self._send(PubRec(message.packet_id))

    def settle(self) -> None:
        """Give the server a moment to finish with the QoS 2 messages that were acknowledged."""
        deadline = time.monotonic() + _GOODBYE_TIMEOUT
        with contextlib.suppress(Problem):
            while self._unreleased and time.monotonic() < deadline:
                self.step(deadline - time.monotonic())

    def subscribe(self, subscriptions: Sequence[Subscription], properties: Properties) -> None:
        """Subscribe and wait for the answer. Warns of each filter refused; Problem when all of them are."""
        packet_id = self._new_id()
        self._send(Subscribe(packet_id, tuple(subscriptions), properties))
        answer = self._answer(packet_id, "SUBSCRIBE")
        refusals = [
            f"subscription to '{one.filter}' refused: {_reason_text(reason)}"
            for one, reason in zip(subscriptions, answer.reasons, strict=False)
            if reason >= 0x80
        ]
        if len(refusals) == len(subscriptions):
            raise Problem("; ".join(refusals))
        for refusal in refusals:
            self._warn(refusal)

    def unsubscribe(self, filters: Sequence[str], properties: Properties) -> None:
        """Unsubscribe and wait for the answer. Warns of each filter refused."""
        packet_id = self._new_id()
        self._send(Unsubscribe(packet_id, tuple(filters), properties))
        answer = self._answer(packet_id, "UNSUBSCRIBE")
        for topic_filter, reason in zip(filters, answer.reasons, strict=False):
            if reason >= 0x80:
                self._warn(f"unsubscription from '{topic_filter}' refused: {_reason_text(reason)}")

    def _connect(self, connect: Connect) -> None:
        self._send(connect)
        self._await(lambda: self._connack is not None, CONNECT_TIMEOUT, "CONNECT")
        answer = self._connack
        assert answer is not None
        if answer.reason:
            kind = Lost if _V3_REFUSALS.get(answer.reason, answer.reason) in _PASSING else Problem
            raise kind(f"connection refused: {_refusal(answer)}")
        if not answer.session_present:
            self._unreleased.clear()
        self._keep_alive = answer.properties.get("server_keep_alive", self._keep_alive)
        server_window = min(_WINDOW, answer.properties.get("receive_maximum", _WINDOW))
        self._window = {1: server_window, 2: server_window if connect.version == 5 else _V3_WINDOW_QOS_2}

    def _send(self, packet: Packet) -> None:
        if self._trace is not None:
            self._trace(f"-> {_summary(packet)}")
        self._connection.send(packet)

    def _answer(self, packet_id: int, what: str) -> SubAck | UnsubAck:
        self._await(lambda: packet_id in self._answers, ANSWER_TIMEOUT, what)
        return self._answers.pop(packet_id)

    def _await(self, arrived: Callable[[], bool], seconds: float, what: str) -> None:
        deadline = time.monotonic() + seconds
        while not arrived():
            left = deadline - time.monotonic()
            if left <= 0:
                raise Lost(f"{self._address} has not answered {what} for {seconds:g} s")
            self.step(left)

    def _step_with_progress(self) -> None:
        silence = time.monotonic() - self._last_acknowledged
        if self._unacknowledged and silence > ANSWER_TIMEOUT:
            raise Problem(f"{self._address} has not acknowledged any message for {ANSWER_TIMEOUT:g} s")
        self.step(ANSWER_TIMEOUT)

    def _until_ping(self, timeout: float | None) -> float | None:
        """Send a ping when one is due; how long to wait at most so that the next is sent in time."""
        if not self._keep_alive or self._connack is None:
            return timeout
        now = time.monotonic()
        if self._ping_sent is not None and now - self._ping_sent > self._keep_alive:
            raise Lost(f"{self._address} has not answered a ping for {self._keep_alive} s")
        if self._ping_sent is None and now - self._connection.last_sent >= self._keep_alive:
            self._ping_sent = now
            self._send(PingReq())
        since = self._connection.last_sent if self._ping_sent is None else self._ping_sent
        left = max(0.001, since + self._keep_alive - now)
        return left if timeout is None else min(left, timeout)

    def _new_id(self) -> int:
        """The next packet identifier that nothing under way has."""
        while True:
            self._next_id = self._next_id % 0xFFFF + 1
            if self._next_id not in self._unacknowledged:
                return self._next_id

    def _handle(self, packet: Packet) -> None:
        if self._trace is not None:
            self._trace(f"<- {_summary(packet)}")
        match packet:
            case Publish():
                self._handle_message(packet)
            case PubAck() | PubComp():
                self._acknowledged(packet)
            case PubRec():
                if packet.reason >= 0x80:
                    self._acknowledged(packet)
                else:
                    self._send(PubRel(packet.packet_id))
            case PubRel():
                self._unreleased.discard(packet.packet_id)
                self._send(PubComp(packet.packet_id))
            case SubAck() | UnsubAck():
                self._answers[packet.packet_id] = packet
            case ConnAck():
                self._connack = packet
            case PingResp():
                self._ping_sent = None
            case Disconnect():
                # Raised by the next step, so that messages which came before it are not lost.
                text = _reason_text(packet.reason, packet.properties)
                kind = Lost if packet.reason in _PASSING else Problem
                self._farewell = kind(f"disconnected by the server: {text}")
            case _:
                self._farewell = Problem(
                    f"{self._address} sent {type(packet).__name__.upper()}, which was not expected"
                )

    def _handle_message(self, message: Publish) -> None:
        if message.qos == 2 and message.packet_id in self._unreleased:
            self._send(PubRec(message.packet_id))  # sent again: it has been dealt with already
        else:
            self.messages.append(message)

    def _acknowledged(self, packet: PubAck | PubRec | PubComp) -> None:
        self._last_acknowledged = time.monotonic()
        message = self._unacknowledged.pop(packet.packet_id, None)
        if message is not None and packet.reason >= 0x80:
            self.refused += 1
            self._warn(f"message to '{message.topic}' refused: {_reason_text(packet.reason, packet.properties)}")


def _refusal(answer: ConnAck) -> str:
    if answer.reason in _V3_REFUSALS:
        return f"{_name(_V3_REFUSALS[answer.reason])} (return code {answer.reason})"
    return _reason_text(answer.reason, answer.properties)


def _reason_text(reason: int, properties: Properties | None = None) -> str:
    explanation = (properties or {}).get("reason_string")
    return f"{_name(reason)} (0x{reason:02x})" + (f": {explanation}" if explanation else "")


def _name(reason: int) -> str:
    return Reason(reason).name.lower().replace("_", " ").replace("qos", "QoS")


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

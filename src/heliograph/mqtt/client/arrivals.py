"""PUBLISH packets of one connection become runs of messages. Every message that arrives passes here.

A run grows as long as packets have the same flags, topic and properties. Packets of one length are taken many at a time
(`mqtt.runs`); others are looked at one by one.
"""

from typing import Any, NamedTuple

from heliograph.mqtt.client.events import NO_IDS, Event, Messages, Repeated
from heliograph.mqtt.errors import MalformedPacket, ProtocolError
from heliograph.mqtt.framing import PacketType, decode_varint
from heliograph.mqtt.properties import Properties, decode_properties, encode_properties
from heliograph.mqtt.reasons import Reason
from heliograph.mqtt.runs import Ids, ids_of, run_length
from heliograph.mqtt.strings import check_topic_name, decode_utf8

_DUP_AT_QOS_0 = 0x38
_MOST_KNOWN = 4096
_LONGEST_KNOWN = 512


class _Carried(NamedTuple):
    """What one set of encoded properties says."""

    properties: Properties
    encoded: bytes
    alias: int


_NOTHING = _Carried(Properties(), b"", 0)


class Arrivals:
    """Takes the PUBLISH packets of one connection and adds messages to `events`."""

    __slots__ = (
        "_alias_maximum",
        "_aliases",
        "_carried",
        "_connection",
        "_first",
        "_known_properties",
        "_known_topics",
        "_open",
        "_received",
        "_version",
        "events",
        "unfinished",
    )

    def __init__(self, connection: int, version: int, alias_maximum: int, received: set[int]) -> None:
        self.events: list[Event] = []
        self.unfinished = 0
        """How many messages of QoS 1 and 2 are not acknowledged (QoS 2: not completed) on this connection."""
        self._connection = connection
        self._version = version
        self._alias_maximum = alias_maximum
        self._aliases: dict[int, str] = {}
        self._received = received
        # Devices send the same topics and properties again and again: each is checked once.
        self._known_topics: dict[bytes, str] = {}
        self._known_properties: dict[bytes, _Carried] = {}
        # The run that may grow: the messages, the first byte of their packets, and their properties.
        self._open: Messages | None = None
        self._first = 0
        self._carried = _NOTHING

    def end_run(self) -> None:
        """Something else comes next: messages behind it are another run."""
        self._open = None

    def take(self, data: bytes, pos: int, body: int, end: int) -> int:
        """Take the packet at `pos`, and those behind it that are alike; where that ended. It is whole, up to `end`."""
        first = data[pos]
        qos = first >> 1 & 3
        if end - body < 2 or qos == 3 or (first & 0xFE == _DUP_AT_QOS_0 and self._version > 3):
            raise MalformedPacket("a PUBLISH without a topic, with QoS 3, or with QoS 0 and DUP")
        name_end = body + 2 + (data[body] << 8 | data[body + 1])
        payload = name_end + 2 if qos else name_end
        if payload > end:
            raise MalformedPacket("a PUBLISH that is shorter than its topic")
        carried = _NOTHING
        if self._version == 5:
            if payload < end and not data[payload]:
                payload += 1
            else:
                carried, payload = self._properties(data, payload, end)
        topic = self._topic(data[body + 2 : name_end], carried.alias)
        stride, count = end - pos, 1
        if end < len(data) and data.startswith(data[pos:name_end], end):
            count = run_length(data, pos, stride, payload - pos, name_end - pos if qos else 0)
        stop = pos + count * stride
        if count == 1:
            payloads = [data[payload:end]]
        else:
            payloads = [data[at : at + end - payload] for at in range(payload, stop, stride)]
        if not qos:
            self._run(topic, first, carried).payloads += payloads
        elif count == 1:
            self._numbered(topic, first, carried, payloads, data[name_end] << 8 | data[name_end + 1])
        else:
            self._all_numbered(topic, first, carried, payloads, ids_of(data[pos:stop], name_end - pos, stride))
        return stop

    def _run(self, topic: str, first: int, carried: _Carried) -> Messages:
        """The run that a message goes to."""
        run = self._open
        if run is None or first != self._first or topic != run.topic or carried is not self._carried:
            run = Messages(self._connection, NO_IDS, topic, first, carried.properties, carried.encoded)
            self._open, self._first, self._carried = run, first, carried
            self.events.append(run)
        return run

    def _numbered(self, topic: str, first: int, carried: _Carried, payloads: list[bytes], number: int) -> None:
        """One message of QoS 1 or 2."""
        if not number:
            raise ProtocolError(Reason.PROTOCOL_ERROR, "a PUBLISH with packet identifier 0")
        self.unfinished += 1
        ids = range(number, number + 1)
        if first & 4:
            if number in self._received:
                self.end_run()
                self.events.append(Repeated(self._connection, ids))
                return
            self._received.add(number)
        run = self._run(topic, first, carried)
        run.payloads += payloads
        run.ids = _joined(run.ids, ids)

    def _all_numbered(self, topic: str, first: int, carried: _Carried, payloads: list[bytes], ids: Ids) -> None:
        """A run of messages of QoS 1 or 2."""
        received = self._received
        if 0 in ids or (first & 4 and not (received.isdisjoint(ids) and len(set(ids)) == len(ids))):
            for number, payload in zip(ids, payloads, strict=True):
                self._numbered(topic, first, carried, [payload], number)
            return
        self.unfinished += len(ids)
        if first & 4:
            received.update(ids)
        run = self._run(topic, first, carried)
        run.payloads += payloads
        run.ids = _joined(run.ids, ids)

    def _topic(self, name: bytes, alias: int) -> str:
        topic = self._known_topics.get(name)
        if topic is None:
            if not name and self._version == 5:
                return self._topic_of(alias)
            topic = decode_utf8(name)
            check_topic_name(topic)
            _remember(self._known_topics, name, topic)
        if alias:
            if alias > self._alias_maximum:
                raise ProtocolError(
                    Reason.TOPIC_ALIAS_INVALID, f"topic alias {alias}; expected 1 to {self._alias_maximum}"
                )
            self._aliases[alias] = topic
        return topic

    def _topic_of(self, alias: int) -> str:
        if not alias:
            raise ProtocolError(Reason.PROTOCOL_ERROR, "PUBLISH has neither a topic name nor a topic alias")
        topic = self._aliases.get(alias)
        if topic is None:
            raise ProtocolError(Reason.TOPIC_ALIAS_INVALID, f"topic alias {alias} stands for no topic")
        return topic

    def _properties(self, data: bytes, pos: int, end: int) -> tuple[_Carried, int]:
        """The properties at `pos`, and where the payload begins."""
        length = decode_varint(data, pos, end)
        if length is None or length[1] + length[0] > end:
            raise MalformedPacket("a PUBLISH that is shorter than its properties")
        stop = length[1] + length[0]
        encoded = data[length[1] : stop]
        known = self._known_properties.get(encoded)
        if known is None:
            properties, _ = decode_properties(data, pos, end, PacketType.PUBLISH)
            alias = properties.pop("topic_alias", 0)
            plain = encode_properties(properties) if alias else data[pos:stop]
            known = _Carried(properties, plain[len(plain) - _body_length(plain) :], alias)
            _remember(self._known_properties, encoded, known)
        return known, stop


def _body_length(encoded: bytes) -> int:
    """Of properties with their length before them: how many bytes they are without it."""
    length = decode_varint(encoded, 0, len(encoded))
    assert length is not None
    return length[0]


def _joined(ids: Ids, more: Ids) -> Ids:
    """Identifiers and those behind them: a range as long as they are consecutive."""
    if not ids:
        return more
    if isinstance(ids, range):
        if isinstance(more, range) and more.start == ids.stop:
            return range(ids.start, more.stop)
        return [*ids, *more]
    ids += more
    return ids


def _remember(known: dict[bytes, Any], name: bytes, value: Any) -> None:
    if len(name) <= _LONGEST_KNOWN:
        if len(known) >= _MOST_KNOWN:
            known.clear()
        known[name] = value

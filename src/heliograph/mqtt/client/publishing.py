"""PUBLISH packets for runs of messages, and the topic aliases of one connection."""

from collections.abc import Sequence

from heliograph.errors import InvalidInput
from heliograph.mqtt.errors import ServerLimit
from heliograph.mqtt.framing import VARINT_MAX, encode_varint
from heliograph.mqtt.primitives import pack_string
from heliograph.mqtt.properties import Properties, encode_properties
from heliograph.mqtt.runs import ID_BYTES, write_ids

PUBLISH, DUP = 0x30, 0x08
_ALIAS_SIZE = 3
LARGEST = 5 + VARINT_MAX
"""Bytes of a packet: what MQTT allows."""


class Publishing:
    """Writes messages as one server takes them."""

    def __init__(self, version: int, largest: int, aliases: int) -> None:
        """`largest` is the size of a packet that the server takes, and `aliases` how many topics may have one."""
        self._version = version
        self._largest = largest
        self._most_aliases = aliases
        self._aliases: dict[str, int] = {}

    def check(self, topic: str, payloads: Sequence[bytes], qos: int, properties: Properties) -> None:
        """Raise an exception if these messages cannot be published on this connection."""
        if self._most_aliases and "topic_alias" in properties:
            raise InvalidInput("a topic alias in the properties of a message, but the session uses aliases by itself")
        self.check_size(topic, payloads, qos, properties)

    def check_size(self, topic: str, payloads: Sequence[bytes], qos: int, properties: Properties) -> None:
        """Raise ServerLimit if the server does not take packets as large as these."""
        size = 2 + len(topic.encode()) + max(map(len, payloads)) + (2 if qos else 0)
        if self._version == 5:
            size += len(encode_properties(properties)) + (_ALIAS_SIZE + 1 if self._most_aliases else 0)
        if size > VARINT_MAX or size + 1 + len(encode_varint(size)) > self._largest:
            text = f"a message to '{topic}' takes more than {size} bytes"
            raise ServerLimit(f"{text}; the server takes packets of {self._largest} bytes")

    def write(
        self, first: int, topic: str, payloads: Sequence[bytes], properties: Properties, identifier: int
    ) -> list[bytes]:
        """The packets, identifiers from `identifier` on (0: QoS 0). `first` is the first byte of all of them."""
        if self._version < 5:
            return [_packets(first, pack_string(topic), payloads, b"", identifier)]
        alias, known = self._alias(topic)
        if not alias:
            return [_packets(first, pack_string(topic), payloads, encode_properties(properties), identifier)]
        encoded = encode_properties(Properties(**properties, topic_alias=alias))
        if known:
            return [_packets(first, b"\0\0", payloads, encoded, identifier)]
        told = _packets(first, pack_string(topic), payloads[:1], encoded, identifier)
        if len(payloads) == 1:
            return [told]
        return [told, _packets(first, b"\0\0", payloads[1:], encoded, identifier and identifier + 1)]

    def _alias(self, topic: str) -> tuple[int, bool]:
        """The alias of a topic (0: it has none), and whether the server knows it."""
        if topic in self._aliases:
            return self._aliases[topic], True
        if len(self._aliases) >= self._most_aliases or len(topic) <= _ALIAS_SIZE:
            return 0, False
        self._aliases[topic] = len(self._aliases) + 1
        return self._aliases[topic], False

    def write_again(
        self, first: int, topic: str, payloads: Sequence[bytes], properties: Properties, identifier: int
    ) -> bytes:
        """Packets for messages that may have arrived before: marked as duplicates, and without aliases."""
        encoded = b""
        if self._version == 5:
            # Topic aliases end with the network connection (MQTT 5, section 3.3.2.3.4).
            properties = properties.copy()
            properties.pop("topic_alias", None)
            encoded = encode_properties(properties)
        return _packets(first | DUP, pack_string(topic), payloads, encoded, identifier)


def _packets(first: int, topic: bytes, payloads: Sequence[bytes], properties: bytes, identifier: int) -> bytes:
    sizes = set(map(len, payloads))
    head = len(topic) + len(properties) + (2 if identifier else 0)
    start = bytes((first,))
    if len(sizes) == 1:
        # One header for all packets, joined with the payloads; then the identifiers are written as two columns
        # (`runs`).
        fixed = start + encode_varint(head + sizes.pop())
        heading = fixed + topic + (b"\0\0" if identifier else b"") + properties
        packets = bytearray(heading.join((b"", *payloads)))
        if identifier:
            write_ids(packets, len(fixed) + len(topic), len(packets) // len(payloads), identifier, len(payloads))
        return bytes(packets)
    lengths = {size: start + encode_varint(head + size) + topic for size in sizes}
    if not identifier:
        return b"".join([part for payload in payloads for part in (lengths[len(payload)], properties, payload)])
    numbers = range(2 * identifier, 2 * (identifier + len(payloads)), 2)
    return b"".join(
        [
            part
            for payload, at in zip(payloads, numbers, strict=True)
            for part in (lengths[len(payload)], ID_BYTES[at : at + 2], properties, payload)
        ]
    )

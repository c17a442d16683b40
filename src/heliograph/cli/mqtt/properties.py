"""`-D PACKET PROPERTY VALUE`: MQTT 5 properties from the command line."""

import os
from collections.abc import Sequence
from typing import Any, cast, get_type_hints

from heliograph.errors import Problem
from heliograph.mqtt import PacketType, Properties, ProtocolError, decode_properties, encode_properties

_PLACES = {
    "connect": PacketType.CONNECT,
    "publish": PacketType.PUBLISH,
    "subscribe": PacketType.SUBSCRIBE,
    "unsubscribe": PacketType.UNSUBSCRIBE,
    "disconnect": PacketType.DISCONNECT,
    "will": "will",
}
_TYPES = get_type_hints(Properties)


class PropertyOptions:
    """All -D options of one command, by packet. Problem when one of them makes no sense."""

    def __init__(self, options: Sequence[Sequence[str]], version: int) -> None:
        self.version = version
        self._by_packet: dict[str, dict[str, Any]] = {packet: {} for packet in _PLACES}
        if options and version < 5:
            raise Problem("-D needs MQTT 5 (-V mqttv5)")
        for words in options:
            self._add(words)
        for packet in _PLACES:
            self._check(packet)

    def of(self, packet: str) -> Properties:
        """The properties for this packet ("connect", "publish", ...)."""
        return cast("Properties", dict(self._by_packet[packet]))

    def _add(self, words: Sequence[str]) -> None:
        packet, name = words[0], words[1].replace("-", "_") if len(words) > 1 else ""
        expected = 4 if name == "user_property" else 3
        if packet not in _PLACES or name not in _TYPES or len(words) != expected:
            form = "PACKET PROPERTY VALUE, or PACKET user-property NAME VALUE"
            raise Problem(f"-D {' '.join(words)}: expected {form}; PACKET is one of {', '.join(_PLACES)}")
        properties = self._by_packet[packet]
        if name == "user_property":
            properties.setdefault(name, []).append((words[2], words[3]))
        elif name == "subscription_identifier":
            properties.setdefault(name, []).append(_number(words))
        elif _TYPES[name] is int:
            properties[name] = _number(words)
        else:
            properties[name] = words[2] if _TYPES[name] is str else os.fsencode(words[2])

    def _check(self, packet: str) -> None:
        properties = self.of(packet)
        try:
            data = encode_properties(properties)
            decode_properties(data, 0, len(data), cast("PacketType", _PLACES[packet]))
        except (ProtocolError, ValueError, OverflowError) as error:
            names = ", ".join(properties).replace("_", "-")
            raise Problem(f"-D {packet} ({names}): {error}") from None


def _number(words: Sequence[str]) -> int:
    try:
        number = int(words[2])
    except ValueError:
        raise Problem(f"-D {' '.join(words)}: expected a number, not {words[2]!r}") from None
    if not 0 <= number <= 0xFFFFFFFF:
        raise Problem(f"-D {' '.join(words)}: expected a number from 0 to {0xFFFFFFFF}")
    return number

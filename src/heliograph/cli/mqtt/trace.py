"""Packets in one line each, for -d."""

import contextlib
from collections.abc import Callable

from heliograph.mqtt import Packet, ProtocolError, Publish, Subscribe, decode, packet_bounds

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

"""What Mosquitto publishes of itself below $SYS, as figures."""

from contextlib import suppress

from heliograph.lab import wire
from heliograph.lab.bytestream import Address, BrokerGone
from heliograph.lab.link import Link
from heliograph.lab.targets.statistics import Figure

# It publishes what has changed, once in each of its intervals.
_METRICS = {
    "$SYS/broker/clients/connected": "connected",
    "$SYS/broker/publish/messages/received": "messages_received",
    "$SYS/broker/publish/messages/sent": "messages_sent",
    "$SYS/broker/publish/messages/dropped": "discarded",
    "$SYS/broker/store/messages/count": "depth",
    "$SYS/broker/store/messages/bytes": "buffered_bytes",
}


class SysTopics:
    """A subscriber that remembers the last value of each topic."""

    def __init__(self, address: Address) -> None:
        self._link = Link(address, "lab-statistics")
        self._link.finish()
        for topic in _METRICS:
            # Retained values may come before the answer to the subscription, so that is read with everything else.
            self._link.socket.sendall(wire.subscribe(topic, 0))
        self._link.socket.setblocking(False)
        self._rest = b""
        self._values: dict[str, float] = {}

    def read(self) -> list[Figure]:
        """The last values that came; none when the server has gone."""
        try:
            self._take()
        except BrokerGone:
            return []
        return [Figure("server", "statistics", metric, value) for metric, value in self._values.items()]

    def _take(self) -> None:
        data = bytes(self._link.receive(self._rest))
        done = 0
        for start, body, end in wire.packets(data):
            done = end
            if data[start] >> 4 == 3:
                self._note(data[body:end])
        self._rest = data[done:]

    def _note(self, body: bytes) -> None:
        length = int.from_bytes(body[:2], "big")
        metric = _METRICS.get(body[2 : 2 + length].decode())
        with suppress(ValueError):
            if metric:
                self._values[metric] = float(body[2 + length :])

    def close(self) -> None:
        """Leave."""
        self._link.close()

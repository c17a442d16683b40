"""What Mosquitto publishes of itself below $SYS, as figures."""

from contextlib import suppress
from typing import Any

from heliograph.lab.errors import BrokerGone
from heliograph.lab.load.client_loop import ClientLoop, give_up
from heliograph.lab.load.mqtt.client import MqttClientGroup
from heliograph.lab.load.mqtt.connection import MqttConnection
from heliograph.lab.load.plan import Address, Group, Plan
from heliograph.lab.targets.statistics import Figure
from heliograph.mqtt import Packet, Publish

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
        transport = "tls" if address.ca_file else "tcp"
        group = Group("lab-statistics", "consume", 1, transport=transport, filters=tuple(_METRICS))  # type: ignore[arg-type]
        self._loop = ClientLoop(give_up)
        clients = MqttClientGroup(Plan((group,), 1.0), 0, 0, address, self._loop.poller, _Subscriber)
        self._loop.connect(clients)
        subscriber = clients.load_clients[0]
        assert isinstance(subscriber, _Subscriber)
        self._values = subscriber.values

    def read(self) -> list[Figure]:
        """The last values that came; none when the server has gone."""
        try:
            self._loop.turn(0)
        except BrokerGone:
            return []
        return [Figure("server", "statistics", metric, value) for metric, value in self._values.items()]

    def close(self) -> None:
        """Leave."""
        self._loop.close()


class _Subscriber(MqttConnection):
    """Who hears the values."""

    __slots__ = ("values",)

    def __init__(self, *about: Any) -> None:
        super().__init__(*about)
        self.values: dict[str, float] = {}

    def take_other(self, first: int, packet: Packet, now: int) -> None:
        """Note a value."""
        if isinstance(packet, Publish) and (metric := _METRICS.get(packet.topic)):
            with suppress(ValueError):
                self.values[metric] = float(packet.payload)

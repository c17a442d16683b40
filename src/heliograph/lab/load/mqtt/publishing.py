"""Publishes packets that somebody else has made, a window of them at a time, and waits for their acknowledgements."""

from collections.abc import Iterable
from itertools import islice
from typing import Any

from heliograph.lab.errors import BrokerGone
from heliograph.lab.load.client_loop import ClientLoop, give_up
from heliograph.lab.load.mqtt.acknowledgements import PUBACK
from heliograph.lab.load.mqtt.client import MqttClientGroup
from heliograph.lab.load.mqtt.connection import MqttConnection
from heliograph.lab.load.plan import Address, Group, Plan

_ACK_SIZE = 4
PATIENCE = 10.0  # seconds that a broker may take to acknowledge anything


class _Publisher(MqttConnection):
    """Counts acknowledgements."""

    __slots__ = ("acknowledged",)

    def __init__(self, *about: Any) -> None:
        super().__init__(*about)
        self.acknowledged = 0

    def take(self, data: memoryview, now: int) -> int:
        """Count acknowledgements, all of which have four bytes."""
        if not self.ready:
            return super().take(data, now)
        whole = len(data) // _ACK_SIZE * _ACK_SIZE
        if bytes(data[:whole:_ACK_SIZE]).strip(bytes((PUBACK,))):
            raise BrokerGone("it sent something else than acknowledgements")
        self.acknowledged += whole // _ACK_SIZE
        return whole


def publish_packets(address: Address, packets: Iterable[bytes], window: int) -> None:
    """Send packets of QoS 1, `window` of them at a time, and wait for their acknowledgements."""
    loop = ClientLoop(give_up)
    try:
        group = Group("publisher", "publish", 1, destination="any")
        clients = MqttClientGroup(Plan((group,), 1.0), 0, 0, address, loop.poller, _Publisher)
        loop.connect(clients)
        publisher = clients.load_clients[0]
        assert isinstance(publisher, _Publisher)
        rest, sent = iter(packets), 0
        while some := list(islice(rest, window)):
            publisher.link.write(b"".join(some))
            sent += len(some)
            while publisher.acknowledged < sent:
                if not loop.turn(PATIENCE):
                    raise BrokerGone(f"it acknowledged nothing for {PATIENCE:.0f} s")
    finally:
        loop.close()

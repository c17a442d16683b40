"""The MQTT clients of one group in one process."""

import select
import ssl

from heliograph.lab.load.address import Address
from heliograph.lab.load.client_group import Crew
from heliograph.lab.load.link import Link
from heliograph.lab.load.mqtt.client import MqttEnd
from heliograph.lab.load.mqtt.handshake import VERSIONS
from heliograph.lab.load.mqtt.template import Stencil
from heliograph.lab.load.plan import Plan
from heliograph.lab.load.websocket import WebSocketLink


class MqttCrew(Crew):
    """Makes MQTT ends, which share the stencil of their packets."""

    def __init__(self, plan: Plan, index: int, process: int, address: Address, poller: select.epoll) -> None:
        super().__init__(plan, index, process)
        self.version = VERSIONS[self.group.protocol]
        if self.group.sends:
            self.stencil = Stencil(self.group, index, self.version, plan.seed)
        self._address = address
        self._poller = poller
        secure = self.group.transport in {"tls", "wss"}
        self._tls: ssl.SSLContext | None = address.tls_context() if secure else None

    def make_end(self, client: int, began: int) -> MqttEnd:
        """Begin to connect this client."""
        if self.group.transport in {"ws", "wss"}:
            link: Link = WebSocketLink(self._address, self._tls, self._poller, "mqtt")
        else:
            link = Link(self._address, self._tls, self._poller)
        return MqttEnd(self, client, link, began)

"""The MQTT clients of one group in one process."""

import select
import ssl

from heliograph.lab.load.address import Address
from heliograph.lab.load.client_group import ClientGroup
from heliograph.lab.load.link import Link
from heliograph.lab.load.mqtt.client import MqttLoadClient
from heliograph.lab.load.mqtt.handshake import VERSIONS
from heliograph.lab.load.mqtt.template import MqttTemplate
from heliograph.lab.load.plan import Plan
from heliograph.lab.load.websocket import WebSocketLink


class MqttClientGroup(ClientGroup):
    """Makes MQTT clients, which share the template of their packets."""

    def __init__(self, plan: Plan, index: int, process: int, address: Address, poller: select.epoll) -> None:
        super().__init__(plan, index, process)
        self.version = VERSIONS[self.group.protocol]
        if self.group.sends:
            self.template = MqttTemplate(self.group, index, self.version, plan.seed)
        self._address = address
        self._poller = poller
        secure = self.group.transport in {"tls", "wss"}
        self._tls: ssl.SSLContext | None = address.tls_context() if secure else None

    def make_client(self, client: int, began: int) -> MqttLoadClient:
        """Begin to connect this client."""
        if self.group.transport in {"ws", "wss"}:
            link: Link = WebSocketLink(self._address, self._tls, self._poller, "mqtt")
        else:
            link = Link(self._address, self._tls, self._poller)
        return MqttLoadClient(self, client, link, began)

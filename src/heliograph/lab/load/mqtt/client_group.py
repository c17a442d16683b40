"""The MQTT clients of one group in one process."""

import select
import ssl
from collections.abc import Callable
from functools import cached_property

from heliograph.lab.load.address import Address
from heliograph.lab.load.client_group import ClientGroup
from heliograph.lab.load.link import Link
from heliograph.lab.load.mqtt.client import MqttLoadClient
from heliograph.lab.load.mqtt.connection import MqttConnection
from heliograph.lab.load.mqtt.handshake import VERSIONS
from heliograph.lab.load.mqtt.template import MqttTemplate
from heliograph.lab.load.plan import Plan
from heliograph.lab.load.websocket import WebSocketLink


class MqttClientGroup(ClientGroup):
    """Makes MQTT clients, which share the template of their packets."""

    def __init__(
        self,
        plan: Plan,
        index: int,
        process: int,
        address: Address,
        poller: select.epoll,
        kind: Callable[["MqttClientGroup", int, Link, int], MqttConnection] = MqttLoadClient,
    ) -> None:
        """`kind` makes a client of a number, a link, and the time when it began to connect."""
        super().__init__(plan, index, process)
        self._make = kind
        self.version = VERSIONS[self.group.protocol]
        self._address = address
        self._poller = poller
        secure = self.group.transport in {"tls", "wss"}
        self._tls: ssl.SSLContext | None = address.tls_context() if secure else None

    @cached_property
    def template(self) -> MqttTemplate:
        """Makes the messages."""
        return MqttTemplate(self.group, self.index, self.version, self.plan.seed)

    def make_client(self, client: int, began: int) -> MqttConnection:
        """Begin to connect this client."""
        return self._make(self, client, self.make_link(), began)

    def make_link(self) -> Link:
        """Begin to connect to the broker."""
        if self.group.transport in {"ws", "wss"}:
            return WebSocketLink(self._address, self._tls, self._poller, "mqtt")
        return Link(self._address, self._tls, self._poller)

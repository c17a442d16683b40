"""The AMQP clients of one group in one process."""

import select
import ssl
from dataclasses import replace

from heliograph.errors import Problem
from heliograph.lab.load.address import Address
from heliograph.lab.load.amqp.client import AmqpLoadClient
from heliograph.lab.load.amqp.connection import SENDING
from heliograph.lab.load.amqp.template import AmqpTemplate
from heliograph.lab.load.client_group import ClientGroup
from heliograph.lab.load.link import Link
from heliograph.lab.load.plan import Plan
from heliograph.lab.load.websocket import WebSocketLink

_KEEP_ALIVE = 20  # seconds, where the plan has nothing else: brokers close connections that are silent for a minute
_LOOK = 20_000_000  # ns between two looks whether nothing more is to be sent


class AmqpClientGroup(ClientGroup):
    """Makes AMQP clients, which share the template of their frames."""

    def __init__(self, plan: Plan, index: int, process: int, address: Address, poller: select.epoll) -> None:
        super().__init__(plan, index, process)
        group = self.group = replace(self.group, keep_alive=self.group.keep_alive or _KEEP_ALIVE)
        if group.transaction and group.role not in {"publish", "consume"}:
            raise Problem(
                f"group {group.name!r}: role {group.role!r} has no transactions, only publish and consume have"
            )
        if group.transaction and not group.qos:
            raise Problem(f"group {group.name!r}: messages of transactions are acknowledged; that needs qos 1")
        self.address = address
        self._templates: dict[int, AmqpTemplate] = {}
        self._poller = poller
        secure = group.transport in {"tls", "wss"}
        self._tls: ssl.SSLContext | None = address.tls_context() if secure else None

    def make_client(self, client: int, began: int) -> AmqpLoadClient:
        """Begin to connect this client."""
        if self.group.transport in {"ws", "wss"}:
            link: Link = WebSocketLink(self.address, self._tls, self._poller, "amqp")
        else:
            link = Link(self.address, self._tls, self._poller)
        return AmqpLoadClient(self, client, link, began)

    def template(self, largest: int) -> AmqpTemplate:
        """Makes messages for a broker that takes frames up to this length."""
        if largest not in self._templates:
            self._templates[largest] = AmqpTemplate(
                self.group, self.index, self.plan.seed, self.address, SENDING, largest
            )
        return self._templates[largest]

    def pump(self, now: int) -> int:
        """Send what is due. At the end, batches and units of work that are not full are settled as they are.

        What a client had not settled when it goes would be given to others, which would get it twice.
        """
        wake = super().pump(now)
        if not self.group.transaction and self.group.acknowledge_every == 1:
            return wake
        if now >= self._until:
            for load_client in self.load_clients:
                if isinstance(load_client, AmqpLoadClient):
                    load_client.settle_rest(now)
        return min(wake, now + _LOOK)

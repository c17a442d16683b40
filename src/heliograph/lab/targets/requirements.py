"""What a load requires of a broker: listeners, queue managers and queues, limits; derived from its plan."""

from dataclasses import dataclass, field
from typing import NamedTuple

from heliograph.lab.load.plan import Address, Group, Plan


@dataclass(frozen=True)
class Binding:
    """A queue that gets what is published on a topic."""

    topic: str
    queue: str


@dataclass(frozen=True)
class Layout:
    """The number of queue managers, and the queues that each of them has."""

    managers: int = 1
    queues: tuple[str, ...] = ()
    bindings: tuple[Binding, ...] = ()

    def topics(self, queue: str) -> list[str]:
        """Those whose messages go into this queue."""
        return [binding.topic for binding in self.bindings if binding.queue == queue]


@dataclass(frozen=True)
class Door:
    """The address and credentials for AMQP clients of one queue manager."""

    address: Address
    user: str = ""  # empty: anonymous
    password: str = ""
    transactions: bool = True


class ListenerType(NamedTuple):
    """A protocol and transport by which clients connect."""

    protocol: str  # mqtt or amqp
    transport: str  # tcp, tls, ws or wss

    @property
    def door(self) -> str:
        """The name of the address, unless it is that of a queue manager."""
        return f"{self.protocol}-{self.transport}"


@dataclass(frozen=True)
class Requirements:
    """Listeners, queues and limits that a load needs; everything else is up to the system."""

    ways: tuple[ListenerType, ...]
    durable: bool = False  # whether what is stored is to survive
    layout: Layout = field(default_factory=Layout)
    max_messages: int | None = None
    max_message_size: int | None = None
    cpus: int | None = None  # processors that it may use


def listener_types_of(plan: Plan) -> tuple[ListenerType, ...]:
    """The listener types that the clients of a plan use."""
    found = {ListenerType("amqp" if group.protocol == "amqp" else "mqtt", group.transport) for group in plan.groups}
    return tuple(sorted(found))


def is_durable(plan: Plan) -> bool:
    """Whether messages of this plan are to be kept beyond a connection."""
    return any(group.durable or group.persistent for group in plan.groups)


def needs_of(plan: Plan) -> frozenset[str]:
    """Features that a system must support for this plan, beyond those that its scenario names."""
    found = {need for group in plan.groups for need in _needs(group)}
    transports = {way.transport for way in listener_types_of(plan) if way.protocol == "mqtt"}
    return frozenset(found | ({"mqtt-tcp-and-tls"} if {"tcp", "tls"} <= transports else set()))


def _needs(group: Group) -> set[str]:
    found = {"amqp"} if group.protocol == "amqp" else {"mqtt"}
    if group.protocol == "mqtt5":
        found.add("mqtt5")
    if group.protocol != "amqp" and group.qos == 2:
        found.add("qos2")
    if group.transport in {"tls", "wss"}:
        found.add("tls")
    if group.transport in {"ws", "wss"}:
        found.add("websocket")
    if group.shared:
        found.add("shared")
    if group.transaction:
        found.add("transactions")
    if group.selector:
        found.add("selectors")
    return found

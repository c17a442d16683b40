"""The state that all AMQP connections of a server share."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from heliograph import __version__
from heliograph.amqp import (
    ANONYMOUS,
    EXTERNAL,
    PLAIN,
    Attach,
    Begin,
    Error,
    Link,
    Open,
    Options,
    Symbol,
    UShort,
    conditions,
)
from heliograph.broker.broker import Broker
from heliograph.broker.core.interfaces import Authenticator
from heliograph.broker.core.outlet import Outlet
from heliograph.mapping import QUEUE_PREFIX, TOPIC_PREFIX

IDLE_TIMEOUT = 60_000
"""Milliseconds of silence after which a connection is closed; idle clients send empty frames."""
SOLE_CONNECTION = "sole-connection-for-container"
HEEDS_RECEIVED = "heliograph:received"
"""A client that is lost has failed with what it said it has `received`, if it wants the rest released."""
_OFFERED = ("ANONYMOUS-RELAY", "DELAYED_DELIVERY", "SHARED-SUBS", SOLE_CONNECTION, HEEDS_RECEIVED)


class Elsewhere(NamedTuple):
    """Another server that clients can connect to."""

    host: str
    port: int
    scheme: str = "amqp"


class HostedConnection(Protocol):
    """A connection of an AMQP client."""

    outlet: Outlet
    links: dict[Link, None]

    def go_on(self) -> None:
        """All that there was room for was sent: if it has been written, there is room for more."""

    def flush(self) -> None:
        """At the end of the turn: move pending frames to the outlet."""


class AmqpHost:
    """The server as AMQP clients see it: its name, who is connected, and where else they might go."""

    def __init__(self, broker: Broker, name: str, wall: Callable[[], float]) -> None:
        """`wall` is the time in seconds since 1970."""
        self.broker = broker
        self.name = name
        self._wall = wall
        self.containers: dict[str, list[HostedConnection]] = {}
        """Clients that are connected, by container-id."""
        self.redirects: Mapping[str, Elsewhere | None] = {}
        """Where to send clients that ask for these host names in their open; None where nobody answers at present."""
        self.may_be_us: Callable[[str], bool] = lambda _: True
        """Whether another host name may be one of this machine. Clients put the name there that they connected to."""
        self.failover: Sequence[Elsewhere] = ()
        """Where clients may go when this server does not answer."""
        self.is_managed = False
        """Whether the node `$management` takes requests."""
        self._talking: list[HostedConnection] = []
        broker.turn.at_end.append(self._end_turn)
        self._full: list[HostedConnection] = []

    def wall_ms(self) -> int:
        """The time in milliseconds since 1970."""
        return int(self._wall() * 1000)

    def options(self, authenticator: Authenticator) -> Options:
        """How this server presents itself to a client that comes through this authenticator."""
        mechanisms = []
        if authenticator.proven_user is not None:
            mechanisms.append(EXTERNAL)
        mechanisms.append(PLAIN)
        if authenticator.anonymous:
            mechanisms.append(ANONYMOUS)
        return Options(
            container_id=self.name,
            idle_timeout=IDLE_TIMEOUT,
            offered_capabilities=_OFFERED,
            properties=self._properties(),
            mechanisms=tuple(mechanisms),
        )

    def _properties(self) -> dict[str, Any]:
        told: dict[str, Any] = {
            "product": "heliograph",
            "version": __version__,
            "queue-prefix": QUEUE_PREFIX,
            "topic-prefix": TOPIC_PREFIX,
        }
        if self.failover:
            told["failover-server-list"] = [
                {
                    Symbol("network-host"): other.host,
                    Symbol("port"): UShort(other.port),
                    Symbol("scheme"): other.scheme,
                }
                for other in self.failover
            ]
        return told

    # Turns

    def talk(self, connection: HostedConnection) -> None:
        """A connection has something to write at the end of this turn."""
        self._talking.append(connection)

    def note_full(self, connection: HostedConnection) -> None:
        """A connection has sent all that there was room for: it wants to know when that has been written."""
        self._full.append(connection)
        self.broker.turn.restless = True

    def _end_turn(self) -> None:
        """At the end of the turn: flush the connections that have frames to send."""
        if self._full:
            full, self._full = self._full, []
            for connection in full:
                try:
                    connection.go_on()
                except Exception:
                    self.broker.defects.note("messages could not be sent", connection.outlet)
        while self._talking:
            talking, self._talking = self._talking, []
            for connection in talking:
                try:
                    connection.flush()
                except Exception:
                    self.broker.defects.note("frames could not be written", connection.outlet)


ESTABLISHMENT_FAILED = "amqp:connection-establishment-failed"
"""In the properties of an open: a close follows, and the client need not begin anything."""
_RESERVED = "$"
_LONGEST_NAME = 200  # of a queue manager; a client may send any text
# Bytes of memory that a connection, a session or a link takes, and so many times the bytes of the frame that began it:
# small values take many times their size.
_COST = 4_000
_FRAME_COST = 16


def error_in_open(host: AmqpHost, asked: Open) -> Error | None:
    """The error or redirect for a client that cannot be served here; None if it can."""
    broker, limits = host.broker, host.broker.limits
    if asked.hostname is not None and asked.hostname in host.redirects:
        elsewhere = host.redirects[asked.hostname]
        if elsewhere is None:  # better nobody than somebody else
            text = f"the queue manager {asked.hostname} is not running"
            return Error(condition=conditions.CONNECTION_FORCED, description=text)
        text = f"{asked.hostname} is at {elsewhere.host}:{elsewhere.port}"
        info = {
            Symbol("hostname"): asked.hostname,
            Symbol("network-host"): elsewhere.host,
            Symbol("port"): UShort(elsewhere.port),
            Symbol("scheme"): elsewhere.scheme,
        }
        return Error(condition=conditions.CONNECTION_REDIRECT, description=text, info=info)
    if asked.hostname and not _is_served(host, asked.hostname):
        return _unknown_name(host, asked.hostname)
    if not asked.container_id or asked.container_id.startswith(_RESERVED):
        return _bad_container(f'expected a container-id that does not begin with "$", found {asked.container_id!r}')
    if SOLE_CONNECTION in asked.desired_capabilities and asked.container_id in host.containers:
        return _bad_container(f"another connection uses the container-id {asked.container_id}")
    if broker.stats.connected >= limits.connections:
        return _too_much(f"{limits.connections} clients are connected, no more are taken")
    if not broker.memory.takes_newcomers(cost_of(asked)):
        return _too_much("there is no memory for another client at present")
    if not broker.pace.allows(limits.connects_per_second, broker.now()):
        return _too_much(f"more than {limits.connects_per_second} connects a second")
    return None


def _is_served(host: AmqpHost, name: str) -> bool:
    """Whether this server answers to a name. Without queue managers nobody is served by the wrong one."""
    return not host.redirects or name == host.name or host.may_be_us(name)


def cost_of(began: Open | Begin | Attach) -> int:
    """Bytes of memory that a connection, a session or a link takes which has begun with this frame."""
    return _COST + _FRAME_COST * len(began.encoded())


def _unknown_name(host: AmqpHost, name: str) -> Error:
    known = ", ".join([host.name, *host.redirects])
    text = f"there is no queue manager {name[:_LONGEST_NAME]}, only {known}"
    text += " (if that is a name of this machine, list it in hosts of [http])"
    return Error(condition=conditions.NOT_FOUND, description=text)


def _bad_container(text: str) -> Error:
    info = {Symbol("invalid-field"): Symbol("container-id")}
    return Error(condition=conditions.INVALID_FIELD, description=text, info=info)


def _too_much(text: str) -> Error:
    return Error(condition=conditions.RESOURCE_LIMIT_EXCEEDED, description=text)

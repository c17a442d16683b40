"""What all AMQP connections of a server have in common."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from heliograph import __version__
from heliograph.amqp import ANONYMOUS, EXTERNAL, PLAIN, Link, Options, Symbol, UShort
from heliograph.broker.broker import Broker
from heliograph.broker.core.authentication import Gate
from heliograph.broker.core.outlet import Outlet
from heliograph.mapping import QUEUE_PREFIX, TOPIC_PREFIX

IDLE_TIMEOUT = 60_000
"""Milliseconds of silence after which a client is taken for dead; one that has nothing to say sends empty frames."""
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
        """The turn ends: what there is to write goes to the outlet."""


class Host:
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

    def options(self, gate: Gate) -> Options:
        """How this server presents itself to a client that comes through this gate."""
        mechanisms = []
        if gate.proven_user is not None:
            mechanisms.append(EXTERNAL)
        mechanisms.append(PLAIN)
        if gate.anonymous:
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
        """All that can happen in this turn has happened: let the connections say what they have to."""
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

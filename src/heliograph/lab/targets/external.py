"""A system that somebody else has started, here or elsewhere: nothing is configured, nothing is stopped."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from heliograph.errors import Problem
from heliograph.lab.load.address import Address
from heliograph.lab.targets.demand import Demand, Way
from heliograph.lab.targets.system import Kind, System

_USUAL = {
    Way("mqtt", "tcp"): 1883,
    Way("mqtt", "tls"): 8883,
    Way("mqtt", "ws"): 8083,
    Way("mqtt", "wss"): 8084,
    Way("amqp", "tcp"): 5672,
    Way("amqp", "tls"): 5671,
}
"""Ports, where none is given."""


@dataclass(frozen=True)
class Site:
    """Where it is, and who we are to it."""

    host: str = "127.0.0.1"
    ports: tuple[tuple[Way, int], ...] = ()
    user: str = ""
    password: str = ""
    ca_file: str | None = None
    verify: bool = True


class External(Kind):
    """Any broker that can be reached; what it cannot do shows when a load is put on it."""

    name = "external"
    remedy = ""
    knows = frozenset(
        {
            "mqtt",
            "mqtt31",
            "mqtt5",
            "qos2",
            "tls",
            "mqtt-tcp-and-tls",
            "websocket",
            "durable",
            "shared",
            "amqp",
            "queues",
        }
    ) | {"transactions", "selectors"}

    def __init__(self, site: Site) -> None:
        self._site = site

    def version(self) -> str | None:
        """Nobody told us."""
        return "unknown"

    @contextmanager
    def running(self, wanted: Demand, cores: frozenset[int] | None) -> Iterator[System]:
        """It runs already, with the queues that it has."""
        site = self._site
        ports = _USUAL | dict(site.ports)
        found = {}
        for way in wanted.ways:
            if way not in ports:
                raise Problem(f"external: expected a port for {way.protocol} over {way.transport}, found none (--port)")
            found[way.door] = Address(ports[way], site.host, site.ca_file, site.verify, f"/{way.protocol}")
        found["main"] = next(iter(found.values()))
        configuration = {"host": site.host, "ports": {way.door: ports[way] for way in wanted.ways}}
        yield System(found, configuration=configuration, user=site.user, password=site.password)

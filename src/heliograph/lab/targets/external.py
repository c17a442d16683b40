"""A system that is running already, here or elsewhere: the lab neither configures nor stops it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from urllib.parse import unquote, urlsplit

from heliograph.lab.errors import InvalidTarget
from heliograph.lab.load.plan import Address
from heliograph.lab.targets.requirements import ListenerType, Requirements
from heliograph.lab.targets.system_under_test import RunningSystem, SystemKind

_SCHEMES = {
    "mqtt": (ListenerType("mqtt", "tcp"), 1883),
    "mqtts": (ListenerType("mqtt", "tls"), 8883),
    "ws": (ListenerType("mqtt", "ws"), 8083),
    "wss": (ListenerType("mqtt", "wss"), 8084),
    "amqp": (ListenerType("amqp", "tcp"), 5672),
    "amqps": (ListenerType("amqp", "tls"), 5671),
}
_KNOWS = {
    "mqtt": {"mqtt", "mqtt31", "mqtt5", "qos2", "shared"},
    "amqp": {"amqp", "queues", "transactions", "selectors"},
}


class ExternalSystem(SystemKind):
    """Any broker that can be reached by these URLs, one for each protocol; what it cannot do shows under load."""

    name = "external"
    install_hint = ""

    def __init__(self, urls: Sequence[str], ca_file: str | None = None, *, verify: bool = True) -> None:
        """As `mqtt://user:password@host:1883`; also mqtts, ws, wss, amqp and amqps."""
        if not urls:
            raise InvalidTarget("the target 'external' needs an address: --url mqtt://HOST:PORT")
        self._addresses: dict[ListenerType, Address] = {}
        self._user = self._password = ""
        for url in urls:
            self._add(url, ca_file, verify)
        self.capabilities = frozenset({"durable"}.union(*(_KNOWS[way.protocol] | _by(way) for way in self._addresses)))
        if {ListenerType("mqtt", "tcp"), ListenerType("mqtt", "tls")} <= self._addresses.keys():
            self.capabilities |= {"mqtt-tcp-and-tls"}

    def _add(self, url: str, ca_file: str | None, verify: bool) -> None:
        try:
            parts = urlsplit(url)
            way, port = _SCHEMES[parts.scheme]
            port = parts.port or port
        except (KeyError, ValueError):
            schemes = ", ".join(_SCHEMES)
            raise InvalidTarget(f"expected a URL as mqtt://HOST:PORT (or {schemes}), found '{url}'") from None
        path = parts.path or f"/{way.protocol}"
        self._addresses[way] = Address(port, parts.hostname or "127.0.0.1", ca_file, verify, path)
        self._user = unquote(parts.username or "") or self._user
        self._password = unquote(parts.password or "") or self._password

    def version(self) -> str | None:
        """Not known for a system that the lab has not started."""
        return "unknown"

    @contextmanager
    def running(self, wanted: Requirements, cores: frozenset[int] | None) -> Iterator[RunningSystem]:
        """It runs already, with the queues that it has."""
        found = {}
        for way in wanted.ways:
            if way not in self._addresses:
                raise InvalidTarget(
                    f"this load comes by {way.protocol} over {way.transport}: give a --url for that, too"
                )
            found[way.door] = self._addresses[way]
        found["main"] = next(iter(found.values()))
        where = {door: f"{address.host}:{address.port}" for door, address in found.items()}
        yield RunningSystem(found, configuration=where, user=self._user, password=self._password)


def _by(way: ListenerType) -> set[str]:
    found = {"tls"} if way.transport in {"tls", "wss"} else set()
    return found | ({"websocket"} if way.transport in {"ws", "wss"} else set())

"""The arguments of `connect`: the servers and the order in which they are tried, and the options of a connection."""

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Self
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from heliograph.client.errors import MessagingProblem
from heliograph.errors import InvalidInput


class Acknowledge(Enum):
    """When a received message counts as done with."""

    AUTO = "auto"
    """When `receive` returns it, or when the listener returns."""
    CLIENT = "client"
    """When `message.acknowledge()` is called, for all messages that the session has received so far."""
    DUPS_OK = "dups-ok"
    """As AUTO, but acknowledgements may be late; after a failure more messages may be redelivered."""
    INDIVIDUAL = "individual"
    """When `message.acknowledge()` is called, for this message alone."""
    TRANSACTED = "transacted"
    """When the session commits."""
    NONE = "none"
    """When the server has sent it: what is on its way when the connection breaks is lost."""


@dataclass(frozen=True)
class Settings:
    """All options of a connection, except those of TLS."""

    client_id: str = ""
    """Who this is, for durable subscriptions. One connection at a time may have it."""
    prefetch: int = 1000
    """How many messages a consumer keeps ready; asked for again when half of them are used."""
    timeout: float = 60.0
    """Seconds that the server has for an answer, and for letting us in."""
    idle_timeout: float = 60.0
    """Seconds without any input after which a connection counts as lost."""
    reconnect: bool = True
    """Whether a lost connection is made again."""
    on_interrupted: Callable[[MessagingProblem], object] | None = None
    on_restored: Callable[[str], object] | None = None
    container_id: str = field(default_factory=lambda: f"heliograph-{uuid.uuid4()}")
    """What the connection is called if it has no client id."""

    @property
    def identity(self) -> str:
        """The name that the server knows this connection by."""
        return self.client_id or self.container_id


_FROM_TEXT: dict[str, Callable[[str], Any]] = {
    "client_id": str,
    "prefetch": int,
    "timeout": float,
    "idle_timeout": float,
    "reconnect": lambda text: {"true": True, "false": False}[text.lower()],
}


def settings_of(in_url: dict[str, str], given: dict[str, Any]) -> Settings:
    """Options from a URL, and those that were given as arguments, which win."""
    values: dict[str, Any] = {}
    for name, text in in_url.items():
        if name not in _FROM_TEXT:
            known = ", ".join(sorted([*_FROM_TEXT, "hostname"]))
            raise InvalidInput(f"no option of a server's URL is called {name!r}; there are {known}")
        try:
            values[name] = _FROM_TEXT[name](text)
        except (KeyError, ValueError):
            raise InvalidInput(f"the option {name} in a server's URL cannot be {text!r}") from None
    values |= {name: value for name, value in given.items() if value is not None}
    settings = Settings(**values)
    if settings.prefetch < 0 or settings.timeout <= 0 or settings.idle_timeout < 0:
        raise InvalidInput("prefetch and idle_timeout cannot be negative, and timeout is more than 0 seconds")
    return settings


_PORTS = {"amqp": 5672, "amqps": 5671}


@dataclass(frozen=True)
class Server:
    """A server to connect to, and as whom."""

    host: str
    port: int
    tls: bool = False
    user: str | None = None
    password: str | None = None
    hostname: str = ""
    """What the connection asks for by name, if not the host: a queue manager, for example."""

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'amqps' if self.tls else 'amqp'}://{host}:{self.port}"

    @property
    def virtual_host(self) -> str:
        """What goes into `open` as the host name."""
        return self.hostname or self.host


def parse(url: str) -> tuple[Server, dict[str, str]]:
    """A server and the options behind the `?`, from `amqp://user:password@host:port/?option=value`."""
    parts = urlsplit(url)
    if parts.scheme not in _PORTS or not parts.hostname:
        raise InvalidInput(f"a server is amqp://host, amqp://host:port or amqps://..., not {url!r}")
    if parts.path not in {"", "/"} or parts.fragment:
        raise InvalidInput(f"a server's URL has no path: {_without_password(parts)!r}")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    server = Server(
        host=parts.hostname,
        port=_port(parts, url),
        tls=parts.scheme == "amqps",
        user=None if parts.username is None else unquote(parts.username),
        password=None if parts.password is None else unquote(parts.password),
        hostname=options.pop("hostname", ""),
    )
    return server, options


def _port(parts: SplitResult, url: str) -> int:
    try:
        return parts.port or _PORTS[parts.scheme]
    except ValueError:
        raise InvalidInput(f"a port is a number from 1 to 65535, in {url!r} it is not") from None


def _without_password(parts: SplitResult) -> str:
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


class Servers:
    """The servers to try, in order, beginning with the one that was good last."""

    def __init__(self, servers: Sequence[Server]) -> None:
        self._configured = list(servers)
        self._known = list(servers)
        self.current = self._known[0]

    @classmethod
    def of(cls, urls: str | Iterable[str]) -> tuple[Self, dict[str, str]]:
        """From one URL or several; options may be on any of them, and hold for all."""
        parsed = [parse(url) for url in ([urls] if isinstance(urls, str) else urls)]
        if not parsed:
            raise InvalidInput("expected the URL of at least one server, the list is empty")
        options: dict[str, str] = {}
        for _, more in parsed:
            options |= more
        return cls([server for server, _ in parsed]), options

    def round(self) -> list[Server]:
        """All servers once each, the current one first."""
        known = list(dict.fromkeys([*self._known, *self._configured]))
        at = known.index(self.current) if self.current in known else 0
        return known[at:] + known[:at]

    def announced(self, entries: Any) -> None:
        """A server said which others can be used in its place (`failover-server-list`)."""
        if isinstance(entries, list):
            others = [other for entry in entries if (other := self._described(entry)) is not None]
            self._known = list(dict.fromkeys([self.current, *others]))

    def redirected(self, info: Any) -> Server | None:
        """The server that an `amqp:connection:redirect` names, or None if it is not valid."""
        return self._described(info)

    def _described(self, entry: Any) -> Server | None:
        if not isinstance(entry, Mapping):
            return None
        host, port = entry.get("network-host"), entry.get("port")
        if not isinstance(host, str) or not isinstance(port, int) or not 0 < port < 65536:
            return None
        scheme = entry.get("scheme")
        return replace(
            self.current,
            host=host,
            port=int(port),
            # A redirection must not downgrade a TLS connection to plain text.
            tls=self.current.tls or scheme in {"amqps", "amqpwss"},
            hostname=str(entry.get("hostname") or self.current.hostname),
        )

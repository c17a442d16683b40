"""Where AMQP clients may go when this server does not answer, as URLs of the configuration."""

from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

from heliograph.broker import Elsewhere
from heliograph.errors import Problem
from heliograph.objects import value_text

_PORTS = {"amqp": 5672, "amqps": 5671}


def elsewhere(url: str) -> Elsewhere:
    """The server that a URL names; a Problem if it names none."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not host or parts.scheme not in _PORTS or parts.path.strip("/") or parts.username is not None:
        raise Problem(f"expected amqp://HOST:PORT or amqps://HOST:PORT, found {value_text(url)}")
    return Elsewhere(host, _PORTS[parts.scheme] if port is None else port, parts.scheme)


def failover_mistakes(urls: Sequence[str]) -> Iterator[str]:
    """What is wrong with the servers to go to."""
    for number, url in enumerate(urls, 1):
        try:
            elsewhere(url)
        except Problem as problem:
            yield f"server.failover[{number}]: {problem}"

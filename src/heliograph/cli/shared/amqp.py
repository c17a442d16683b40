"""How commands reach a server's queues: its URL, a connection, and requests to its management node."""

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from heliograph.cli.errors import CommandFailed
from heliograph.cli.shared.output import showing
from heliograph.client import Connection, Message, connect

Ask = Callable[[str, dict[str, Any]], Any]
"""Ask the management node of a server: an operation and its arguments; the answer, or CommandFailed."""
DEFAULT_URL = "amqp://127.0.0.1:5672"
_OK = 200
_PATIENCE = 30.0


def add_url(parser: argparse.ArgumentParser) -> None:
    """Declare the option that says which server."""
    parser.add_argument(
        "--url",
        default=DEFAULT_URL,
        help=f"the server, such as amqp://user:password@host:port; with ?hostname=NAME at its end, that queue manager "
        f"of it (default: {DEFAULT_URL})",
    )


@contextmanager
def opened(url: str) -> Iterator[Connection]:
    """A connection to the server; one that is lost is a Problem, not made again."""
    with showing("connecting"):
        made = connect(url, reconnect=False, timeout=_PATIENCE)
    with made as connection:
        yield connection


@contextmanager
def management(url: str) -> Iterator[Ask]:
    """A way to ask the management node of the server."""
    with opened(url) as connection, connection.session() as session:

        def ask(operation: str, arguments: dict[str, Any]) -> Any:
            request = Message(arguments, properties={"operation": operation})
            answer = session.request("$management", request, _PATIENCE)
            if answer.properties.get("status") != _OK:
                raise CommandFailed(str(answer.body["error"]))
            return answer.body

        yield ask

"""One AMQP connection, either role: bytes in, events out, and bytes to be written. No sockets and no clock."""

from typing import Any

from heliograph.amqp.events import Event
from heliograph.amqp.options import Options
from heliograph.amqp.performatives import Error, Open
from heliograph.amqp.session import Session


class Connection:
    """The engine of one network connection.

    Feed it with `receive`, handle the events, call `flush`, then take and write what is in `output`.
    """

    output: list[bytes]  # to be written; the owner takes it (and leaves an empty list)
    sessions: list[Session]
    remote: Open | None  # the peer's open
    gone: bool  # over: nothing that is called has any effect
    context: Any  # for the owner

    def __init__(self, options: Options, *, server: bool) -> None:
        """A client calls `open` to begin; a server waits for `Opened`."""

    def receive(self, data: bytes, now: float) -> list[Event]:
        """Take what came from the network. Never raises for what a peer can send: a bad peer is closed, with `Closed`."""

    def authenticated(self, ok: bool, detail: str = "") -> list[Event]:
        """Server: the answer to `Authenticate`. What the client sent meanwhile comes back as events."""

    def open(
        self, *, properties: dict[str, Any] | None = None, offered_capabilities: tuple[str, ...] | None = None
    ) -> None:
        """Send our open (client: at once or after SASL; server: as answer to `Opened`). What is given replaces the options'."""

    def begin(self, *, properties: dict[str, Any] | None = None) -> Session:
        """Begin a session. `Begun` is the peer's answer; links may be attached before. `Problem` when there are too many."""

    def close(self, error: Error | None = None) -> None:
        """Close the connection; `Closed` comes with the peer's answer. Before our open, this refuses the peer's."""

    def flush(self) -> None:
        """Write the dispositions that were gathered; to be called before `output` is taken."""

    def tick(self, now: float) -> tuple[list[Event], float]:
        """Send what keeps the connection alive and notice a silent peer (`Closed`). Says when to be called next (inf: never)."""

"""What clients of different makers send and get, and how they are refused, in one form for all of them."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple


@dataclass
class Letter:
    """A message: what is None was not there or is not to be."""

    body: Any = None
    durable: bool = False
    priority: int | None = None
    ttl: int | None = None
    """Milliseconds."""
    delivery_count: int = 0
    message_id: Any = None
    to: str | None = None
    subject: str | None = None
    reply_to: str | None = None
    correlation_id: Any = None
    content_type: str | None = None
    group_id: str | None = None
    group_sequence: int | None = None
    reply_to_group_id: str | None = None
    properties: dict[str, Any] = field(default_factory=dict)
    annotations: dict[str, Any] = field(default_factory=dict)


class Outcome(NamedTuple):
    """What the server said of a message."""

    outcome: str
    condition: str = ""
    description: str = ""
    txn: bytes = b""


class Large(NamedTuple):
    """A body too large to be handed from one process to another."""

    size: int
    sha256: str


class Repeated(NamedTuple):
    """A body to be made of the same bytes again and again."""

    piece: bytes
    size: int

    def whole(self) -> bytes:
        """The body itself."""
        return (self.piece * (self.size // len(self.piece) + 1))[: self.size]


class Refused(Exception):
    """The server has refused a connection or a link, or has ended it."""

    def __init__(self, condition: str, description: str = "", info: dict[str, Any] | None = None) -> None:
        super().__init__(f"{condition}: {description}")
        self.condition = condition
        self.info = info or {}


@dataclass(frozen=True)
class Terminus:
    """The server's end of a link, as a client asks for it."""

    address: str | None
    capabilities: tuple[str, ...] = ()
    dynamic: bool = False
    lasting: bool = False
    """Whether a subscription is to outlive its link."""
    copy: bool = False
    selector: str | None = None
    no_local: bool = False
    failing: bool = False
    """Whether what is left unsettled has failed, which Qpid JMS says of all that it receives. Proton cannot say it."""


UNSUBSCRIBE = Terminus(address="")
"""Stands for no source at all."""

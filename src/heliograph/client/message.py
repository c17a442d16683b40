"""Messages as Python sees them: a body, properties, and headers as attributes.

| body | other JMS clients see |
|---|---|
| `str` | a text message |
| `bytes` | a bytes message |
| `dict` | a map message |
| `list` | a stream message |
| `None` | a message without a body |
| anything else that AMQP has a type for | an object message |
"""

from typing import TYPE_CHECKING, Any, Protocol

from heliograph.client.destination import Destination
from heliograph.client.errors import IllegalState

Body = Any
MessageId = Any

# Attributes that are filled in from the bytes of a received message, when one of them is first looked at.
_LAZY = (
    "annotations",
    "body",
    "content_type",
    "correlation_id",
    "delivery_time",
    "destination",
    "expiration",
    "failed_deliveries",
    "group_id",
    "group_sequence",
    "message_id",
    "persistent",
    "priority",
    "properties",
    "reply_to",
    "timestamp",
    "type",
    "user_id",
)


class Receiving(Protocol):
    """What a received message uses of its consumer."""

    def acknowledge(self, token: Any) -> None:
        """Acknowledge the message of this token."""

    def unfold(self, payload: bytes, message: "Message") -> None:
        """Read the bytes into the message's attributes."""


class Message:
    """A message to be sent, or one that was received. Times are seconds since 1970, as `time.time()` has them."""

    __slots__ = ("_again", "_origin", "_payload", "_token", *_LAZY)

    body: Body
    properties: dict[str, Any]
    """The application's own headers, which selectors can look at."""
    type: str | None
    """What the application calls this kind of message."""
    correlation_id: MessageId
    reply_to: Destination | None
    group_id: str | None
    group_sequence: int | None
    content_type: str | None
    message_id: MessageId
    """Set by sending."""
    destination: Destination | None
    """Set by sending."""
    timestamp: float | None
    """When it was sent."""
    expiration: float | None
    """When it expires; None is never."""
    delivery_time: float | None
    """When it may be delivered, if its sender asked for a delay."""
    priority: int
    persistent: bool
    user_id: str | None
    failed_deliveries: int
    """How many deliveries had failed when the server sent it to this consumer."""
    annotations: dict[str, Any]
    """What servers on the way noted: the reason why this is a dead letter, for example."""

    def __init__(
        self,
        body: Body = None,
        *,
        properties: dict[str, Any] | None = None,
        type: str | None = None,  # noqa: A002 - JMS calls it so
        correlation_id: MessageId = None,
        reply_to: Destination | None = None,
        group_id: str | None = None,
        group_sequence: int | None = None,
        content_type: str | None = None,
    ) -> None:
        self.body = body
        self.properties = properties if properties is not None else {}
        self.type = type
        self.correlation_id = correlation_id
        self.reply_to = reply_to
        self.group_id = group_id
        self.group_sequence = group_sequence
        self.content_type = content_type
        self.message_id = None
        self.destination = None
        self.timestamp = None
        self.expiration = None
        self.delivery_time = None
        self.priority = 4
        self.persistent = True
        self.user_id = None
        self.annotations = {}
        self.failed_deliveries = 0
        self._again = 0
        self._payload: bytes | None = None
        self._origin: Receiving | None = None
        self._token: Any = None

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Comes here only for attributes that have no value yet: those of a received message, the first time."""
            if name not in _LAZY or self._payload is None:
                raise AttributeError(f"a message has no {name!r}")
            payload, self._payload = self._payload, None
            self._origin.unfold(payload, self)
            return getattr(self, name)

    @property
    def delivery_count(self) -> int:
        """How often it was delivered, this time included."""
        return self.failed_deliveries + self._again + 1

    @property
    def redelivered(self) -> bool:
        """Whether it was delivered before, to this consumer or another."""
        return self.delivery_count > 1

    def acknowledge(self) -> None:
        """Acknowledge this message, or all of the session: see `Acknowledge`. The call does not wait."""
        if self._origin is None:
            raise IllegalState("only a received message can be acknowledged")
        self._origin.acknowledge(self._token)

    def __repr__(self) -> str:
        body = repr(self.body)
        return f"<Message {self.message_id or 'not sent'} {body if len(body) <= 60 else body[:57] + '...'}>"


class ReceivedMessage(Message):
    """One that came from a server; its bytes are read when an attribute is first looked at."""

    __slots__ = ()

    def __init__(self, payload: bytes, again: int, origin: Receiving, token: Any) -> None:
        """`again` is how often it was given out before by `recover`; `token` is for `origin.acknowledge`."""
        # The other attributes have no value yet, which `__getattr__` relies on.
        self._payload = payload
        self._again = again
        self._origin = origin
        self._token = token

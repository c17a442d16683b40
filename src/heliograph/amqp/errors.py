"""What AMQP's modules raise. Most of it says that the peer's bytes are wrong; the rest, that a call was.

The engine never raises a `ProtocolError` to its owner: it ends what the standard says must end (a link, a session, the
connection), with the error's condition, and reports that as an event.
"""

from heliograph.amqp import conditions
from heliograph.errors import InvalidInput, Problem


class AmqpError(Problem):
    """The root of what this room raises."""


class EncodeError(AmqpError, InvalidInput):
    """A Python value that AMQP has no encoding for."""


class LimitReached(AmqpError):
    """The peer allows no more sessions on a connection, or no more links in a session."""


class NotOpen(AmqpError):
    """Something was begun on a connection or session that is over."""


class LinkNameInUse(AmqpError, InvalidInput):
    """The connection has a link with this name and role already."""


class ProtocolError(AmqpError):
    """The peer broke the standard: `condition` is the name that the standard has for it, the text says how."""

    def __init__(self, condition: str, text: str) -> None:
        super().__init__(text)
        self.condition = condition


class DecodeError(ProtocolError, InvalidInput):
    """Bytes that are no AMQP value, or no message."""

    def __init__(self, text: str) -> None:
        super().__init__(conditions.DECODE_ERROR, text)


class InvalidField(ProtocolError, InvalidInput):
    """A value that its field may not have."""

    def __init__(self, text: str) -> None:
        super().__init__(conditions.INVALID_FIELD, text)


class ConnectionFault(ProtocolError):
    """Found in a frame of one session, but the standard has the whole connection close for it."""

"""How the rooms of AMQP say that the peer's bytes are wrong."""

from heliograph.amqp import conditions
from heliograph.errors import Problem


class ProtocolError(Problem):
    """The peer broke the standard: `condition` is the name that the standard has for it, the text says how."""

    def __init__(self, condition: str, text: str) -> None:
        super().__init__(text)
        self.condition = condition


class DecodeError(ProtocolError):
    """Bytes that are no AMQP value."""

    def __init__(self, text: str) -> None:
        super().__init__(conditions.DECODE_ERROR, text)


class InvalidField(ProtocolError):
    """A value that its field may not have."""

    def __init__(self, text: str) -> None:
        super().__init__(conditions.INVALID_FIELD, text)


class Fatal(ProtocolError):
    """Found while a session was at work, but the whole connection has to close for it."""

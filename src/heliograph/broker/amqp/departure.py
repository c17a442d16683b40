"""How a link can come to its end."""

from enum import Enum, auto


class Departure(Enum):
    """What became of a link."""

    DETACHED = auto()
    """The client has left it, and may come back to what outlives it."""
    CLOSED = auto()
    """The client is done with it for good."""
    DISCONNECTED = auto()
    """The client has closed its connection in good order. It has spoken before of the messages that its program had."""
    LOST = auto()
    """The session or the connection is gone, or the server has ended the link."""

"""How a session tells the server that messages were received."""

from enum import Enum


class Acknowledge(Enum):
    """When a received message counts as done with."""

    AUTO = "auto"
    """When `receive` returns it, or when the listener returns."""
    CLIENT = "client"
    """When `message.acknowledge()` is called, for all messages that the session has received so far."""
    DUPS_OK = "dups-ok"
    """As AUTO, but the server is told when it suits; after a failure more messages may come twice."""
    INDIVIDUAL = "individual"
    """When `message.acknowledge()` is called, for this message alone."""
    TRANSACTED = "transacted"
    """When the session commits."""
    NONE = "none"
    """When the server has sent it: what is on its way when the connection breaks is lost."""

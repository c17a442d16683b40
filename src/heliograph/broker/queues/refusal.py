"""Error conditions of refusals, and the outcome of putting messages."""

from collections.abc import Generator
from typing import NamedTuple

from heliograph.broker.errors import Refusal

NOT_FOUND = "amqp:not-found"
NOT_ALLOWED = "amqp:not-allowed"
FULL = "amqp:resource-limit-exceeded"
LOCKED = "amqp:resource-locked"
DELETED = "amqp:resource-deleted"
TOO_LONG = "amqp:link:message-size-exceeded"
INTERNAL = "amqp:internal-error"
ROLLED_BACK = "amqp:transaction:rollback"
PRECONDITION = "amqp:precondition-failed"


class Put(NamedTuple):
    """The outcome of putting messages."""

    refused: dict[int, Refusal]
    """Messages that were refused, by index; nearly always empty."""
    stored: bool
    """Whether some are stored: then answer the sender only when the turn is safe (`turn.held`)."""


TAKEN = Put({}, stored=False)
STORED = Put({}, stored=True)
NOBODY = Put({}, stored=False)
"""There was no receiver."""
PutSteps = Generator[bool | None, None, Put]
"""A put that takes long, as work in slices."""

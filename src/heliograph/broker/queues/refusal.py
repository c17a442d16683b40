"""Error conditions of refusals, and what became of runs of messages that were put."""

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
    """What became of a run of messages that was put."""

    refused: dict[int, Refusal]
    """Those that were not taken, by their place in the run; nearly always empty."""
    stored: bool
    """Whether some are persistent: tell the sender only when the turn is safe (`turn.held`)."""


TAKEN = Put({}, stored=False)
STORED = Put({}, stored=True)
NOBODY = Put({}, stored=False)
"""There was nobody to put them for."""
PutSteps = Generator[bool | None, None, Put]
"""A put that takes long, as work in slices."""

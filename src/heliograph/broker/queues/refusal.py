"""What those are told whose wish cannot be granted: an error condition of AMQP 1.0, and a text for people."""

from collections.abc import Generator
from typing import NamedTuple

NOT_FOUND = "amqp:not-found"
NOT_ALLOWED = "amqp:not-allowed"
FULL = "amqp:resource-limit-exceeded"
LOCKED = "amqp:resource-locked"
DELETED = "amqp:resource-deleted"
TOO_LONG = "amqp:link:message-size-exceeded"
INTERNAL = "amqp:internal-error"
ROLLED_BACK = "amqp:transaction:rollback"
PRECONDITION = "amqp:precondition-failed"


class Refusal(NamedTuple):
    """Why something is not done."""

    condition: str
    text: str


class Refused(Exception):
    """Raised by what has a result when it is granted."""

    def __init__(self, condition: str, text: str) -> None:
        super().__init__(text)
        self.refusal = Refusal(condition, text)


class NoSuchQueue(Refused):
    """There is no queue of that name."""

    def __init__(self, name: str) -> None:
        super().__init__(NOT_FOUND, f"there is no queue {name}")


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

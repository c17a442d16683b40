"""What becomes of a message that was delivered."""

from typing import NamedTuple


class Outcome(NamedTuple):
    """The consumer's word on a message."""

    accepted: bool = False
    """It has done its duty and goes."""
    rejected: bool = False
    """It cannot be used: it becomes a dead letter."""
    failed: bool = False
    """It goes back to its place, and the attempt counts; otherwise it is as if it had not been delivered."""
    lost: bool = False
    """The consumer left without a word on it, and perhaps on others that it had in hand: so nobody is sure that it
    failed."""
    undeliverable_here: bool = False
    """It goes back, but this consumer does not get it again."""
    reason: str = ""
    """Of what is rejected: why, for those who look at dead letters."""


ACCEPTED = Outcome(accepted=True)
RELEASED = Outcome()
FAILED = Outcome(failed=True)
LOST = Outcome(failed=True, lost=True)
UNDELIVERABLE_HERE = Outcome(failed=True, undeliverable_here=True)


def rejected(reason: str = "") -> Outcome:
    """The outcome of a message that cannot be used."""
    return Outcome(rejected=True, reason=reason)

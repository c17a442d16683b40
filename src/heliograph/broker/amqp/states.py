"""Delivery states on the wire, what they mean to a queue, and how links come to their end."""

from enum import Enum, auto

from heliograph.amqp import Accepted, DeliveryState, Error, Modified, Rejected, Released
from heliograph.broker.errors import Refusal
from heliograph.broker.queues.consumer import ACCEPTED, FAILED, RELEASED, Outcome, rejected

TAKEN = Accepted()
"""Said of all that were put."""


def outcome_of(state: DeliveryState | None) -> Outcome | None:
    """What a receiver says of a message; None if it says nothing final."""
    match state:
        case Accepted():
            return ACCEPTED
        case Released():
            return RELEASED
        case Rejected():
            return rejected(_reason(state.error))
        case Modified():
            if not state.undeliverable_here:
                return FAILED if state.delivery_failed else RELEASED
            return Outcome(failed=state.delivery_failed, undeliverable_here=True)
    return None


def _reason(error: Error | None) -> str:
    if error is None:
        return "rejected by the receiver"
    return f"{error.condition}: {error.description}" if error.description else str(error.condition)


def error_of(refusal: Refusal) -> Error:
    """Why something is not done, for the client."""
    return Error(condition=refusal.condition, description=refusal.text)


def rejection(refusal: Refusal) -> Rejected:
    """The outcome of a message that was not taken."""
    return Rejected(error=error_of(refusal))


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

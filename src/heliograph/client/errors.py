"""The exceptions of the client: one class for each kind of cause, all subclasses of `MessagingProblem`.

A mistake in the arguments of a call, such as a negative delay, is a `heliograph.errors.InvalidInput`.
"""

from typing import Any

from heliograph.amqp import Error
from heliograph.errors import InvalidInput, Problem, Unreachable


class MessagingProblem(Problem):
    """The root of what the client raises. `condition` is the name that the server gave to the error, if it did."""

    condition: str = ""


class ConnectionLost(MessagingProblem, Unreachable):
    """There is no connection to a server, and none is being made."""


class NoAnswer(MessagingProblem, Unreachable):
    """The server did not answer in the time allowed."""


class SecurityError(MessagingProblem):
    """The server does not know this user, or does not allow what was asked."""


class InvalidDestination(MessagingProblem, InvalidInput):
    """There is no such queue, topic or subscription."""


class InvalidSelector(MessagingProblem, InvalidInput):
    """The server does not understand a selector."""


class InvalidClientId(MessagingProblem, InvalidInput):
    """Another connection has this client id."""


class ResourceLimit(MessagingProblem):
    """A limit of the server is reached, for example the depth of a queue."""


class InUse(MessagingProblem):
    """Another consumer or connection has it exclusively: a queue or subscription, for example."""


class NotAllowed(MessagingProblem):
    """The server understood, and refuses."""


class Unsupported(MessagingProblem):
    """The server cannot do what was asked."""


class MessageTooLarge(MessagingProblem, InvalidInput):
    """A message is larger than the server takes."""


class ManagementError(MessagingProblem):
    """The management node of the server refused a request."""


class MessageRefused(MessagingProblem):
    """The server did not accept a message."""


class MessageFormat(MessagingProblem, InvalidInput):
    """A value cannot be encoded in a message, or a received message cannot be read."""


class TransactionRolledBack(MessagingProblem):
    """The unit of work was not committed: none of its messages was sent, and those it received come again."""


class TransactionInDoubt(MessagingProblem):
    """The connection was lost during a commit; whether it took place is not known."""


class IllegalState(MessagingProblem):
    """A method was called in a state that does not allow it: on something closed, for example."""


_KINDS: dict[str, type[MessagingProblem]] = {
    "amqp:not-found": InvalidDestination,
    "amqp:resource-deleted": InvalidDestination,
    "amqp:unauthorized-access": SecurityError,
    "amqp:resource-limit-exceeded": ResourceLimit,
    "amqp:link:transfer-limit-exceeded": ResourceLimit,
    "amqp:resource-locked": InUse,
    "amqp:link:stolen": InUse,
    "amqp:not-allowed": NotAllowed,
    "amqp:precondition-failed": NotAllowed,
    "amqp:not-implemented": Unsupported,
    "amqp:link:message-size-exceeded": MessageTooLarge,
    "amqp:connection:forced": ConnectionLost,
    "amqp:transaction:rollback": TransactionRolledBack,
    "amqp:transaction:timeout": TransactionRolledBack,
    "amqp:transaction:unknown-id": TransactionRolledBack,
}


def problem_from(
    error: Error | None, doing: str, otherwise: type[MessagingProblem] = MessagingProblem
) -> MessagingProblem:
    """The exception for a server's `error`; `doing` says what failed."""
    if error is None:
        return otherwise(f"{doing}: the server ended it and gave no reason")
    condition = str(error.condition)
    kind = _KINDS.get(condition, otherwise)
    if condition == "amqp:invalid-field":
        kind = _of_invalid_field(error.info or {}, otherwise)
    problem = kind(f"{doing}: {error.description or 'the server gave no text'} ({condition})")
    problem.condition = condition
    return problem


def _of_invalid_field(info: dict[Any, Any], otherwise: type[MessagingProblem]) -> type[MessagingProblem]:
    field = str(info.get("invalid-field", ""))
    return {"container-id": InvalidClientId, "filter": InvalidSelector}.get(field, otherwise)

"""What can go wrong for a user of the client: one class per kind of cause, all of them `Problem`s."""

from typing import Any

from heliograph.amqp import Error
from heliograph.errors import Problem


class MessagingProblem(Problem):
    """The root of everything that the client raises. `condition` is the server's own word for it, if it gave one."""

    condition: str = ""


class ConnectionLost(MessagingProblem):
    """There is no connection to a server, and none is being made."""


class NoAnswer(MessagingProblem):
    """The server did not answer in the time allowed."""


class SecurityError(MessagingProblem):
    """The server does not know this user, or does not allow what was asked."""


class InvalidDestination(MessagingProblem):
    """There is no such queue, topic or subscription."""


class InvalidSelector(MessagingProblem):
    """The server does not understand a selector."""


class InvalidClientId(MessagingProblem):
    """Another connection has this client id."""


class ResourceLimit(MessagingProblem):
    """A limit of the server is reached, for example the depth of a queue."""


class InUse(MessagingProblem):
    """Somebody else has what was asked for: an exclusive queue or subscription, for example."""


class NotAllowed(MessagingProblem):
    """The server understood, and refuses."""


class Unsupported(MessagingProblem):
    """The server cannot do what was asked."""


class MessageTooLarge(MessagingProblem):
    """A message is larger than the server takes."""


class MessageRefused(MessagingProblem):
    """The server did not accept a message."""


class MessageFormat(MessagingProblem):
    """A value cannot travel in a message, or a message that came cannot be read."""


class TransactionRolledBack(MessagingProblem):
    """The unit of work was not committed: none of its messages was sent, and those it received come again."""


class TransactionInDoubt(MessagingProblem):
    """The connection was lost during a commit; whether it took place is not known."""


class IllegalState(MessagingProblem):
    """A method was called at a time when it makes no sense: on something closed, for example."""


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
    """The problem that a server's `error` is to somebody who was `doing` something."""
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


__all__ = [
    "ConnectionLost",
    "IllegalState",
    "InUse",
    "InvalidClientId",
    "InvalidDestination",
    "InvalidSelector",
    "MessageFormat",
    "MessageRefused",
    "MessageTooLarge",
    "MessagingProblem",
    "NoAnswer",
    "NotAllowed",
    "ResourceLimit",
    "SecurityError",
    "TransactionInDoubt",
    "TransactionRolledBack",
    "Unsupported",
]

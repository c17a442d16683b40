"""Requests to the server's management node."""

from typing import Any

from heliograph.client.blocking import Session
from heliograph.client.errors import ManagementError
from heliograph.client.message import Message

_TIMEOUT = 30.0


def management(session: Session, operation: str, **arguments: Any) -> Any:
    """The body of the reply to a management request; `ManagementError` if the server refuses it."""
    request = Message(arguments, properties={"operation": operation})
    answer = session.request("$management", request, _TIMEOUT)
    if answer.properties.get("status") != 200:
        error = answer.body.get("error") if isinstance(answer.body, dict) else answer.body
        name = arguments.get("name")
        raise ManagementError(f"{operation}{f' {name}' if name else ''}: the server refuses: {error}")
    return answer.body

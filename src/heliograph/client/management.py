"""Questions to the server's management node."""

from typing import Any

from heliograph.client.blocking import Session
from heliograph.client.message import Message
from heliograph.errors import Problem

_PATIENCE = 30.0


def management(session: Session, operation: str, **arguments: Any) -> Any:
    """The answer to a request; `Problem` if the server does not do it."""
    request = Message(arguments, properties={"operation": operation})
    answer = session.request("$management", request, _PATIENCE)
    if answer.properties.get("status") != 200:
        error = answer.body.get("error") if isinstance(answer.body, dict) else answer.body
        raise Problem(f"the server does not do {operation} {arguments.get('name', '')}: {error}")
    return answer.body

"""Questions to the server's management node."""

import re
from typing import Any

from heliograph.client import Message
from heliograph.client.blocking import Session
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


def own_queue(session: Session, *parts: str) -> str:
    """The name of a queue in which a flow keeps something; it is defined if it is not there yet."""
    name = re.sub(r"[^A-Za-z0-9._]", "_", ".".join(("FLOW", *parts)))
    if not management(session, "queue-list", pattern=name):
        management(session, "queue-define", name=name, default_persistence=True)
    return name

"""Queues in which flows keep what is theirs."""

import re

from heliograph.client.blocking import Session
from heliograph.client.management import management


def own_queue(session: Session, *parts: str) -> str:
    """The name of a queue in which a flow keeps something; it is defined if it is not there yet."""
    name = re.sub(r"[^A-Za-z0-9._]", "_", ".".join(("FLOW", *parts)))
    if not management(session, "queue-list", pattern=name):
        management(session, "queue-define", name=name, default_persistence=True)
    return name

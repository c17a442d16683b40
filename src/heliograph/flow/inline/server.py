"""The server, when it is there, and the queues in which flows keep what is theirs."""

import logging
import re
import threading

from heliograph.client import Connection, MessagingProblem, Session, connect
from heliograph.client.management import management

# The way to the server, when it is there.

LOG = logging.getLogger("heliograph.flow")
_PAUSE = 0.5


def connected(server: str, stop: threading.Event) -> Connection | None:
    """A connection to the server, as soon as there is one; None if it is time to stop before."""
    said = ""
    while not stop.is_set():
        try:
            return connect(server)
        except MessagingProblem as problem:
            if str(problem) != said:
                said = str(problem)
                LOG.warning("waiting for the server: %s", problem)
            stop.wait(_PAUSE)
    return None


# Queues in which flows keep what is theirs.


def own_queue(session: Session, *parts: str) -> str:
    """The name of a queue in which a flow keeps something; it is defined if it is not there yet."""
    name = re.sub(r"[^A-Za-z0-9._]", "_", ".".join(("FLOW", *parts)))
    if not management(session, "queue-list", pattern=name):
        management(session, "queue-define", name=name, default_persistence=True)
    return name

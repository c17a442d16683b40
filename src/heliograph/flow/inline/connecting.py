"""The way to the server, when it is there."""

import logging
import threading

from heliograph.client.blocking import Connection, connect
from heliograph.client.problems import MessagingProblem

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

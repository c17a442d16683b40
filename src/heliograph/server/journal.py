"""Comings and goings of clients, in the log."""

import logging

from heliograph.broker.connection import Connection
from heliograph.mqtt.packets import Connect
from heliograph.mqtt.reasons import Reason
from heliograph.server.logs import RepeatedWarnings
from heliograph.server.writing import NetworkOutlet

log = logging.getLogger("heliograph.clients")
_warnings = RepeatedWarnings(log)
_VERSIONS = {3: "3.1", 4: "3.1.1", 5: "5"}


class LogJournal:
    """Writes a line for each client that comes or goes; refusals, which can come in floods, at most once a second."""

    def admitted(self, connection: Connection, connect: Connect) -> None:
        """A client has its session."""
        if log.isEnabledFor(logging.INFO) and connection.session is not None:
            fields = {
                "client": connection.session.client_id,
                "peer": _peer(connection),
                "mqtt": _VERSIONS[connect.version],
                "user": connect.username,
                "clean": connect.clean_start,
                "keep_alive": connection.keep_alive,
            }
            log.info("client connected", extra={k: v for k, v in fields.items() if v is not None})

    def refused(self, connection: Connection, reason: Reason, text: str) -> None:
        """A client was turned away."""
        _warnings.warning(reason.name, "client refused", peer=_peer(connection), reason=reason.name, detail=text)

    def ended(self, connection: Connection, client_id: str, why: str) -> None:
        """A client that had been admitted is gone."""
        if log.isEnabledFor(logging.INFO):
            log.info("client gone", extra={"client": client_id, "why": why})

    def unreadable(self, client_id: str, why: str) -> None:
        """Messages that wait for a client cannot be read back from the log."""
        _warnings.warning(client_id, "stored messages cannot be read", client=client_id, detail=why)


def _peer(connection: Connection) -> str:
    assert isinstance(connection.outlet, NetworkOutlet)
    return connection.outlet.peer()

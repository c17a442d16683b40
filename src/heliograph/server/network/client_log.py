"""Log lines for clients that connect, are refused, or disconnect."""

import logging

from heliograph.broker import Outlet
from heliograph.server.logs import RepeatedWarnings
from heliograph.server.network.writing import NetworkOutlet

log = logging.getLogger("heliograph.clients")
_warnings = RepeatedWarnings(log)


class LogJournal:
    """Logs each client that connects or disconnects; of refusals, which can come in floods, at most one a second."""

    def admitted(self, outlet: Outlet, client_id: str, **particulars: object) -> None:
        """Log that a client was authenticated and connected."""
        if log.isEnabledFor(logging.INFO):
            log.info("client connected", extra=_there({"client": client_id, "peer": _peer(outlet), **particulars}))

    def refused(self, outlet: Outlet, reason: str, text: str, **particulars: object) -> None:
        """Log that a client was refused, and why."""
        fields = {"peer": _peer(outlet), **particulars, "reason": reason, "detail": text}
        _warnings.warning(reason, "client refused", **_there(fields))

    def ended(self, client_id: str, why: str) -> None:
        """Log that a connected client has disconnected, and why."""
        if log.isEnabledFor(logging.INFO):
            log.info("client disconnected", extra={"client": client_id, "why": why})

    def unreadable(self, client_id: str, why: str) -> None:
        """Log that stored messages for a client cannot be read."""
        _warnings.warning("unreadable", "stored messages cannot be read", client=client_id, detail=why)

    def failed(self, what: str, outlet: Outlet | None) -> None:
        """Log an internal error with its traceback, and the client whose connection is closed for it."""
        peer = {} if outlet is None else {"peer": _peer(outlet)}
        log.exception("internal error: %s%s", what, "; the connection is closed" if peer else "", extra=peer)


def _there(fields: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in fields.items() if value is not None}


def _peer(outlet: Outlet) -> str:
    assert isinstance(outlet, NetworkOutlet)
    return outlet.peer()

"""Comings and goings of clients, in the log."""

import logging

from heliograph.broker import Outlet
from heliograph.server.logs import RepeatedWarnings
from heliograph.server.network.writing import NetworkOutlet

log = logging.getLogger("heliograph.clients")
_warnings = RepeatedWarnings(log)


class LogJournal:
    """Writes a line for each client that comes or goes; refusals, which can come in floods, at most once a second."""

    def admitted(self, outlet: Outlet, client_id: str, **particulars: object) -> None:
        """A client has been let in."""
        if log.isEnabledFor(logging.INFO):
            log.info("client connected", extra=_there({"client": client_id, "peer": _peer(outlet), **particulars}))

    def refused(self, outlet: Outlet, reason: str, text: str, **particulars: object) -> None:
        """A client was turned away."""
        fields = {"peer": _peer(outlet), **particulars, "reason": reason, "detail": text}
        _warnings.warning(reason, "client refused", **_there(fields))

    def ended(self, client_id: str, why: str) -> None:
        """A client that had been admitted is gone."""
        if log.isEnabledFor(logging.INFO):
            log.info("client disconnected", extra={"client": client_id, "why": why})

    def unreadable(self, client_id: str, why: str) -> None:
        """Messages that wait for a client cannot be read back from the log."""
        _warnings.warning("unreadable", "stored messages cannot be read", client=client_id, detail=why)

    def failed(self, what: str, outlet: Outlet | None) -> None:
        """A defect has shown itself."""
        peer = {} if outlet is None else {"peer": _peer(outlet)}
        log.exception("internal error: %s%s", what, "; the connection is closed" if peer else "", extra=peer)


def _there(fields: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in fields.items() if value is not None}


def _peer(outlet: Outlet) -> str:
    assert isinstance(outlet, NetworkOutlet)
    return outlet.peer()

"""What a NATS server's monitoring page says, as figures."""

import json
from http.client import HTTPConnection, HTTPException

from heliograph.lab.machine import HOST
from heliograph.lab.targets.statistics import Figure

_PATIENCE = 2.0
_METRICS = {
    "connections": "connected",
    "in_msgs": "messages_received",
    "out_msgs": "messages_sent",
    "slow_consumers": "slow_consumers",
}


class MonitoringPage:
    """Reads /varz over one connection."""

    def __init__(self, port: int) -> None:
        self._connection = HTTPConnection(HOST, port, timeout=_PATIENCE)

    def read(self) -> list[Figure]:
        """The figures now."""
        try:
            self._connection.request("GET", "/varz")
            values = json.loads(self._connection.getresponse().read())
        except (OSError, HTTPException, ValueError):
            self._connection.close()
            return []
        return [
            Figure("server", "statistics", metric, values[key]) for key, metric in _METRICS.items() if key in values
        ]

    def close(self) -> None:
        """Let go of the connection."""
        self._connection.close()

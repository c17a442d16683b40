"""What our server's pages for operators say, as figures."""

import json
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPException
from typing import Any

from heliograph.lab.machine import HOST
from heliograph.lab.targets.statistics import Figure

_PATIENCE = 2.0  # seconds: a server that is busy for longer has no figures for this moment
_SUBSCRIPTIONS = 20  # the fullest ones are enough, whatever their number


class HeliographStatistics:
    """Reads /stats and /subscriptions over one connection."""

    def __init__(self, port: int, host: str = HOST) -> None:
        self._connection = HTTPConnection(host, port, timeout=_PATIENCE)

    def read(self) -> list[Figure]:
        """The figures now."""
        try:
            stats, subscriptions = self._page("/stats"), self._page("/subscriptions")
        except (OSError, HTTPException, ValueError):
            self._connection.close()
            return []
        return [*_of_server(stats), *_of_queues(stats["queues"]["named"]), *_of_subscriptions(subscriptions)]

    def _page(self, path: str) -> Any:
        self._connection.request("GET", path)
        return json.loads(self._connection.getresponse().read())

    def close(self) -> None:
        """Let go of the connection."""
        self._connection.close()


def _of_server(stats: dict[str, Any]) -> Iterator[Figure]:
    clients, messages, buffers = stats["clients"], stats["messages"], stats["buffers"]
    dropped = messages["discarded"] + messages["rejected"] + messages["expired"]
    for metric, value in {
        "connected": clients["connected"],
        "connected_high_water": clients["connected_high_water"],
        "messages_received": messages["received"],
        "messages_sent": messages["sent"],
        "discarded": dropped,
        "depth": buffers["messages"],
        "buffered_bytes": buffers["bytes"],
        "unsafe_bytes": stats["storage"]["unsafe_bytes"],
    }.items():
        yield Figure("server", "statistics", metric, value)


def _of_queues(named: list[dict[str, Any]]) -> Iterator[Figure]:
    for queue in named:
        for metric in ("depth", "high_water"):
            if metric in queue:
                yield Figure("queue", queue["name"], metric, queue[metric])


def _of_subscriptions(found: list[dict[str, Any]]) -> Iterator[Figure]:
    for one in found[:_SUBSCRIPTIONS]:
        name = f"{one.get('client', one.get('group', ''))} {one['filter']}"
        yield Figure("queue", name, "depth", one["buffered"])
        yield Figure("queue", name, "high_water", one["high_water"])
        yield Figure("queue", name, "discarded", one["discarded"] + one["rejected"])

"""`$SYS`: the broker's figures as retained messages, under the names that mosquitto's users know."""

from collections.abc import Iterator
from math import exp

from heliograph import __version__
from heliograph.broker.broker import Broker
from heliograph.broker.core.slices import Steps

_PREFIX = "$SYS/broker/"
_MINUTES = (1, 5, 15)


class _Load:
    """Moving averages of how much a counter grows per minute, over 1, 5 and 15 minutes."""

    __slots__ = ("_averages", "_last")

    def __init__(self) -> None:
        self._last = 0
        self._averages = dict.fromkeys(_MINUTES, 0.0)

    def take(self, value: int, seconds: float) -> Iterator[tuple[str, str]]:
        per_minute = (value - self._last) * 60 / seconds
        self._last = value
        for minutes in _MINUTES:
            fade = exp(-seconds / (60 * minutes))
            self._averages[minutes] = per_minute + fade * (self._averages[minutes] - per_minute)
            yield f"{minutes}min", f"{self._averages[minutes]:.2f}"


class SysTopics:
    """Publishes the figures; those that did not change since the last time are left out, as mosquitto does."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._started = self._last = broker.now()
        self._published: dict[str, str] = {}
        self._loads: dict[str, _Load] = {}

    def publish(self) -> None:
        """Publish what changed; in slices, for there may be many queues to look at, and many who are told."""
        if not self._broker.slices.is_working(self):
            self._broker.slices.begin(self, self._publish(), lambda: None)

    def _publish(self) -> Steps:
        queues = dict.fromkeys(("queues/count", "queues/messages", "queues/put", "queues/got"), 0)
        for queue in self._broker.queues.all():
            if not queue.definition.internal:
                queues["queues/count"] += 1
                queues["queues/messages"] += queue.depth
                queues["queues/put"] += queue.counters.put
                queues["queues/got"] += queue.counters.got
            yield None
        now = self._broker.now()
        for name, value in [*self._figures(now, queues), *self._load_figures(now)]:
            if self._published.get(name) != value:
                self._published[name] = value
                self._broker.publish_message(_PREFIX + name, value.encode(), retain=True)
                yield None
        self._last = now

    def _figures(self, now: float, queues: dict[str, int]) -> Iterator[tuple[str, str]]:
        broker, stats = self._broker, self._broker.stats
        waiting = broker.waiting
        away = len(broker.sessions) - len(broker.connections)
        yield "version", f"heliograph version {__version__}"
        yield "uptime", f"{now - self._started:.0f} seconds"
        figures = {
            "clients/total": stats.connected + away,
            "clients/connected": stats.connected,
            "clients/active": stats.connected,
            "clients/disconnected": away,
            "clients/inactive": away,
            "clients/maximum": stats.connected_high_water,
            "clients/expired": stats.sessions_expired,
            "errors/internal": stats.internal_errors,
            # Only PUBLISH packets are counted: other packets travel in runs that nobody looks into.
            "messages/received": stats.messages_received,
            "messages/sent": stats.messages_sent,
            "messages/stored": broker.retained.count + waiting,
            "publish/messages/received": stats.messages_received,
            "publish/messages/sent": stats.messages_sent,
            "publish/messages/dropped": stats.dropped,
            "bytes/received": stats.bytes_received,
            "bytes/sent": stats.bytes_sent,
            "retained messages/count": broker.retained.count,
            "store/messages/count": broker.retained.count + waiting,
            "store/messages/bytes": broker.retained.bytes,
            **queues,
            "subscriptions/count": broker.subscriptions.count,
            "shared_subscriptions/count": len(broker.subscriptions.groups),
        }
        for name, value in figures.items():
            yield name, str(value)

    def _load_figures(self, now: float) -> Iterator[tuple[str, str]]:
        seconds = now - self._last
        if seconds <= 0:
            return
        stats = self._broker.stats
        counters = {
            "load/messages/received": stats.messages_received,
            "load/messages/sent": stats.messages_sent,
            "load/publish/received": stats.messages_received,
            "load/publish/sent": stats.messages_sent,
            "load/publish/dropped": stats.dropped,
            "load/bytes/received": stats.bytes_received,
            "load/bytes/sent": stats.bytes_sent,
            "load/connections": stats.connections,
        }
        for name, value in counters.items():
            for period, average in self._loads.setdefault(name, _Load()).take(value, seconds):
                yield f"{name}/{period}", average

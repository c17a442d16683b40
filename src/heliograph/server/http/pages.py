"""The operators' pages: what the broker counts, for Prometheus and as JSON."""

import asyncio
import dataclasses
import json
import sys
from collections.abc import Callable, Iterator
from heapq import nlargest
from itertools import chain, islice
from typing import Any

from heliograph import __version__
from heliograph.broker import AmqpHost, Broker, Buffer, ShareGroup, Spool, Steps, Subscription, figures_of_queue
from heliograph.server.errors import Unavailable
from heliograph.server.http.metrics import (
    CONTENT_TYPE,
    Metric,
    amqp_metrics,
    lines_for_prometheus,
    pipeline_metrics,
    queue_manager_metrics,
    queue_metrics,
    work_metrics,
)
from heliograph.server.http.server import Page
from heliograph.server.watchdog import Watchdog


def queue_figures(broker: Broker, found: dict[str, Any]) -> Steps:
    """Put the figures of each defined queue, and of all others together, into `found`.

    Temporary queues and those behind subscriptions may be many and are soon gone: they are counted, not named.
    """
    named = []
    others = found["others"] = {"count": 0, "depth": 0}
    for queue in broker.queues.all():
        if _is_unnamed(queue.definition):
            others["count"] += 1
            others["depth"] += queue.depth
        elif not queue.deleted:
            named.append({"name": queue.name, **figures_of_queue(broker, queue.name)})
        yield None
    found["named"] = sorted(named, key=lambda one: str(one["name"]))


def _is_unnamed(definition: Any) -> bool:
    return bool(definition.internal or definition.temporary)


def work_figures(broker: Broker) -> dict[str, int]:
    """Units of work."""
    return dataclasses.asdict(broker.queues.works)


def amqp_figures(host: AmqpHost) -> dict[str, int]:
    """AMQP clients that are connected."""
    connections = [connection for some in host.containers.values() for connection in some]
    return {"connections": len(connections), "links": sum(len(connection.links) for connection in connections)}


_JSON = "application/json"
# The subscriptions with most messages waiting: what an operator looks for, whatever the number of subscriptions.
_SHOWN = 100
# Those who own most of the memory, and how much of a long name is shown.
_OWNERS = 10
_LONGEST_NAME = 100
# Of a page, lines or pieces of JSON that are made in one step.
_PARTS = 100


Facts = Callable[[], list[dict[str, Any]]]


def pages(
    host: AmqpHost,
    server_name: Callable[[], str],
    managers: Facts,
    pipelines: Facts,
    watchdog: Watchdog,
    listeners: Facts,
) -> dict[str, Page]:
    """The pages by path. `managers` are the queue managers that the server runs beside itself."""
    broker = host.broker
    started = broker.now()

    async def metrics_page() -> tuple[str, bytes]:
        queues: dict[str, Any] = {}
        await in_slices(broker, queue_figures(broker, queues))
        found = chain(
            metrics(broker, broker.now() - started),
            _loop_metrics(watchdog),
            queue_metrics(queues),
            work_metrics(work_figures(broker)),
            amqp_metrics(amqp_figures(host)),
            queue_manager_metrics(managers()),
            pipeline_metrics(pipelines()),
        )
        return CONTENT_TYPE, await _joined(broker, lines_for_prometheus(found))

    async def stats_page() -> tuple[str, bytes]:
        queues: dict[str, Any] = {}
        await in_slices(broker, queue_figures(broker, queues))
        figures = {"server": _server(server_name(), broker.now() - started), **statistics(broker)}
        figures |= {
            "queues": queues,
            "units_of_work": work_figures(broker),
            "amqp": amqp_figures(host),
            "loop": _loop(watchdog),
            "queue_managers": managers(),
        }
        return _JSON, await _joined(broker, chain(json.JSONEncoder(indent=2).iterencode(figures), "\n"))

    async def subscriptions_page() -> tuple[str, bytes]:
        found: list[dict[str, Any]] = []
        await in_slices(broker, subscriptions(broker, found))
        return _JSON, _dump(found)

    return {
        "/metrics": metrics_page,
        "/stats": stats_page,
        "/pipelines": lambda: (_JSON, _dump(pipelines())),
        "/listeners": lambda: (_JSON, _dump(listeners())),
        "/subscriptions": subscriptions_page,
        "/healthz": lambda: _health(broker),
    }


def _health(broker: Broker) -> tuple[str, bytes]:
    if broker.store is not None and broker.store.trouble:
        raise Unavailable(f"messages cannot be stored: {broker.store.trouble}")
    return _JSON, _dump({"status": "ok"})


def _dump(value: Any) -> bytes:
    return json.dumps(value, indent=2).encode() + b"\n"


def _server(name: str, uptime: float) -> dict[str, Any]:
    return {"name": name, "version": __version__, "python": sys.version.split()[0], "uptime_seconds": round(uptime)}


def statistics(broker: Broker) -> dict[str, Any]:
    """Everything that is counted, by subject."""
    stats = broker.stats
    return {
        "clients": {
            "connected": stats.connected,
            "connected_high_water": stats.connected_high_water,
            "sessions": len(broker.sessions),
            "sessions_expired": stats.sessions_expired,
            "admitted": stats.connections,
            "refused": stats.refused,
            "protocol_errors": stats.protocol_errors,
        },
        "internal_errors": stats.internal_errors,
        "messages": {
            "received": stats.messages_received,
            "sent": stats.messages_sent,
            "rejected": stats.rejected,
            "discarded": stats.discarded,
            "refused": stats.publishes_refused,
            "too_large": stats.too_large,
            "expired": stats.expired,
        },
        "bytes": {"received": stats.bytes_received, "sent": stats.bytes_sent},
        "subscriptions": {"count": broker.subscriptions.count, "shared_groups": len(broker.subscriptions.groups)},
        "buffers": {
            "messages": broker.waiting,
            "bytes": broker.held.bytes,
        },
        "memory": _memory(broker),
        "storage": _storage(broker),
        "streams": _streams(broker),
        "retained": {
            "count": broker.retained.count,
            "bytes": broker.retained.bytes,
            "rejected": broker.retained.rejected,
        },
    }


def _memory(broker: Broker) -> dict[str, Any]:
    memory = broker.memory
    return {
        "limit": memory.limit,
        "bytes": memory.used,
        "refusals": memory.refusals,
        "largest": [
            {"kind": owner.kind, "name": owner.name[:_LONGEST_NAME], "bytes": owner.used}
            for owner in memory.largest(_OWNERS)
        ],
    }


def _storage(broker: Broker) -> dict[str, Any]:
    store = broker.store
    assert store is not None
    segments = store.ledger.log.segments()
    return {
        "durability": store.durability,
        "trouble": store.trouble,
        "log_end": store.ledger.end,
        "log_bytes": sum(end - base for base, end in segments),
        "segments": len(segments),
        "unsafe_bytes": store.ledger.waiting,
        "cursors": len(store.ledger.cursors),
        "objects_set_aside": len(store.set_aside),
    }


def _streams(broker: Broker) -> list[dict[str, Any]]:
    assert broker.store is not None
    return [
        {
            **stream.description(),
            "partitions": [
                {"first": cursor.first, "next": cursor.next, "bytes": cursor.bytes} for cursor in stream.cursors
            ],
        }
        for stream in broker.store.streams.by_name.values()
    ]


def subscriptions(broker: Broker, found: list[dict[str, Any]]) -> Steps:
    """Put the subscriptions that have had to buffer most, with their counters, into `found`."""
    fullest: list[tuple[Subscription | ShareGroup, list[Buffer | Spool]]] = []
    backlogs = broker.backlogs()
    while some := list(islice(backlogs, _SHOWN)):
        fullest = nlargest(_SHOWN, [*fullest, *some], key=lambda pair: max((p.count, p.high_water) for p in pair[1]))
        yield None
    found += [_subscription(owner, places) for owner, places in fullest]


async def _joined(broker: Broker, parts: Iterator[str]) -> bytes:
    """A page with very many parts, made in slices."""
    found: list[str] = []

    def join() -> Steps:
        while some := "".join(islice(parts, _PARTS)):
            found.append(some)
            yield None

    await in_slices(broker, join())
    return "".join(found).encode()


async def in_slices(broker: Broker, steps: Steps) -> None:
    """Do work for a page in slices, as for all work whose size clients choose."""
    owner, over = object(), asyncio.get_running_loop().create_future()
    failures: list[Exception] = []

    def tried() -> Steps:
        try:
            yield from steps
        except Exception as failure:
            failures.append(failure)

    try:
        if not broker.slices.begin(owner, tried(), lambda: over.set_result(None)):
            await over
    finally:
        broker.slices.drop(owner)
    if failures:
        raise failures[0]


def _subscription(owner: Subscription | ShareGroup, places: list[Buffer | Spool]) -> dict[str, Any]:
    if isinstance(owner, ShareGroup):
        who: dict[str, Any] = {"group": owner.name, "filter": owner.filter, "members": len(owner.members)}
        sent = sum(member.sent for member in owner.members)
    else:
        who = {"client": owner.session.client_id, "filter": owner.filter, "connected": owner.outlet.connected}
        sent = owner.sent
    return {
        **who,
        "sent": sent,
        "durable": owner.spool is not None,
        "buffered": sum(place.count for place in places),
        "high_water": max(place.high_water for place in places),
        "rejected": sum(place.rejected for place in places),
        "discarded": sum(place.discarded for place in places),
        "expired": sum(place.expired for place in places),
    }


def metrics(broker: Broker, uptime: float) -> list[Metric]:
    """All statistics as metrics for Prometheus."""
    stats = statistics(broker)
    clients, messages, buffers, retained = stats["clients"], stats["messages"], stats["buffers"], stats["retained"]
    storage, memory = stats["storage"], stats["memory"]
    return [
        Metric("heliograph_info", "gauge", "Version of the server.", [({"version": __version__}, 1)]),
        Metric("heliograph_uptime_seconds", "gauge", "Seconds since the start.", uptime),
        Metric("heliograph_clients_connected", "gauge", "Clients connected now.", clients["connected"]),
        Metric("heliograph_sessions", "gauge", "Sessions kept, connected or not.", clients["sessions"]),
        Metric("heliograph_sessions_expired_total", "counter", "Sessions that ended.", clients["sessions_expired"]),
        Metric("heliograph_clients_admitted_total", "counter", "Clients admitted.", clients["admitted"]),
        Metric("heliograph_clients_refused_total", "counter", "Clients turned away.", clients["refused"]),
        Metric(
            "heliograph_protocol_errors_total",
            "counter",
            "Connections ended because of what the client sent.",
            clients["protocol_errors"],
        ),
        Metric(
            "heliograph_internal_errors_total",
            "counter",
            "Defects of the server that showed themselves; the log has each of them.",
            stats["internal_errors"],
        ),
        Metric("heliograph_messages_received_total", "counter", "Messages from clients.", messages["received"]),
        Metric("heliograph_messages_sent_total", "counter", "Messages to clients.", messages["sent"]),
        Metric(
            "heliograph_messages_dropped_total",
            "counter",
            "Messages that did not reach a receiver, by reason.",
            [
                ({"reason": "rejected"}, messages["rejected"]),
                ({"reason": "discarded"}, messages["discarded"]),
                ({"reason": "too_large"}, messages["too_large"]),
                ({"reason": "expired"}, messages["expired"]),
            ],
        ),
        Metric("heliograph_received_bytes_total", "counter", "Bytes from clients.", stats["bytes"]["received"]),
        Metric("heliograph_sent_bytes_total", "counter", "Bytes to clients.", stats["bytes"]["sent"]),
        Metric("heliograph_subscriptions", "gauge", "Subscriptions.", stats["subscriptions"]["count"]),
        Metric("heliograph_shared_groups", "gauge", "Shared subscriptions.", stats["subscriptions"]["shared_groups"]),
        Metric("heliograph_buffered_messages", "gauge", "Messages waiting in buffers.", buffers["messages"]),
        Metric("heliograph_buffered_bytes", "gauge", "Bytes waiting in buffers.", buffers["bytes"]),
        Metric(
            "heliograph_memory_bytes", "gauge", "Memory used for what clients make the server keep.", memory["bytes"]
        ),
        Metric("heliograph_memory_limit_bytes", "gauge", "Memory there is for that.", memory["limit"]),
        Metric("heliograph_memory_refusals_total", "counter", "How often there was no memory.", memory["refusals"]),
        Metric(
            "heliograph_publishes_refused_total",
            "counter",
            "Messages from clients to topics that belong to the server.",
            messages["refused"],
        ),
        Metric(
            "heliograph_storage_info", "gauge", "Durability in force.", [({"durability": storage["durability"]}, 1)]
        ),
        Metric("heliograph_storage_trouble", "gauge", "1 while nothing can be stored.", int(bool(storage["trouble"]))),
        Metric("heliograph_log_written_bytes_total", "counter", "Bytes the log has ever had.", storage["log_end"]),
        Metric("heliograph_log_bytes", "gauge", "Bytes in the files of the log.", storage["log_bytes"]),
        Metric("heliograph_log_segments", "gauge", "Files of the log.", storage["segments"]),
        Metric("heliograph_log_unsafe_bytes", "gauge", "Bytes not yet safe.", storage["unsafe_bytes"]),
        Metric(
            "heliograph_objects_set_aside",
            "gauge",
            "Objects in the log that cannot be opened; see `helio log repair`.",
            storage["objects_set_aside"],
        ),
        *_stream_metrics(stats["streams"]),
        Metric("heliograph_retained_messages", "gauge", "Retained messages.", retained["count"]),
        Metric("heliograph_retained_bytes", "gauge", "Bytes of retained messages.", retained["bytes"]),
        Metric(
            "heliograph_retained_rejected_total",
            "counter",
            "Messages not retained because there was no room.",
            retained["rejected"],
        ),
    ]


def _loop(watchdog: Watchdog) -> dict[str, Any]:
    return {
        "longest_turn_seconds": round(watchdog.longest, 4),
        "longest_turn_cpu_seconds": round(watchdog.longest_cpu, 4),
        "longest_turn_cpu_by": watchdog.longest_cpu_by,
        "slow_turns": watchdog.slow_turns,
    }


def _loop_metrics(watchdog: Watchdog) -> list[Metric]:
    return [
        Metric(
            "heliograph_loop_lag_seconds",
            "gauge",
            "The longest that everybody had to wait for one turn of the server, since the last scrape.",
            watchdog.scrape(),
        ),
        Metric("heliograph_loop_slow_turns_total", "counter", "Turns that took more than 100 ms.", watchdog.slow_turns),
    ]


def _stream_metrics(streams: list[dict[str, Any]]) -> list[Metric]:
    def by_partition(key: str) -> list[tuple[dict[str, str], float]]:
        return [
            ({"stream": stream["name"], "partition": str(number)}, partition[key])
            for stream in streams
            for number, partition in enumerate(stream["partitions"])
        ]

    return [
        Metric("heliograph_stream_messages_total", "counter", "The next offset of a partition.", by_partition("next")),
        Metric("heliograph_stream_first_offset", "gauge", "The oldest offset kept.", by_partition("first")),
        Metric("heliograph_stream_bytes", "gauge", "Bytes kept in a partition.", by_partition("bytes")),
    ]

"""Every case of `helio bench`, with the goals we set ourselves.

Goals are factors of CPU time per delivery: mosquitto 2.0 for MQTT, RabbitMQ for AMQP. Cases of one kind are rows of a
table.
"""

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Any

from heliograph.lab.bench.backlog import RESIDENT, SECONDS, Backlog, Recovery
from heliograph.lab.bench.bench_case import BenchCase
from heliograph.lab.bench.connections import Idle, Visits
from heliograph.lab.bench.growth import GROWTH
from heliograph.lab.bench.latency import Latency
from heliograph.lab.bench.queue_cases import PutGet, RoundTrips, TopicFanOut
from heliograph.lab.bench.throughput import Throughput
from heliograph.lab.errors import UnknownCase

_SIZES = {"256": 256, "2k": 2048, "20k": 20 * 1024, "200k": 200 * 1024}
# Requests in flight per pair, with one queue manager or ten: 300 in all, as there were clients in a published test, but
# for large ones, of which a slow broker would not move that many in a second or two.
_WINDOWS = {("256", 1): 30, ("2k", 1): 30, ("20k", 1): 30, ("200k", 1): 4}
_WINDOWS |= {("256", 10): 3, ("2k", 10): 3, ("20k", 10): 3, ("200k", 10): 1}

_GOAL = 2.0
"""At least so many times less CPU than RabbitMQ, whatever the load."""


def _cases(kind: type[BenchCase], *rows: tuple[str, str, dict[str, Any]], **common: Any) -> tuple[BenchCase, ...]:
    """Cases of one kind: a name, what it is about, and what differs from the others."""
    return tuple(kind(name=name, about=about, **{**common, **values}) for name, about, values in rows)


SHARE = 0.5  # of the rate that our server has when it does not wait for the disk
# Here subscribers have durable sessions, so that our server stores every message and waits for the disk before it
# acknowledges. Windows are large where many messages are to share one wait.
DURABLE: tuple[BenchCase, ...] = (
    *_cases(
        Throughput,
        ("durable-qos1", "durable: 1 publisher, 1 subscriber, QoS 1", {"qos": 1, "goal": 10, "share": SHARE}),
        (
            "durable-pairs-qos1",
            "durable: 10 pairs, QoS 1, window 4000 each",
            {"groups": 10, "qos": 1, "goal": 10, "share": SHARE},
        ),
        (
            "durable-pairs-qos1-512",
            "the same with 512 B payloads, window 2000 each",
            {"groups": 10, "qos": 1, "payload": (512, 512), "window": 2000, "goal": 10, "share": SHARE},
        ),
        (
            "durable-pairs-qos1-4k",
            "the same with 4 KB payloads, window 256 each",
            {"groups": 10, "qos": 1, "payload": (4096, 4096), "window": 256, "goal": 10, "share": SHARE},
        ),
        (
            "durable-pairs-qos2",
            "durable: 10 pairs, QoS 2, window 1000 each",
            {"groups": 10, "qos": 2, "window": 1000, "goal": 10, "share": SHARE},
        ),
        (
            "durable-fan-out-100-qos1",
            "durable: 1 publisher, 100 subscribers, QoS 1",
            {"subscribers": 100, "qos": 1, "window": 400, "goal": 10, "share": SHARE},
        ),
        (
            "durable-fan-in-100-qos1",
            "durable: 100 publishers to 1 wildcard subscriber, QoS 1, one packet per read",
            {"publishers": 100, "qos": 1, "window": 1, "share": SHARE},
        ),
        (
            "durable-fan-in-500-qos1",
            "the same with 500 publishers",
            {"publishers": 500, "qos": 1, "window": 1, "goal": 1.2},
        ),
        ("durable-fan-in-500-qos2", "the same with QoS 2", {"publishers": 500, "qos": 2, "window": 1}),
        (
            "durable-fan-in-500-shared",
            "500 publishers to 10 sharers, QoS 1, one packet per read",
            {"publishers": 500, "sharers": 10, "qos": 1, "window": 1},
        ),
        durable=True,
    ),
    Backlog(
        name="durable-backlog",
        about="10 million messages of 100 B wait for a consumer (1 million in mosquitto); CPU per drained message",
        messages=10_000_000,
        most={RESIDENT: 200},
    ),
    *_cases(
        Recovery,
        (
            "durable-recovery",
            "back after kill -9 (mosquitto: SIGTERM) with 1 million messages of 100 B; CPU per recovered message",
            {},
        ),
        ("durable-recovery-single", "the same, the messages having come one packet per read", {"publishers": 100}),
        messages=1_000_000,
        goal=None,
        most={SECONDS: 5},
    ),
)


def _kind(persistent: bool) -> str:
    return "persistent" if persistent else "non-persistent"


def _round_trips(size: str, *, persistent: bool, managers: int) -> RoundTrips:
    many = "" if managers == 1 else f"-{managers}qm"
    return RoundTrips(
        name=f"request-{size}{'-p' if persistent else ''}{many}",
        about=f"{managers} x 10 queue pairs, request and answer of {_SIZES[size]} B, {_kind(persistent)}",
        size=_SIZES[size],
        window=_WINDOWS[size, managers],
        persistent=persistent,
        managers=managers,
        goal=_GOAL,
    )


ROUND_TRIPS: tuple[BenchCase, ...] = tuple(
    _round_trips(size, persistent=persistent, managers=managers)
    for managers in (1, 10)
    for size in _SIZES
    for persistent in (False, True)
)
PUT_GET: tuple[BenchCase, ...] = tuple(
    PutGet(
        name=f"put-get-{size}{'-p' if persistent else ''}{f'-{pairs}' if pairs > 1 else ''}",
        about=f"{pairs} queue{'s' if pairs > 1 else ''}, {_SIZES[size]} B, {_kind(persistent)}",
        size=_SIZES[size],
        persistent=persistent,
        pairs=pairs,
        window=1000 if pairs == 1 else 250,
        goal=_GOAL,
    )
    for pairs in (1, 10)
    for size in ("256", "2k")
    for persistent in (False, True)
)
QUEUES: tuple[BenchCase, ...] = (
    *ROUND_TRIPS,
    RoundTrips(name="request-256-w1", about="1 x 10 queue pairs, one request at a time", window=1, goal=_GOAL),
    *PUT_GET,
    *_cases(
        PutGet,
        (
            "transacted-256-p",
            "10 queues, 256 B, persistent, 100 puts or gets per commit (or confirmed batch)",
            {"persistent": True, "commit": 100, "window": 200},
        ),
        (
            "select-256-10",
            "1 queue, 10 consumers that select a tenth of the messages each",
            {"coloured": True, "select": True, "goal": None},  # RabbitMQ has no selectors
        ),
        ("select-256-10-none", "the same messages without selectors, through 10 queues", {"coloured": True}),
        pairs=10,
        window=250,
        goal=_GOAL,
    ),
    TopicFanOut(
        name="topic-fan-out-30", about="1 sender to a topic, 30 subscriptions", subscribers=30, window=200, goal=_GOAL
    ),
)


# Windows keep what is in flight to one subscriber below every broker's limits (4000 small messages, a few megabytes)
# and let a slow broker empty its queues within a second or two at the end.
CASES: tuple[BenchCase, ...] = (
    *_cases(
        Throughput,
        ("qos0", "1 publisher, 1 subscriber, pipelined", {"goal": 50}),
        ("qos1", "the same with QoS 1", {"qos": 1, "goal": 25}),
        # With 4000 in flight mosquitto would spend half its time looking up identifiers.
        ("qos2", "the same with QoS 2, window 1000", {"qos": 2, "window": 1000, "goal": 20}),
        ("pairs-qos0-w100", "10 pairs, window 100 each", {"groups": 10, "window": 100}),
        ("pairs-qos0-w1000", "10 pairs, window 1000 each", {"groups": 10, "window": 1000, "goal": 50}),
        ("pairs-qos1-w100", "10 pairs, QoS 1, window 100 each", {"groups": 10, "qos": 1, "window": 100}),
        ("pairs-qos1-w1000", "10 pairs, QoS 1, window 1000 each", {"groups": 10, "qos": 1, "window": 1000, "goal": 25}),
        (
            "fan-in-500",
            "500 publishers to 1 wildcard subscriber, one packet per read",
            {"publishers": 500, "window": 1, "goal": 2},
        ),
        ("fan-out-10", "1 publisher, 10 subscribers", {"subscribers": 10}),
        ("fan-out-100", "1 publisher, 100 subscribers", {"subscribers": 100, "window": 1000, "goal": 200}),
        ("fan-out-1000", "1 publisher, 1000 subscribers", {"subscribers": 1000, "window": 120}),
        ("fan-out-100-qos1", "1 publisher, 100 subscribers, QoS 1", {"subscribers": 100, "qos": 1, "window": 400}),
        (
            "random",
            "random lengths of 16 to 512 bytes over 1000 topics to 1 wildcard subscriber",
            {"payload": (16, 512), "topics": 1000, "goal": 3},
        ),
        (
            "v5-properties",
            "MQTT 5 with two user properties, 1:1",
            {
                "from_version": "mqtt5",
                "to_version": "mqtt5",
                "user_properties": (("unit", "celsius"), ("site", "north-7")),
            },
        ),
        ("v3-to-v5", "3.1.1 publisher, 10 MQTT 5 subscribers", {"subscribers": 10, "to_version": "mqtt5"}),
        ("tls", "1 publisher, 1 subscriber, pipelined over TLS", {"tls": True}),
        ("payload-4k", "4 KB payloads, 1:1", {"payload": (4096, 4096), "window": 256}),
        ("payload-256k", "256 KB payloads, 1:1", {"payload": (256 * 1024, 256 * 1024), "window": 8}),
        ("qos1-4k", "4 KB payloads, QoS 1, 1:1", {"qos": 1, "payload": (4096, 4096), "window": 256}),
    ),
    Idle(
        name="idle-10k", about="10,000 idle connections; CPU per connect", connections=10_000, most={"KB/connection": 4}
    ),
    Visits(
        name="visits",
        about="clients that connect and leave, 50 at a time; CPU per client",
    ),
    Latency(
        name="latency",
        about="1:1 at 10,000 messages/s while 50,000/s of other traffic flow",
        rate=10_000,
        other_rate=50_000,
    ),
    *DURABLE,
    *QUEUES,
    *GROWTH,
)


def choose_cases(patterns: Iterable[str]) -> list[BenchCase]:
    """The cases whose names match any of these globs, all when there are none."""
    patterns = list(patterns) or ["*"]
    for pattern in patterns:
        if not any(fnmatchcase(case.name, pattern) for case in CASES):
            raise UnknownCase(f"no case is called '{pattern}'; helio bench --list shows them all")
    return [case for case in CASES if any(fnmatchcase(case.name, pattern) for pattern in patterns)]

"""The cases of `helio bench` that are about queues and topics over AMQP."""

from heliograph.lab.bench.case import Case
from heliograph.lab.bench.queue_throughput import PutGet, TopicFanOut
from heliograph.lab.bench.round_trips import RoundTrips

_SIZES = {"256": 256, "2k": 2048, "20k": 20 * 1024, "200k": 200 * 1024}
# Requests under way per pair, with one queue manager or ten: 300 in all, as there were clients in a published test, but
# for large ones, of which a slow broker would not move that many in a second or two.
_WINDOWS = {("256", 1): 30, ("2k", 1): 30, ("20k", 1): 30, ("200k", 1): 4}
_WINDOWS |= {("256", 10): 3, ("2k", 10): 3, ("20k", 10): 3, ("200k", 10): 1}

_GOAL = 2.0
"""At least so many times less CPU than RabbitMQ, whatever the load."""


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


ROUND_TRIPS: tuple[Case, ...] = tuple(
    _round_trips(size, persistent=persistent, managers=managers)
    for managers in (1, 10)
    for size in _SIZES
    for persistent in (False, True)
)
PUT_GET: tuple[Case, ...] = tuple(
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
QUEUES: tuple[Case, ...] = (
    *ROUND_TRIPS,
    RoundTrips(name="request-256-w1", about="1 x 10 queue pairs, one request at a time", window=1, goal=_GOAL),
    *PUT_GET,
    PutGet(
        name="transacted-256-p",
        about="10 queues, 256 B, persistent, 100 puts or gets per commit (or confirmed batch)",
        pairs=10,
        persistent=True,
        commit=100,
        window=200,
        goal=_GOAL,
    ),
    PutGet(
        name="select-256-10",
        about="1 queue, 10 consumers that select a tenth of the messages each",
        pairs=10,
        window=250,
        coloured=True,
        select=True,
        goal=None,  # RabbitMQ has no selectors
    ),
    PutGet(
        name="select-256-10-none",
        about="the same messages without selectors, through 10 queues",
        pairs=10,
        window=250,
        coloured=True,
        goal=_GOAL,
    ),
    TopicFanOut(
        name="topic-fan-out-30", about="1 sender to a topic, 30 subscriptions", subscribers=30, window=200, goal=_GOAL
    ),
)

"""Spark's progress events, added up."""

import json
from typing import Any

from heliograph.pipeline.running.progress import QueryProgress, Rate, offsets_of_all


def event(second: int, batch: int, rows: int, stream: str = "s", **offsets: int) -> dict[str, Any]:
    end = json.dumps({"stream": stream, "partitions": {name[1:]: offset for name, offset in offsets.items()}})
    return {
        "timestamp": f"2026-01-01T00:00:{second:02}.000Z",
        "batchId": batch,
        "numInputRows": rows,
        "sources": [{"endOffset": end}] if offsets else [{"endOffset": None}],
    }


def progress() -> QueryProgress:
    return QueryProgress(None)  # type: ignore[arg-type]  # nobody asks it here


def test_each_event_counts_once() -> None:
    query = progress()
    events = [event(1, 0, 10, p0=10), event(2, 1, 5, p0=15)]
    assert query.take(events) == 15
    assert query.take([*events, event(3, 2, 7, p0=22)]) == 7
    assert (query.batch, query.offsets) == (2, {"s": {"0": 22}})


def test_an_idle_query_has_done_no_more_batches() -> None:
    query = progress()
    query.take([event(1, 0, 10, p0=10)])
    assert query.take([event(11, 1, 0, p0=10)]) == 0
    assert query.batch == 0


def test_offsets_of_other_sources_are_passed_over() -> None:
    query = progress()
    for odd in ("12", 7, {"topic": {"0": 1}}, "not JSON", None):
        query.take([{**event(1, 0, 1), "sources": [{"endOffset": odd}]}])
    assert query.offsets == {}


def test_of_a_stream_that_several_queries_read_the_slowest_counts() -> None:
    fast, slow, other = progress(), progress(), progress()
    fast.take([event(1, 0, 1, p0=10, p1=3)])
    slow.take([event(1, 0, 1, p0=4, p1=5)])
    other.take([event(1, 0, 1, "t", p0=1)])
    assert offsets_of_all([fast, slow, other]) == {"s": {"0": 4, "1": 3}, "t": {"0": 1}}
    assert fast.offsets == {"s": {"0": 10, "1": 3}}


def test_the_rate_is_that_of_the_last_seconds() -> None:
    now = 0.0
    rate = Rate(lambda: now)
    assert rate.per_second == 0
    now = 2.0
    rate.add(100)
    assert rate.per_second == 50
    now = 11.0
    rate.add(20)
    assert rate.per_second == 12
    now = 13.0
    assert rate.per_second == 2
    now = 30.0
    assert rate.per_second == 0

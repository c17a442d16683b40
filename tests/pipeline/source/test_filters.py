"""Filters that need not be looked at by Spark."""

from datetime import UTC, datetime, timedelta

from pyspark.sql.datasource import (
    EqualTo,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringContains,
    StringStartsWith,
)

from heliograph.pipeline.source.filters import Wanted, take_filters

TOPIC, TIME = ("topic",), ("timestamp",)
AT = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
MS = 1_700_000_000_000


def test_topics_are_compared_here_and_not_again() -> None:
    filters = [IsNotNull(TOPIC), In(TOPIC, ("a", "b", None)), EqualTo(TOPIC, "a"), StringStartsWith(TOPIC, "p")]
    assert take_filters(filters) == (Wanted(topics=frozenset({"a"}), prefixes=("p",)), [])


def test_what_is_not_known_here_is_for_spark() -> None:
    filters = [
        StringContains(TOPIC, "x"),
        Not(EqualTo(TOPIC, "a")),
        EqualTo(("qos",), 1),
        EqualTo(("properties", "topic"), "a"),
    ]
    assert take_filters(filters) == (Wanted(), filters)


def test_times_make_the_range_shorter_and_are_looked_at_again() -> None:
    half = timedelta(microseconds=500)
    for filters, since, before in (
        ([GreaterThanOrEqual(TIME, AT)], MS, None),
        ([GreaterThan(TIME, AT)], MS + 1, None),
        ([GreaterThanOrEqual(TIME, AT + half)], MS + 1, None),
        ([GreaterThan(TIME, AT + half)], MS + 1, None),
        ([LessThan(TIME, AT)], 0, MS),
        ([LessThanOrEqual(TIME, AT)], 0, MS + 1),
        ([LessThan(TIME, AT + half)], 0, MS + 1),
        ([EqualTo(TIME, AT)], MS, MS + 1),
        ([GreaterThan(TIME, AT), LessThan(TIME, AT), GreaterThan(TIME, AT - half)], MS + 1, MS),
    ):
        wanted, rest = take_filters(filters)
        assert (wanted.since, wanted.before if wanted.is_before else None) == (since, before), filters
        assert rest == filters

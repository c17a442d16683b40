"""Filters of a batch read that Spark leaves to the source: on the topic, and on the time.

A time makes the range of offsets shorter, so that what is too old or too new is not even read. It is not exact if the
server's clock was ever set back, and so Spark looks at each row again. A topic is looked at for each record, before
rows are made; that is exact.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    StringStartsWith,
)

from heliograph.pipeline.source.positions import milliseconds

_TOPIC, _TIME = ("topic",), ("timestamp",)
_LEAST_TIME, _MOST_TIME = 0, 1 << 62


@dataclass(frozen=True)
class Wanted:
    """Which messages are wanted."""

    topics: frozenset[str] | None = None
    """Any of them if None."""
    prefixes: tuple[str, ...] = ()
    """Topics start with all of these."""
    since: int = _LEAST_TIME
    """Milliseconds since 1970 from which on they came."""
    before: int = _MOST_TIME

    @property
    def by_topic(self) -> bool:
        """Whether some topics are not wanted."""
        return self.topics is not None or bool(self.prefixes)

    @property
    def is_before(self) -> bool:
        """Whether messages are wanted only if they came before some time."""
        return self.before < _MOST_TIME

    def topics_mask(self, topics: pa.Array) -> npt.NDArray[np.bool_]:
        """Which of these topics are wanted."""
        mask = np.ones(len(topics), np.bool_)
        if self.topics is not None:
            mask &= pc.is_in(topics, pa.array(sorted(self.topics), pa.string())).to_numpy(zero_copy_only=False)
        for prefix in self.prefixes:
            mask &= pc.starts_with(topics, prefix).to_numpy(zero_copy_only=False)
        return mask


def take_filters(filters: Sequence[Filter]) -> tuple[Wanted, list[Filter]]:
    """What filters ask for, as far as that is known here, and those that Spark has to look at."""
    wanted, rest = Wanted(), []
    for one in filters:
        column, value = getattr(one, "attribute", None), getattr(one, "value", None)
        if column == _TOPIC and (narrower := _with_topic(wanted, one, value)) is not None:
            wanted = narrower
            continue
        if column == _TIME and isinstance(value, datetime):
            wanted = _with_time(wanted, one, value)
        rest.append(one)
    return wanted, rest


def _with_topic(wanted: Wanted, one: Filter, value: Any) -> Wanted | None:
    if isinstance(one, IsNotNull):
        return wanted
    if isinstance(one, StringStartsWith):
        return replace(wanted, prefixes=(*wanted.prefixes, value))
    if isinstance(one, EqualTo | In):
        names = frozenset([value] if isinstance(one, EqualTo) else [name for name in value if name is not None])
        return replace(wanted, topics=names if wanted.topics is None else wanted.topics & names)
    return None


def _with_time(wanted: Wanted, one: Filter, time: datetime) -> Wanted:
    """Times in the log are whole milliseconds; `up` is the first that is not before the one in the filter."""
    up = milliseconds(time)
    behind = up if time.microsecond % 1000 else up + 1
    if isinstance(one, GreaterThan):
        return replace(wanted, since=max(wanted.since, behind))
    if isinstance(one, GreaterThanOrEqual):
        return replace(wanted, since=max(wanted.since, up))
    if isinstance(one, LessThan):
        return replace(wanted, before=min(wanted.before, up))
    if isinstance(one, LessThanOrEqual):
        return replace(wanted, before=min(wanted.before, behind))
    if isinstance(one, EqualTo):
        return replace(wanted, since=max(wanted.since, up), before=min(wanted.before, behind))
    return wanted

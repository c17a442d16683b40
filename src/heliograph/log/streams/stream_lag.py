"""How far behind a reader of a stream is."""

from collections.abc import Mapping
from typing import NamedTuple

from heliograph.log.streams.stream_span import OffsetGone, StreamSource


class Lag(NamedTuple):
    """Messages that are not done, and how long the oldest of them has waited."""

    messages: int
    seconds: float


def stream_lag(source: StreamSource, done: Mapping[int, int], now_ms: float) -> Lag:
    """How far behind somebody is who has done each partition up to (not with) this offset.

    Of a partition that is not named, nothing is done. What retention has taken is not waited for any more.
    """
    messages, oldest = 0, now_ms
    for partition, (earliest, latest) in enumerate(source.extents()):
        at = max(done.get(partition, earliest), earliest)
        if at >= latest:
            continue
        messages += latest - at
        try:
            spans = source.read(partition, at, limit_messages=1, limit_bytes=1)
        except OffsetGone:
            continue  # just now; the next look sees it
        if spans:
            oldest = min(oldest, spans[0].time)
    return Lag(messages, max(0.0, (now_ms - oldest) / 1000))

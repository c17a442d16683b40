"""Progress of a pipeline's queries: rows, rates, offsets, and how far behind their streams they are."""

import json
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery
from heliograph.errors import Problem
from heliograph.log.streams import RemoteStreamReader, StreamReader, StreamSource, stream_lag
from heliograph.pipeline.running.pipeline import Pipeline

Event = Mapping[str, Any]
"""One of Spark's progress events, as JSON has it."""
Offsets = dict[str, dict[str, int]]
_WINDOW = 10.0
"""Seconds over which the rate is taken."""
_TIMEOUT = 5.0


class QueryProgress:
    """What one query has done since it was started."""

    def __init__(self, query: "StreamingQuery") -> None:
        self.query = query
        self.batch: int | None = None
        self.offsets: Offsets = {}
        self._seen = ""

    def news(self) -> int | None:
        """Rows that were processed since the last call; None if there was no progress."""
        last = self.query.lastProgress
        if last is None or last["timestamp"] == self._seen:
            return None
        return self.take(json.loads(one.json) for one in self.query.recentProgress)

    def take(self, events: Iterable[Event]) -> int:
        """Rows of those events that have not been seen; they are in the order in which they happened."""
        rows = 0
        for event in events:
            if event["timestamp"] <= self._seen:  # ISO 8601, all in UTC
                continue
            self._seen = event["timestamp"]
            rows += event["numInputRows"]
            if event["numInputRows"]:
                self.batch = event["batchId"]
            for source in event["sources"]:
                self.offsets.update(_offsets(source.get("endOffset")))
        return rows


def _offsets(found: Any) -> Offsets:
    """The offsets of one of our sources; of others, nothing."""
    if isinstance(found, str):
        try:
            found = json.loads(found)
        except ValueError:
            return {}
    match found:
        case {"stream": str(stream), "partitions": dict(partitions)}:
            return {stream: {str(number): int(offset) for number, offset in partitions.items()}}
    return {}


def offsets_of_all(queries: Iterable[QueryProgress]) -> Offsets:
    """What all queries have done: of a stream that several read, what the slowest has."""
    found: Offsets = {}
    for query in queries:
        for stream, partitions in query.offsets.items():
            known = found.setdefault(stream, dict(partitions))
            for number, offset in partitions.items():
                known[number] = min(known.get(number, offset), offset)
    return found


class Rate:
    """Rows a second, over the last seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = clock()
        self._taken: deque[tuple[float, int]] = deque()

    def add(self, rows: int) -> None:
        """Some rows have been taken."""
        self._taken.append((self._clock(), rows))

    @property
    def per_second(self) -> float:
        """How many it is now."""
        now = self._clock()
        while self._taken and self._taken[0][0] < now - _WINDOW:
            self._taken.popleft()
        seconds = min(_WINDOW, now - self._began)
        return sum(rows for _, rows in self._taken) / seconds if seconds > 0 else 0.0


class LagMeter:
    """Measures how far a pipeline is behind the streams that it reads."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._server = pipeline.server
        self._readers: dict[str, StreamSource] = {}

    def measure(self, offsets: Mapping[str, Mapping[str, int]]) -> tuple[int | None, float | None]:
        """Messages and seconds; nothing if the server cannot be asked or there is no offset yet."""
        messages, seconds = 0, 0.0
        if not offsets:
            return None, None
        try:
            for stream, partitions in offsets.items():
                done = {int(number): offset for number, offset in partitions.items()}
                lag = stream_lag(self._reader(stream), done, time.time() * 1000)
                messages, seconds = messages + lag.messages, max(seconds, lag.seconds)
        except (Problem, OSError):
            return None, None
        return messages, round(seconds, 3)

    def _reader(self, stream: str) -> StreamSource:
        if stream not in self._readers:
            remote = self._server.startswith(("http://", "https://"))
            self._readers[stream] = (
                RemoteStreamReader(self._server, stream, _TIMEOUT) if remote else StreamReader(self._server, stream)
            )
        return self._readers[stream]

    def close(self) -> None:
        """Close the readers of streams."""
        for reader in self._readers.values():
            reader.close()

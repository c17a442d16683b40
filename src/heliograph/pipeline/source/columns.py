"""Blocks of the log become columns: all messages of a block at a time, with no work in Python for each of them.

Where each payload starts and ends follows from the runs of packets that records are (`runs`). A binary column of Arrow
is such places and one buffer; the block itself can be that buffer if what lies between two payloads is taken for a
value too: payload, gap, payload, gap ... Then taking every other value copies all payloads in one call, whatever
lengths they have. Topics and properties are found in the same way.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from heliograph.common.bounded_dict import BoundedDict
from heliograph.pipeline.errors import PipelineError
from heliograph.pipeline.source.filters import Wanted
from heliograph.pipeline.source.gathering import MOST_AT_ONCE, Numbers, Records
from heliograph.pipeline.source.message_properties import NO_PROPERTIES, MessageProperties, message_properties
from heliograph.pipeline.source.numbered_text import numbered
from heliograph.pipeline.source.runs import Runs, runs_of

_QOS, _RETAIN = 3, 4
_LONG_RUN = 8
"""With so many messages in a run, a step in Python for each run is nothing to what its messages take."""
_MICROSECONDS = 1000
_MOST_CONSTANTS = 64


class Columns:
    """Makes batches of rows for one partition of a stream."""

    def __init__(self, stream: str, partition: int, schema: pa.Schema, wanted: Wanted) -> None:
        """`schema` has the columns to make; rows that are not `wanted` by their topic are left out."""
        self._stream = stream
        self._partition = partition
        self._schema = schema
        self._wanted = wanted
        self._constants = _Constants()

    @property
    def all_wanted(self) -> bool:
        """Whether every message becomes a row."""
        return not self._wanted.by_topic

    def batch(self, records: Records, first: int, end: int) -> pa.RecordBatch | None:
        """The messages of some records from offset `first` up to `end` as rows; None if none of them is wanted."""
        rows = _Rows(records, first, end, self._constants)
        if self._wanted.by_topic:
            rows.keep(self._wanted.topics_mask(rows.run_topics()))
            if not rows.number:
                return None
        return pa.RecordBatch.from_arrays([self._column(rows, field) for field in self._schema], schema=self._schema)

    def _column(self, rows: "_Rows", field: pa.Field) -> pa.Array:
        if field.name == "stream":
            return self._constants.column(self._stream, field.type, rows.number)
        if field.name == "partition":
            return self._constants.column(self._partition, field.type, rows.number)
        if field.name == "message_id":
            return rows.message_ids(f"{self._stream}/{self._partition}/")
        return _MAKERS[field.name](rows, field.type)


class _Constants:
    """Columns with one value in all rows, which most batches have in common: each is made once."""

    def __init__(self) -> None:
        self._made: BoundedDict[tuple[object, pa.DataType], pa.Array] = BoundedDict(_MOST_CONSTANTS)

    def column(self, value: object, kind: pa.DataType, rows: int) -> pa.Array:
        """A value so many times."""
        made = self._made.get((value, kind))
        if made is None or len(made) < rows:
            made = self._made[value, kind] = pa.repeat(pa.scalar(value, kind), rows)
        return made if len(made) == rows else made.slice(0, rows)


class _Rows:
    """The messages of a block. What is said of a run holds for all of its messages."""

    def __init__(self, records: Records, first: int, end: int, constants: _Constants) -> None:
        if len(records.data) > MOST_AT_ONCE:
            raise PipelineError(
                f"expected records of less than {MOST_AT_ONCE} bytes, found {len(records.data)} bytes at once"
            )
        self._data = pa.py_buffer(records.data)
        self._payloads = records.payloads
        self._constants = constants
        self._take(runs_of(records, first, end))

    def _take(self, runs: Runs) -> None:
        """Find out which message is in which run."""
        self._runs = runs
        self.number = int(runs.number.sum())
        self._run: Numbers | None = None
        self._within: Numbers | None = None
        if self.number != len(runs.number):
            self._run = np.repeat(np.arange(len(runs.number)), runs.number)
            self._within = np.arange(self.number) - np.repeat(np.cumsum(runs.number) - runs.number, runs.number)
        self._known: list[MessageProperties] | None = None

    def keep(self, mask: npt.NDArray[np.bool_]) -> None:
        """Go on with some of the runs only."""
        self._take(self._runs.only(mask))

    def _each(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """A value of each run for each of its messages."""
        return values if self._run is None else values[self._run]

    def _column(self, values: npt.NDArray[Any], kind: pa.DataType) -> pa.Array:
        """A value of each run as a column."""
        if len(values) and (values == values[0]).all():
            return self._constants.column(values[0].item(), kind, self.number)
        return pa.array(self._each(values), kind)

    def run_topics(self) -> pa.Array:
        """The topic of each run."""
        return self._gather(self._runs.topic_at, self._runs.topic_end, pa.string(), None)

    def topics(self, kind: pa.DataType) -> pa.Array:
        starts, ends, counts = self._runs.topic_at, self._runs.topic_end, self._runs.number
        if self.number < _LONG_RUN * len(counts):
            return self._gather(starts, ends, kind, self._run)
        data = memoryview(self._data)
        places = zip(starts.tolist(), ends.tolist(), counts.tolist(), strict=True)
        values = b"".join([bytes(data[start:end]) * count for start, end, count in places])
        return _array(kind, self._each(ends - starts), pa.py_buffer(values))

    def payloads(self, kind: pa.DataType) -> pa.Array:
        runs = self._runs
        sizes = self._each(runs.stride - runs.head)
        if self._payloads is not None:
            return _array(kind, sizes, self._payloads)
        starts = self._each(runs.data_at + runs.head)
        if self._within is not None:
            starts = starts + self._within * self._each(runs.stride)
        return self._gather(starts, starts + sizes, kind, None)

    def _gather(self, starts: Numbers, ends: Numbers, kind: pa.DataType, which: Numbers | None) -> pa.Array:
        """What lies between some places of the block, which are in order; `which` of them, if not each once."""
        number = len(starts)
        edges = np.empty(2 * number, np.int32)
        edges[0::2], edges[1::2] = starts, ends
        with_gaps = pa.Array.from_buffers(kind, max(0, 2 * number - 1), [None, pa.py_buffer(edges), self._data])
        without = with_gaps.take(pa.array(np.arange(0, 2 * number, 2)))
        return without if which is None else without.take(pa.array(which))

    def offset_numbers(self) -> Numbers:
        first = self._each(self._runs.first)
        return first if self._within is None else first + self._within

    def offsets(self, _kind: pa.DataType) -> pa.Array:
        return pa.array(self.offset_numbers())

    def times(self, kind: pa.DataType) -> pa.Array:
        return pa.array(self._each(self._runs.time * _MICROSECONDS)).view(kind)

    def qos(self, kind: pa.DataType) -> pa.Array:
        return self._column(self._runs.flags & _QOS, kind)

    def retain(self, kind: pa.DataType) -> pa.Array:
        return self._column((self._runs.flags & _RETAIN).astype(np.bool_), kind)

    def expiry(self, kind: pa.DataType) -> pa.Array:
        """Milliseconds that a message was worth delivering when it came; null if that is for ever."""
        never = self._runs.expires == 0
        if never.all():
            return self._constants.column(None, kind, self.number)
        left = np.maximum(self._runs.expires - self._runs.time, 0)
        return pa.array(self._each(left), kind, mask=self._each(never))

    def property_column(self, name: str, kind: pa.DataType) -> pa.Array:
        """One of the things that properties say, or null."""
        known = self._properties()
        if len(known) == 1:
            return self._constants.column(None, kind, self.number)
        return pa.array([getattr(one, name) for one in known], kind).take(self._property_places)

    def message_ids(self, prefix: str) -> pa.Array:
        """What a message calls itself, or else where it is."""
        places = numbered(prefix, self.offset_numbers())
        if len(self._properties()) == 1:
            return places
        return pc.coalesce(self.property_column("message_id", pa.string()), places)

    def _properties(self) -> list[MessageProperties]:
        """All different properties that there are. Those of a message are found by `_property_places`."""
        if self._known is None:
            self._known = [NO_PROPERTIES]
            starts, ends = self._runs.properties_at, self._runs.properties_end
            there = np.flatnonzero(starts < ends)
            if len(there):
                encoded = self._gather(starts[there], ends[there], pa.binary(), None).dictionary_encode()
                self._known += map(message_properties, encoded.dictionary.to_pylist())
                places = np.zeros(len(starts), np.int64)
                places[there] = encoded.indices.to_numpy()
                places[there] += 1
                self._property_places = pa.array(self._each(places))
        return self._known


def _array(kind: pa.DataType, sizes: Numbers, values: pa.Buffer) -> pa.Array:
    """Texts or bytes of these sizes, which lie one behind the other."""
    edges = np.zeros(len(sizes) + 1, np.int32)
    np.cumsum(sizes, out=edges[1:])
    return pa.Array.from_buffers(kind, len(sizes), [None, pa.py_buffer(edges), values])


def _property(name: str) -> Callable[[_Rows, pa.DataType], pa.Array]:
    return lambda rows, kind: rows.property_column(name, kind)


_MAKERS: dict[str, Callable[[_Rows, pa.DataType], pa.Array]] = {
    "offset": _Rows.offsets,
    "timestamp": _Rows.times,
    "topic": _Rows.topics,
    "payload": _Rows.payloads,
    "qos": _Rows.qos,
    "retain": _Rows.retain,
    "expiry": _Rows.expiry,
    "content_type": _property("content_type"),
    "correlation": _property("correlation"),
    "reply_to": _property("reply_to"),
    "properties": _property("properties"),
    "text": _property("text"),
}

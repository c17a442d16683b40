"""Blocks of the log become columns: all messages of a block at a time, with no work in Python for each of them.

A record is a run of packets of one length, so where each payload starts and ends follows from the head of its record by
arithmetic on whole columns. A binary column of Arrow is such places and one buffer; the block itself can be that buffer
if what lies between two payloads is taken for a value too: payload, gap, payload, gap ... Then taking every other value
copies all payloads in one call, whatever lengths they have. Topics are found in the same way.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from heliograph.errors import Problem
from heliograph.log.messages import PUBLISH_PACKETS
from heliograph.log.stream_block import Block, Data
from heliograph.pipeline.source.filters import Wanted
from heliograph.pipeline.source.message_properties import NO_PROPERTIES, MessageProperties, message_properties
from heliograph.pipeline.source.numbered_text import numbered

_HEADER = [
    ("crc", "<u4"),
    ("length", "<u4"),
    ("kind", "u1"),
    ("record_flags", "u1"),
    ("zero", "<u2"),
    ("epoch", "<u4"),
    ("count", "<u4"),
    ("number", "<u8"),
    ("time", "<u8"),
]
_HEAD = [
    ("receivers", "<u4"),
    ("form", "u1"),
    ("flags", "u1"),
    ("topic", "<u2"),
    ("head", "<u4"),
    ("id_at", "<u4"),
    ("stride", "<u4"),
    ("properties", "<u4"),
    ("publisher", "<u4"),
    ("expires", "<u8"),
]
_FRONT = np.dtype(_HEADER + _HEAD)
"""A record's header, and the head of messages behind it: see `heliograph.log.record` and `heliograph.log.messages`."""
_FRONT_PLACES = np.arange(_FRONT.itemsize)
_RECEIVER_SIZE = 14
_QOS, _RETAIN = 3, 4
_LARGEST = 2**31 - 1
_LARGE_RECORD = 16 << 10
_MICROSECONDS = 1000

Numbers = npt.NDArray[np.int64]


class Columns:
    """Makes batches of rows for one partition of a stream."""

    def __init__(self, stream: str, partition: int, schema: pa.Schema, wanted: Wanted) -> None:
        """`schema` has the columns to make; rows that are not `wanted` by their topic are left out."""
        self._stream = stream
        self._partition = partition
        self._schema = schema
        self._wanted = wanted

    def batch(self, blocks: Sequence[Block], first: int, end: int) -> pa.RecordBatch | None:
        """The messages of some blocks from offset `first` up to `end` as rows; None if none of them is wanted."""
        rows = _Rows(*_joined(blocks), first, end)
        if self._wanted.by_topic:
            rows.keep(self._wanted.topics_mask(rows.record_topics()))
            if not rows.number:
                return None
        return pa.RecordBatch.from_arrays([self._column(rows, field) for field in self._schema], schema=self._schema)

    def _column(self, rows: "_Rows", field: pa.Field) -> pa.Array:
        if field.name == "stream":
            return pa.repeat(pa.scalar(self._stream, field.type), rows.number)
        if field.name == "partition":
            return pa.array(np.full(rows.number, self._partition, np.int32))
        if field.name == "message_id":
            return rows.message_ids(f"{self._stream}/{self._partition}/")
        return _MAKERS[field.name](rows, field.type)


def _joined(blocks: Sequence[Block]) -> tuple[Data, Numbers, Numbers]:
    """Blocks as one: the data, where each record starts in it, and the offset of its first message."""
    starts = [np.frombuffer(block.starts, np.int64) for block in blocks]
    firsts = [np.frombuffer(block.firsts, np.int64) for block in blocks]
    if len(blocks) == 1:
        return blocks[0].data, starts[0], firsts[0]
    parts = [memoryview(block.data)[block.starts[0] : block.used] for block in blocks]
    shifts = np.cumsum([0, *map(len, parts)])
    moved = [at - at[0] + shift for at, shift in zip(starts, shifts, strict=False)]
    return b"".join(parts), np.concatenate(moved), np.concatenate(firsts)


class _Rows:
    """Where everything is in a block. What is said of a record holds for all of its messages."""

    def __init__(self, data: Data, starts: Numbers, firsts: Numbers, first: int, end: int) -> None:
        if len(data) > _LARGEST:
            raise Problem(f"expected records of less than {_LARGEST} bytes, found {len(data)} bytes at once")
        self._data = pa.py_buffer(data)
        raw = np.frombuffer(data, np.uint8)[starts[:, None] + _FRONT_PLACES]
        heads: Any = raw.view(_FRONT)[:, 0]
        if (heads["form"] != PUBLISH_PACKETS).any():
            form = heads["form"].max()
            raise Problem(f"expected records of MQTT packets (form {PUBLISH_PACKETS}) in a stream, found form {form}")
        self._flags = heads["flags"]
        self._times = heads["time"].astype(np.int64)
        self._expires = heads["expires"].astype(np.int64)
        self._first = np.maximum(firsts, first)
        self._counts = np.minimum(firsts + heads["count"], end) - self._first
        self._topic_at = starts + _FRONT.itemsize + _RECEIVER_SIZE * heads["receivers"].astype(np.int64)
        self._properties_at = self._topic_at + heads["topic"]
        data_at = self._properties_at + heads["properties"]
        self._stride = heads["stride"].astype(np.int64)
        self._head = heads["head"].astype(np.int64)
        self._data_at = data_at + (self._first - firsts) * self._stride
        self._properties_end = data_at
        self._known: list[MessageProperties] | None = None
        self._arrange()

    def _arrange(self) -> None:
        """Find out which message is in which record."""
        counts = self._counts
        self.number = int(counts.sum())
        self._record: Numbers | None = None
        self._within: Numbers | None = None
        if self.number != len(counts):
            self._record = np.repeat(np.arange(len(counts)), counts)
            self._within = np.arange(self.number) - np.repeat(np.cumsum(counts) - counts, counts)

    def keep(self, mask: npt.NDArray[np.bool_]) -> None:
        """Go on with some of the records only."""
        for name in (
            "_flags",
            "_times",
            "_expires",
            "_first",
            "_counts",
            "_topic_at",
            "_properties_at",
            "_properties_end",
            "_stride",
            "_head",
            "_data_at",
        ):
            setattr(self, name, getattr(self, name)[mask])
        self._arrange()

    def _each(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """A value of each record for each of its messages."""
        return values if self._record is None else values[self._record]

    def record_topics(self) -> pa.Array:
        """The topic of each record."""
        return self._gather(self._topic_at, self._properties_at, pa.string(), None)

    def topics(self, kind: pa.DataType) -> pa.Array:
        return self._gather(self._topic_at, self._properties_at, kind, self._record)

    def payloads(self, kind: pa.DataType) -> pa.Array:
        if len(self._data) >= _LARGE_RECORD * len(self._counts):
            return self._payloads_by_record(kind)
        starts, sizes = self._each(self._data_at + self._head), self._each(self._stride - self._head)
        if self._within is not None:
            starts = starts + self._within * self._each(self._stride)
        return self._gather(starts, starts + sizes, kind, None)

    def _payloads_by_record(self, kind: pa.DataType) -> pa.Array:
        """The same if records are so large that a step in Python for each of them is nothing to the copy."""
        sizes = self._stride - self._head
        edges = np.zeros(self.number + 1, np.int32)
        np.cumsum(self._each(sizes), out=edges[1:])
        values = pa.allocate_buffer(int(edges[-1]))
        source, target, at = np.frombuffer(self._data, np.uint8), np.frombuffer(values, np.uint8), 0
        records = zip(*(each.tolist() for each in (self._data_at, self._counts, self._stride, self._head)), strict=True)
        for start, count, stride, head in records:
            packets = source[start : start + count * stride].reshape(count, stride)
            end = at + count * (stride - head)
            target[at:end].reshape(count, stride - head)[:] = packets[:, head:]
            at = end
        return pa.Array.from_buffers(kind, self.number, [None, pa.py_buffer(edges), values])

    def _gather(self, starts: Numbers, ends: Numbers, kind: pa.DataType, which: Numbers | None) -> pa.Array:
        """What lies between some places of the block, which are in order; `which` of them, if not each once."""
        number = len(starts)
        edges = np.empty(2 * number, np.int32)
        edges[0::2], edges[1::2] = starts, ends
        with_gaps = pa.Array.from_buffers(kind, max(0, 2 * number - 1), [None, pa.py_buffer(edges), self._data])
        without = with_gaps.take(pa.array(np.arange(0, 2 * number, 2)))
        return without if which is None else without.take(pa.array(which))

    def offset_numbers(self) -> Numbers:
        first = self._each(self._first)
        return first if self._within is None else first + self._within

    def offsets(self, _kind: pa.DataType) -> pa.Array:
        return pa.array(self.offset_numbers())

    def times(self, kind: pa.DataType) -> pa.Array:
        return pa.array(self._each(self._times * _MICROSECONDS)).view(kind)

    def qos(self, _kind: pa.DataType) -> pa.Array:
        return pa.array(self._each((self._flags & _QOS).astype(np.int32)))

    def retain(self, _kind: pa.DataType) -> pa.Array:
        return pa.array(self._each((self._flags & _RETAIN).astype(np.bool_)))

    def expiry(self, kind: pa.DataType) -> pa.Array:
        """Milliseconds that a message was worth delivering when it came; null if that is for ever."""
        never = self._expires == 0
        if never.all():
            return pa.nulls(self.number, kind)
        left = np.maximum(self._expires - self._times, 0)
        return pa.array(self._each(left), kind, mask=self._each(never))

    def property_column(self, name: str, kind: pa.DataType) -> pa.Array:
        """One of the things that properties say, or null."""
        known = self._properties()
        if len(known) == 1:
            return pa.nulls(self.number, kind)
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
            self._known, numbers = [NO_PROPERTIES], np.zeros(len(self._counts), np.int64)
            there = np.flatnonzero(self._properties_end > self._properties_at)
            if len(there):
                data = memoryview(self._data)
                places: dict[bytes, int] = {}
                for record in there.tolist():
                    encoded = bytes(data[self._properties_at[record] : self._properties_end[record]])
                    numbers[record] = place = places.setdefault(encoded, len(self._known))
                    if place == len(self._known):
                        self._known.append(message_properties(encoded))
            self._property_places = pa.array(self._each(numbers))
        return self._known


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

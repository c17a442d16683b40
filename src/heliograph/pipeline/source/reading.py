"""The reading half of `format("heliograph")`, as Spark asks for it.

Theory of operation
1. A batch, or a micro-batch, is a range of offsets in each partition of the stream. Its end is fixed on the driver
   before anything is read, so that whatever is run again reads the same messages.
2. A range is cut into pieces, which are shared out among tasks; tasks read the log themselves, from the server's pages
   or from its files, and decode it where they run.
3. Spark makes readers several times, in several processes, and throws most of them away. So nothing is opened before it
   is needed, and nothing depends on `commit`, which Spark calls late or never.
"""

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, Filter, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from heliograph.log.streams import StreamSource, StreamState
from heliograph.pipeline.source.access import make_stream, open_stream, patiently, stream_name
from heliograph.pipeline.source.data_loss import beginning_of, readable_from
from heliograph.pipeline.source.filters import Wanted, take_filters
from heliograph.pipeline.source.offsets import (
    Offsets,
    Piece,
    admitted,
    cut,
    identity_in,
    is_another,
    offset_json,
    offsets_in,
    shared_out,
)
from heliograph.pipeline.source.options import SourceOptions, source_options
from heliograph.pipeline.source.piece_reading import read_pieces
from heliograph.pipeline.source.positions import LATEST
from heliograph.pipeline.source.schema import arrow_schema, check_schema, stream_schema
from heliograph.pipeline.spark_errors import plain_errors

_IDLE = 0.02
"""Seconds to wait where there is nothing new: Spark asks again at once, and the server has other things to do."""


def source_schema(options: Mapping[str, str]) -> StructType:
    """The columns of a stream. Spark asks for them in `load`: from then on, the stream of a topic filter is there.

    A query begins some time after `start` has returned; what is published meanwhile is to be read.
    """
    checked = source_options(options)
    make_stream(checked)
    return stream_schema(checked.format)


def batch_reader(schema: StructType, options: Mapping[str, str]) -> "StreamBatchReader":
    """Reads a range of a stream once."""
    return StreamBatchReader(source_options(options, streaming=False), schema)


def filtering_reader(schema: StructType, options: Mapping[str, str]) -> "FilteringReader":
    """Reads a range of a stream once, without the rows that filters on topic and time exclude."""
    return FilteringReader(source_options(options, streaming=False), schema)


def stream_reader(schema: StructType, options: Mapping[str, str]) -> "StreamMicroBatchReader":
    """Reads a stream in micro-batches."""
    return StreamMicroBatchReader(source_options(options, streaming=True), schema)


class SharePartition(InputPartition):
    """Pieces of a stream, for one task, and the identity of that stream."""

    def __init__(self, pieces: tuple[Piece, ...], identity: str) -> None:
        super().__init__(pieces)
        self.identity = identity


def _shares(start: Offsets, end: Offsets, tasks: int, identity: str) -> list[InputPartition]:
    return [SharePartition(share, identity) for share in shared_out(cut(start, end, tasks))]


@plain_errors
class StreamBatchReader(DataSourceReader):
    """Reads a fixed range of a stream, given by offsets or times."""

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        check_schema(schema, options.format)
        self._options = options
        self._schema = schema
        self._wanted = Wanted()

    def partitions(self) -> list[InputPartition]:
        """Resolve the ends of the range to offsets, and cut it into pieces for tasks."""
        make_stream(self._options)
        with open_stream(self._options) as reader:
            start, end = self._range(reader)
        return _shares(start, end, self._options.tasks, reader.identity)

    def _range(self, reader: StreamSource) -> tuple[Offsets, Offsets]:
        options, wanted = self._options, self._wanted
        start, end = options.start.resolve(reader), options.end.resolve(reader)
        extents = reader.extents()
        options.start.check_within(reader.name, start, extents)
        options.end.check_within(reader.name, end, extents)
        if wanted.since:
            start = {p: max(offset, reader.offset_at(p, wanted.since)) for p, offset in start.items()}
        if wanted.is_before:
            end = {p: min(offset, reader.offset_at(p, wanted.before)) for p, offset in end.items()}
        return readable_from(reader.name, start, extents, fail=options.fail_on_data_loss), end

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one share."""
        if not isinstance(partition, SharePartition):  # there was nothing to read, and Spark wants a task
            return iter(())
        schema = arrow_schema(self._schema)
        return read_pieces(self._options, schema, self._wanted, partition.value, partition.identity)


@plain_errors
class FilteringReader(StreamBatchReader):
    """With filters on topic and time.

    A class of its own, because Spark refuses readers that have `pushFilters` when filter pushdown is switched off.
    """

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 - Spark's name
        """Keep the filters that can be applied here; returns the rest, which Spark applies."""
        self._wanted, rest = take_filters(filters)
        return rest


@plain_errors
class StreamMicroBatchReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads a stream in micro-batches. Spark does not push filters down to streaming sources.

    Spark calls `latestOffset` on the driver, writes its answer to the checkpoint, and then calls `partitions` with the
    previous and the new answer, once or, after a restart, again. So `partitions` depends on nothing but its arguments.
    """

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        check_schema(schema, options.format)
        self._options = options
        self._schema = schema
        self._name = stream_name(options)
        self._opened: StreamSource | None = None
        self._latest: StreamState | None = None
        """What the stream was like when it was last looked at."""
        self._target: Offsets | None = None
        """Where a query ends that reads what is available now."""

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_opened": None}

    def _reader(self) -> StreamSource:
        if self._opened is None:
            make_stream(self._options)
            self._opened = open_stream(self._options)
        return self._opened

    def _state(self) -> StreamState:
        """The identity and extents of the stream; waits for a while if the server cannot be reached."""
        reader = self._reader()
        self._latest = patiently(reader.state)
        return self._latest

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Where a query without a checkpoint begins."""
        state = self._state()
        reader = self._reader()
        start = self._options.start.resolve(reader)
        self._options.start.check_within(reader.name, start, reader.extents())
        return self._json(start, state.identity)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """The limit set by `maxMessagesPerTrigger`."""
        return ReadAllAvailable() if self._options.most is None else ReadMaxRows(self._options.most)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Where the next micro-batch ends."""
        identity, extents = self._state()
        before = offsets_in(start, self._name)
        fail = self._options.fail_on_data_loss
        if is_another(identity_in(start), identity):
            first = beginning_of(self._name, extents, fail=fail)
        else:
            first = readable_from(self._name, before, extents, fail=fail)
        latest = {p: max(first[p], offset) for p, offset in self._ends(extents).items()}
        end = admitted(first, latest, limit.max_rows if isinstance(limit, ReadMaxRows) else None)
        if end == before and not is_another(identity_in(start), identity):
            time.sleep(_IDLE)
            return start  # what is the same must look the same: Spark compares the text
        return self._json(end, identity)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Note where the stream ends now."""
        self._target = self._ends(self._state().extents)

    def _ends(self, extents: list[tuple[int, int]]) -> Offsets:
        """How far each partition may be read: to its present end, or to the end of the query if that comes first."""
        ends = {partition: latest for partition, (_, latest) in enumerate(extents)}
        for bound in (self._target, None if self._options.end == LATEST else self._last()):
            if bound is not None:
                ends = {partition: min(offset, bound.get(partition, 0)) for partition, offset in ends.items()}
        return ends

    def _last(self) -> Offsets:
        return patiently(lambda: self._options.end.resolve(self._reader()))

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802 - Spark's name
        """Where the stream ends, from which Spark reports how far a query is behind."""
        if self._latest is None:
            return None
        latest = {partition: latest for partition, (_, latest) in enumerate(self._latest.extents)}
        return self._json(latest, self._latest.identity)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """Cut a micro-batch into pieces for tasks; the same arguments give the same pieces."""
        first, last = offsets_in(start, self._name), offsets_in(end, self._name)
        anew = is_another(identity_in(start), identity_in(end))
        for partition, offset in last.items():
            if anew or first.get(partition, 0) > offset:
                first[partition] = 0  # the stream has begun anew, and failOnDataLoss allows that
        return _shares(first, last, int(end["tasks"]), identity_in(end))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one share."""
        assert isinstance(partition, SharePartition)
        return read_pieces(self._options, arrow_schema(self._schema), Wanted(), partition.value, partition.identity)

    def stop(self) -> None:
        """Let go of files and connections."""
        if self._opened is not None:
            self._opened.close()

    def _json(self, offsets: Offsets, identity: str) -> dict[str, Any]:
        return offset_json(self._name, offsets, self._options.tasks, identity)

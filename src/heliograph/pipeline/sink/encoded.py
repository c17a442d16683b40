"""Publishes messages that are encoded already, several for a row or none: the outputs of a flow.

Each output row has the number of the input message it results from, and progress counts these numbers. The outputs of a
message may differ when the task is repeated, because a flow can look at the time or into a database. So a unit of work
has either all outputs of a message, or none.
"""

from bisect import bisect_left
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter

import pyarrow as pa

from heliograph.pipeline.sink.options import SinkOptions
from heliograph.pipeline.sink.part import Part
from heliograph.pipeline.sink.units import Units

_PIECE_MESSAGES, _PIECE_BYTES = 2_000, 4 << 20
"""What is handed to the server at once."""


class EncodedPublishing:
    """Publishes the messages of one task."""

    def __init__(self, part: Part, options: SinkOptions) -> None:
        self._units = Units(part, options)
        self._waiting: list[bytes] = []
        """Of the last row: more of it may come."""
        self._row = -1

    def publish(self, batches: Iterator[pa.RecordBatch]) -> int:
        """Publish what the server does not have yet; returns how many input messages there were.

        Batches have the columns `row`, which never goes down, and `message`. An iterator that did not get all of them
        raises an exception: the last unit of work is undone then.
        """
        count = 0
        try:
            for batch in batches:
                self._take_batch(batch.column("row").to_pylist(), batch.column("message").to_pylist())
                count += batch.num_rows
            if self._waiting:
                self._units.add(self._waiting, self._row + 1)
            self._units.commit()
            self._units.end()
        except BaseException:
            self._units.abandon()
            raise
        return count

    def _take_batch(self, rows: list[int], messages: list[bytes]) -> None:
        self._units.begin()
        there = bisect_left(rows, self._units.first) if self._row < 0 else 0
        piece: list[bytes] = []
        size = 0
        for row, several in groupby(zip(rows[there:], messages[there:], strict=True), key=itemgetter(0)):
            if row != self._row:
                piece += self._waiting
                size += sum(map(len, self._waiting))
                if len(piece) >= _PIECE_MESSAGES or size >= _PIECE_BYTES:
                    self._units.add(piece, row)
                    piece, size = [], 0
                self._row, self._waiting = row, []
            self._waiting += [message for _, message in several]
        if piece:
            self._units.add(piece, self._row)

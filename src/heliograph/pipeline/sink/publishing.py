"""A task: its rows become messages, and are published in units of work."""

import time
from collections.abc import Callable, Iterable, Sequence

import pyarrow as pa

from heliograph.pipeline.errors import PublishingFailed
from heliograph.pipeline.sink.messages import Messages
from heliograph.pipeline.sink.options import SinkOptions
from heliograph.pipeline.sink.part import Part
from heliograph.pipeline.sink.units import Units

_PIECE_ROWS, _PIECE_BYTES = 2_000, 4 << 20
"""Rows and bytes that are encoded at once. Small pieces let the server work on one while the next is encoded."""


class Publishing:
    """Publishes the rows of one task. The server is reached when there is a row."""

    def __init__(
        self, part: Part, columns: Sequence[str], options: SinkOptions, all_came: Callable[[], object]
    ) -> None:
        """`all_came` is called at the end of the rows, and raises if there should have been more."""
        self._part = part
        self._units = Units(part, options)
        self._messages = Messages(columns, options, part.prefix, part.row)
        self._all_came = all_came

    def publish(self, batches: Iterable[pa.RecordBatch]) -> int:
        """Publish all rows that the server does not have yet; returns how many rows there were."""
        rows = 0
        try:
            for batch in batches:
                if batch.num_rows:
                    self._publish_batch(batch, rows)
                    rows += batch.num_rows
            self._all_came()
            self._units.commit()
            self._check(rows)
            self._units.end()
        except BaseException:
            self._units.abandon()
            raise
        return rows

    def _publish_batch(self, batch: pa.RecordBatch, row: int) -> None:
        """Publish a batch whose first row has this number; skip rows that the server has already."""
        units = self._units
        units.begin()
        most = min(_PIECE_ROWS, max(1, _PIECE_BYTES * batch.num_rows // max(1, batch.nbytes)))
        end = row + batch.num_rows
        while units.next < end:
            piece = batch.slice(units.next - row, min(most, units.room))
            payloads = self._messages.of(piece, units.next, round(time.time() * 1000))
            units.add(payloads, units.next + len(payloads))

    def _check(self, rows: int) -> None:
        if rows < self._units.first:
            raise PublishingFailed(
                f"partition {self._part.partition} of batch {self._part.batch} had at least {self._units.first} rows "
                f"when it was published before, and has {rows} now; a repeated batch must have the same rows in the "
                "same order"
            )

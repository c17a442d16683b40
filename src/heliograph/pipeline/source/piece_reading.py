"""Reading in a task: pieces of partitions, from the log's blocks to Arrow, in one of Spark's workers."""

import time
from collections.abc import Iterable, Iterator
from contextlib import closing

import numpy as np
import pyarrow as pa

from heliograph.log import BufferPool
from heliograph.log.streams import OffsetAhead, OffsetGone, ServerUnreachable, StreamSource
from heliograph.pipeline.source.access import PATIENCE, open_for_task, patiently, stayed_away, stream_name
from heliograph.pipeline.source.columns import Columns
from heliograph.pipeline.source.data_loss import ahead, gone, replaced
from heliograph.pipeline.source.filters import Wanted
from heliograph.pipeline.source.gathering import READ_SIZE, ROOM_SIZE, gathered
from heliograph.pipeline.source.offsets import Piece, is_another
from heliograph.pipeline.source.options import SourceOptions

_PAUSE = 0.25


def read_pieces(
    options: SourceOptions, schema: pa.Schema, wanted: Wanted, pieces: Iterable[Piece], identity: str = ""
) -> Iterator[pa.RecordBatch]:
    """All rows of these pieces, in order. Waits for a server that is away, now or later.

    `identity` is that of the stream the pieces were cut from, if known; another stream of that name is not read.
    """
    room = BufferPool(ROOM_SIZE, lambda size: np.empty(size, np.uint8))
    with closing(patiently(lambda: open_for_task(options))) as reader:
        if is_another(identity, reader.identity):
            if options.fail_on_data_loss:
                raise replaced(reader.name)
            return
        for piece in pieces:
            columns = Columns(stream_name(options), piece.partition, schema, wanted)
            yield from _read_piece(options, reader, columns, piece, room)


def _read_piece(
    options: SourceOptions, reader: StreamSource, columns: Columns, piece: Piece, room: BufferPool
) -> Iterator[pa.RecordBatch]:
    offset, end, give_up = piece.first, piece.end, 0.0
    while offset < end:
        try:
            room.clear()
            blocks = reader.blocks(piece.partition, offset, end, READ_SIZE, room)
            for records in gathered(blocks, offset, end, room, copying=columns.all_wanted):
                batch = columns.batch(records, offset, end)
                offset = records.next
                give_up = 0.0
                if batch is not None:
                    yield batch
                    del batch  # Spark is done with it, and its memory is wanted for the next one
            if offset < end:
                raise OffsetAhead(reader.name, end, offset)
        except OffsetGone as lost:
            if options.fail_on_data_loss:
                raise gone(reader.name, piece.partition, lost.offset, lost.earliest) from None
            offset = max(offset, lost.earliest)
        except ServerUnreachable as problem:
            give_up = give_up or time.monotonic() + PATIENCE
            if time.monotonic() > give_up:
                raise stayed_away(problem) from None
            time.sleep(_PAUSE)
        except OffsetAhead as lost:
            if options.fail_on_data_loss:
                raise ahead(reader.name, piece.partition, lost.offset, lost.latest) from None
            return

"""What a task does: read its pieces of partitions, from the log's blocks to Arrow, in one of Spark's workers."""

import time
from collections.abc import Iterable, Iterator
from contextlib import closing

import pyarrow as pa

from heliograph.log.remote_stream_reader import Unreachable
from heliograph.log.room import Room
from heliograph.log.stream_block import Block
from heliograph.log.stream_span import OffsetAhead, OffsetGone, StreamSource
from heliograph.pipeline.source.access import PATIENCE, open_for_task, patiently, stayed_away, stream_name
from heliograph.pipeline.source.columns import Columns
from heliograph.pipeline.source.data_loss import ahead, gone, replaced
from heliograph.pipeline.source.filters import Wanted
from heliograph.pipeline.source.offsets import Piece, is_another
from heliograph.pipeline.source.options import SourceOptions

_READ_SIZE = 4 << 20
"""Bytes of the log that are read at a time."""
_ENOUGH = _READ_SIZE // 2
"""A batch is worth its while from so many bytes on: each takes Spark and Arrow some time whatever its size."""
_PAUSE = 0.25


def read_pieces(
    options: SourceOptions, schema: pa.Schema, wanted: Wanted, pieces: Iterable[Piece], identity: str = ""
) -> Iterator[pa.RecordBatch]:
    """All rows of these pieces, one after the other. A server that is away, now or later, is waited for.

    `identity` is that of the stream that the pieces were cut from, if it is known. There are none of another one.
    """
    room = Room(2 * _READ_SIZE)
    with closing(patiently(lambda: open_for_task(options))) as reader:
        if is_another(identity, reader.identity):
            if options.fail_on_data_loss:
                raise replaced(reader.name)
            return
        for piece in pieces:
            columns = Columns(stream_name(options), piece.partition, schema, wanted)
            yield from _read_piece(options, reader, columns, piece, room)


def _read_piece(
    options: SourceOptions, reader: StreamSource, columns: Columns, piece: Piece, room: Room
) -> Iterator[pa.RecordBatch]:
    offset, give_up = piece.first, 0.0
    while offset < piece.end:
        try:
            room.clear()
            for blocks in _gathered(reader.blocks(piece.partition, offset, piece.end, _READ_SIZE, room)):
                batch = columns.batch(blocks, offset, piece.end)
                room.clear()  # there is nothing of it in a batch
                offset = blocks[-1].next
                give_up = 0.0
                if batch is not None:
                    yield batch
            if offset < piece.end:
                raise OffsetAhead(reader.name, piece.end, offset)
        except OffsetGone as lost:
            if options.fail_on_data_loss:
                raise gone(reader.name, piece.partition, lost.offset, lost.earliest) from None
            offset = max(offset, lost.earliest)
        except Unreachable as problem:
            give_up = give_up or time.monotonic() + PATIENCE
            if time.monotonic() > give_up:
                raise stayed_away(problem) from None
            time.sleep(_PAUSE)
        except OffsetAhead as lost:
            if options.fail_on_data_loss:
                raise ahead(reader.name, piece.partition, lost.offset, lost.latest) from None
            return


def _gathered(blocks: Iterator[Block]) -> Iterator[list[Block]]:
    """Blocks in lists that are worth a batch: where a stream's messages are far from each other, blocks are small."""
    some: list[Block] = []
    size = 0
    for block in blocks:
        some.append(block)
        size += block.used - block.starts[0]
        if size >= _ENOUGH:
            yield some
            some, size = [], 0
    if some:
        yield some

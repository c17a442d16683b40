"""What a batch of rows is made of: records of some blocks, gathered until they are worth a batch.

Blocks of small records are kept as they are, and decoded together, as are those with records of several topics. Large
records of one topic are taken apart as soon as they have been read, while they are in the processor's cache: their
payloads are copied to where Arrow wants them; of the rest, a few bytes for each record, is made what a block of small
records is.
"""

import struct
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from heliograph.errors import Problem
from heliograph.log import ALIGNMENT, MIXED_PACKETS, PUBLISH_PACKETS, BufferPool
from heliograph.log.streams import BlockData, StreamBlock

READ_SIZE = 1 << 20
"""Bytes of the log that are read at a time: about what the processor's cache has room for."""
BATCH_SIZE = 4 << 20
"""About as much of the log is in a batch: each takes Spark and Arrow some time whatever its size."""
ROOM_SIZE = 2 * BATCH_SIZE + READ_SIZE
"""Room for the blocks of a batch: between its records there may be those of other partitions."""
LARGE_RECORD = 16 << 10
"""From this size on, a few steps in Python for a record are nothing to what it takes to copy it."""
MOST_AT_ONCE = 2**31 - 1
"""Bytes in a column of Arrow."""
_FRONT = struct.Struct("<16xI16x IBxHI4xII12x")
"""Of a record's header and the head of messages: count; receivers, form, length of the topic, head, stride, length of
the properties. See `heliograph.log.record` and `heliograph.log.messages`."""
_RECEIVER_SIZE = 14
_FORM_AT = 40
"""Where the form stands in a record."""

Numbers = npt.NDArray[np.int64]


class Records(NamedTuple):
    """Records with consecutive messages of one partition."""

    data: BlockData
    """Records as the log has them; without their packets if there are payloads."""
    starts: Numbers
    """Where each of them starts."""
    firsts: Numbers
    """The offset of the first message in each."""
    next: int
    """The offset behind the last message."""
    payloads: pa.Buffer | None = None
    """All payloads that are wanted, one behind the other, if they have been copied."""


def gathered(
    blocks: Iterator[StreamBlock], first: int, end: int, room: BufferPool, *, copying: bool
) -> Iterator[Records]:
    """Records that are worth a batch, with messages from offset `first` up to `end`.

    They hold until the next ones are asked for. Blocks are in the room, which is cleared when they are done with.
    Payloads of large records are copied only if all of them are wanted: `copying`.
    """
    small: list[StreamBlock] = []
    size = wanted = 0
    large = LargeRecords()
    for block in blocks:
        extent = block.used - block.starts[0]
        if copying and LARGE_RECORD * len(block) <= extent <= MOST_AT_ONCE and not _has_mixed(block):
            if small:
                yield _joined(small)
                small, size, wanted = [], 0, 0
            if large and large.size + extent > BATCH_SIZE:
                yield large.records()
                large = LargeRecords()
            large.add(block, first, end)
            room.clear()
        else:
            if large:
                yield large.records()
                large = LargeRecords()
            small.append(block)
            size += len(block.data)
            wanted += _extent(block)
            if wanted > BATCH_SIZE - READ_SIZE or size > ROOM_SIZE - 2 * READ_SIZE:
                yield _joined(small)
                small, size, wanted = [], 0, 0
                room.clear()
        first = block.next
    if large:
        yield large.records()
    if small:
        yield _joined(small)


def _extent(block: StreamBlock) -> int:
    """Bytes of its records, without those of others between them."""
    lengths = np.frombuffer(block.data, np.uint32, len(block.data) // 4)[1:]
    return int(lengths[np.frombuffer(block.starts, np.int64) // 4].sum(dtype=np.int64))


def _has_mixed(block: StreamBlock) -> bool:
    """Whether it has records of several topics."""
    return any(block.data[start + _FORM_AT] == MIXED_PACKETS for start in block.starts)


def _joined(blocks: Sequence[StreamBlock]) -> Records:
    """Blocks as one."""
    data, places = _together(blocks)
    starts = [np.frombuffer(block.starts, np.int64) + place for block, place in zip(blocks, places, strict=True)]
    firsts = [np.frombuffer(block.firsts, np.int64) for block in blocks]
    return Records(data, np.concatenate(starts), np.concatenate(firsts), blocks[-1].next)


def _together(blocks: Sequence[StreamBlock]) -> tuple[BlockData, list[int]]:
    """The data of all blocks, and where in it that of each is: a room that they are all in, or else a copy."""
    if len(blocks) == 1:
        return blocks[0].data, [0]
    room: Any = getattr(blocks[0].data, "base", None)
    if room is not None and all(getattr(block.data, "base", None) is room for block in blocks):
        return room, [_address(block.data) - _address(room) for block in blocks]
    parts: list[BlockData] = []
    for block in blocks:
        parts += (block.data, bytes(-len(block.data) % ALIGNMENT))
    return b"".join(parts), [sum(map(len, parts[: 2 * number])) for number in range(len(blocks))]


def _address(array: Any) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


class LargeRecords:
    """Records whose payloads are copied as they come."""

    def __init__(self) -> None:
        self.size = 0
        """Bytes of payloads so far."""
        self._next = 0
        self._fronts: list[bytes] = []
        self._firsts: list[int] = []
        self._payloads: pa.Buffer | None = None

    def __len__(self) -> int:
        """How many there are."""
        return len(self._fronts)

    def add(self, block: StreamBlock, first: int, end: int) -> None:
        """Take what a block has of the messages from offset `first` up to `end`; it is not needed any more."""
        data, at = block.data, self.size
        if self._payloads is None:
            self._payloads = pa.allocate_buffer(max(BATCH_SIZE, block.used))
        source, target = np.frombuffer(data, np.uint8), np.frombuffer(self._payloads, np.uint8)
        for start, earliest in zip(block.starts, block.firsts, strict=True):
            count, receivers, form, topic, head, stride, properties = _FRONT.unpack_from(data, start)
            if form != PUBLISH_PACKETS:
                raise other_form(form)
            data_at = start + _FRONT.size + _RECEIVER_SIZE * receivers + topic + properties
            lo, hi = max(earliest, first), min(earliest + count, end)
            packets_at, number, size = data_at + (lo - earliest) * stride, hi - lo, stride - head
            packets = source[packets_at : packets_at + number * stride].reshape(number, stride)
            target[at : at + number * size].reshape(number, size)[:] = packets[:, head:]
            at += number * size
            self._fronts.append(bytes(data[start:data_at]) + bytes((start - data_at) % ALIGNMENT))
            self._firsts.append(earliest)
        self.size, self._next = at, block.next

    def records(self) -> Records:
        """All of them."""
        starts = np.cumsum([0, *map(len, self._fronts[:-1])])
        payloads = self._payloads.slice(0, self.size) if self._payloads is not None else None
        return Records(b"".join(self._fronts), starts, np.array(self._firsts, np.int64), self._next, payloads)


def other_form(form: int) -> Problem:
    """What to say of records that are no messages of a stream."""
    known = f"forms {PUBLISH_PACKETS} and {MIXED_PACKETS}"
    return Problem(f"expected records of MQTT packets ({known}) in a stream, found form {form}")

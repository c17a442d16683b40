"""Runs of transfers: made by stamping numbers into a prepared stretch of bytes, read by looking at columns of it.

Every message ends with a mark that says who sent it and which of its messages it is. A broker may put what it likes
before the body of a message, so the end is where a receiver looks.
"""

import struct
import sys
from array import array

from heliograph.amqp.encoding import encode
from heliograph.amqp.frames import amqp_frame
from heliograph.amqp.performatives import TransactionalState, Transfer

FRAME = 65_536  # the longest frame of a load, in both directions: several of them fit into the shared buffer
MARK = struct.Struct(">II")
SENDING, RECEIVING, COORDINATING = range(3)  # handles of the links that a client has at the most

_NUMBER, _TAG = 0xF1F2F3F4, b"\xe1\xe2\xe3\xe4"  # with all four bytes, in whose place others are stamped
_FEW = 4  # up to here it is cheaper to write number by number


def body(size: int, *, persistent: bool, properties: dict[str, str] | None = None) -> bytes:
    """A message whose data has this size, with room for its mark at the end."""
    header = b"\x00\x53\x70" + encode([persistent])
    more = b"\x00\x53\x74" + encode(properties) if properties else b""
    return header + more + b"\x00\x53\x75" + encode(bytes(MARK.size).rjust(size, b"."))


class Template:
    """Transfers of equal messages, as bytes without their numbers."""

    def __init__(self, message: bytes, most: int, work: bytes | None = None) -> None:
        """`most` is the length of the longest run, `work` the unit of work that they belong to."""
        state = None if work is None else TransactionalState(work)
        frames: list[bytes] = []
        while message or not frames:
            number, tag = (None, None) if frames else (_NUMBER, _TAG)
            start = Transfer(SENDING, number, tag, 0, False, True, state=state).encoded()
            room = FRAME - 8 - len(start)
            if len(message) <= room:
                start = Transfer(SENDING, number, tag, 0, False, False, state=state).encoded()
            frames.append(amqp_frame(0, start + message[:room]))
            message = message[room:]
        one = b"".join(frames)
        self.most = most
        self.frames = len(frames)
        self._stride = len(one)
        self._number_at = one.index(_NUMBER.to_bytes(4, "big"))
        self._tag_at = one.index(_TAG)
        self._bytes = one * most

    def run(self, delivery: int, publisher: int, sequence: int, count: int) -> memoryview:
        """So many messages with consecutive delivery numbers and sequence numbers."""
        stride = self._stride
        run = bytearray(self._bytes[: stride * count])
        _stamp(run, stride, self._number_at, delivery, count)
        _stamp(run, stride, self._tag_at, delivery, count)
        _stamp(run, stride, stride - 4, sequence, count)
        run[stride - 5 :: stride] = bytes([publisher & 255]) * count
        run[stride - 6 :: stride] = bytes([publisher >> 8]) * count
        return memoryview(run)


def _stamp(run: bytearray, stride: int, at: int, first: int, count: int) -> None:
    """Write consecutive 32-bit numbers, one into each stride: byte column by byte column."""
    if count <= _FEW:
        for number in range(first, first + count):
            run[at : at + 4] = number.to_bytes(4, "big")
            at += stride
        return
    columns = _numbers(first, count)
    for place in range(4):
        run[at + place :: stride] = columns[place::4]


def _numbers(first: int, count: int) -> bytes:
    """Consecutive 32-bit numbers, big-endian."""
    numbers = array("I", range(first, first + count))
    if sys.byteorder == "little":
        numbers.byteswap()
    return numbers.tobytes()


def length_of_run(data: bytes, at: int, stop: int, end: int) -> int:
    """How many transfer frames of one length follow each other from `at` on, the first of which ends at `stop`."""
    size = stop - at
    whole = at + (end - at) // size * size
    return min(_same(data, at + 3, whole, size), _same(data, at + 2, whole, size), _same(data, at + 10, whole, size))


def _same(data: bytes, at: int, whole: int, size: int) -> int:
    """How often the byte at `at` comes again, stride by stride."""
    column = data[at:whole:size]
    return len(column) - len(column.lstrip(column[:1]))


def run_of_marks(data: bytes, stop: int, size: int, many: int, publisher: int, sequence: int) -> bool:
    """Whether these messages, the first of which ends at `stop`, are the next ones of this publisher."""
    end = stop + (many - 1) * size
    marks = bytearray(4 * many)
    for place in range(4):
        marks[place::4] = data[stop - 4 + place : end : size]
    low, high = data[stop - 5 : end : size], data[stop - 6 : end : size]
    return (
        marks == _numbers(sequence, many)
        and low == bytes([publisher & 255]) * many
        and high == bytes([publisher >> 8]) * many
    )

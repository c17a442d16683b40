"""Dispositions as ranges: some brokers send one for each message, so frames that are alike are read as a matrix."""

from dataclasses import dataclass

import numpy as np

from heliograph.amqp import RECEIVER, Accepted, Described, Disposition, TransactionalState, amqp_frame, decode

_FIRST = 15  # where the first number is, behind the role
_UINT = 0x70
_ROWS_FROM = 3
_MOST_KNOWN = 256

_ACCEPTED = Accepted()
_PATTERN = amqp_frame(0, Disposition(RECEIVER, 0xF1F2F3F4, 0xF1F2F3F4, True, _ACCEPTED).encoded())
_HEAD, _MIDDLE, _TAIL = _PATTERN.split(b"\xf1\xf2\xf3\xf4")


@dataclass(frozen=True, slots=True)
class Outcomes:
    """The settled outcomes of a range of deliveries."""

    ranges: tuple[tuple[int, int], ...]  # first and last
    state: Described | None


# What was decoded once: the outcome by the bytes behind the numbers. Units of work have names, so this is not for ever.
_known: dict[bytes, Described | None] = {}


def accepting(first: int, last: int, work: bytes | None) -> bytes:
    """A frame that accepts these deliveries, in a unit of work where one is named."""
    if work is None:
        return _HEAD + first.to_bytes(4) + _MIDDLE + last.to_bytes(4) + _TAIL
    return amqp_frame(0, Disposition(RECEIVER, first, last, True, TransactionalState(work, _ACCEPTED)).encoded())


def dispositions(data: memoryview, at: int, stop: int) -> tuple[Outcomes, int]:
    """The disposition from `at` to `stop`, merged with equal ones behind it, and the end of the last one."""
    if data[at + _FIRST] != _UINT:
        fields = decode(bytes(data[at:stop]), 8)[0].value
        first = int(fields[1])
        last = first if len(fields) < 3 or fields[2] is None else int(fields[2])
        return Outcomes(((first, last),), fields[4] if len(fields) > 4 else None), stop
    place = at + _FIRST + 1
    has_last = data[place + 4] == _UINT
    first = int.from_bytes(data[place : place + 4])
    last = int.from_bytes(data[place + 5 : place + 9]) if has_last else first
    state = _state(data, at, place + (9 if has_last else 4), stop)
    if (len(data) - at) // (stop - at) < _ROWS_FROM or data[stop : stop + 12] != data[at : at + 12]:
        return Outcomes(((first, last),), state), stop
    ranges, count = _run(data, at, stop - at, has_last)
    return Outcomes(ranges, state), at + count * (stop - at)


def _state(data: memoryview, at: int, behind: int, stop: int) -> Described | None:
    key = bytes(data[behind:stop])
    if key not in _known:
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        fields = decode(bytes(data[at:stop]), 8)[0].value
        _known[key] = fields[4] if len(fields) > 4 else None
    return _known[key]


def _run(data: memoryview, at: int, size: int, has_last: bool) -> tuple[tuple[tuple[int, int], ...], int]:
    """Dispositions of one length that differ in their numbers only, as ranges; and how many there are."""
    count = (len(data) - at) // size
    rows = np.frombuffer(data, np.uint8, count * size, at).reshape(count, size)
    place = _FIRST + 1
    rest = place + 9 if has_last else place + 4
    same = (rows[:, :place] == rows[0, :place]).all(1) & (rows[:, rest:] == rows[0, rest:]).all(1)
    if has_last:
        same &= rows[:, place + 4] == _UINT
    if not same.all():
        rows = rows[: int(np.argmin(same))]
    starts = rows[:, place : place + 4].copy().view(">u4")[:, 0].astype(np.int64)
    ends = rows[:, place + 5 : place + 9].copy().view(">u4")[:, 0].astype(np.int64) if has_last else starts
    cuts = np.flatnonzero(starts[1:] != ends[:-1] + 1) + 1
    firsts = starts[np.concatenate(([0], cuts))].tolist()
    lasts = ends[np.concatenate((cuts - 1, [len(rows) - 1]))].tolist()
    return tuple(zip(firsts, lasts, strict=True)), len(rows)

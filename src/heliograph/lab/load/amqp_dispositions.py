"""Dispositions as ranges: some brokers send one for each message, so frames that are alike are read as a matrix."""

from dataclasses import dataclass

import numpy as np

from heliograph.amqp.decoding import decode
from heliograph.amqp.values import Described

_FIRST = 15  # where the first number is, behind the role and its constructor
_UINT = 0x70
_ROWS_FROM = 3


@dataclass(frozen=True, slots=True)
class Outcomes:
    """What became of deliveries."""

    ranges: tuple[tuple[int, int], ...]  # first and last
    state: Described | None


def dispositions(data: memoryview, at: int, stop: int) -> tuple[Outcomes, int]:
    """The disposition from `at` to `stop`, and more behind it that say the same of others; where the last of them ends."""
    fields = decode(bytes(data[at:stop]), 8)[0].value
    first = int(fields[1])
    last = first if len(fields) < 3 or fields[2] is None else int(fields[2])
    state = fields[4] if len(fields) > 4 else None
    size = stop - at
    count = (len(data) - at) // size
    if count < _ROWS_FROM or data[at + _FIRST] != _UINT or data[stop : stop + 12] != data[at : at + 12]:
        return Outcomes(((first, last),), state), stop
    rows = np.frombuffer(data, np.uint8, count * size, at).reshape(count, size)
    place = _FIRST + 1
    has_last = rows[0, place + 4] == _UINT
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
    return Outcomes(tuple(zip(firsts, lasts, strict=True)), state), at + len(rows) * size

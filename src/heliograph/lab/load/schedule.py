"""When messages are due: in an open loop this is fixed in advance, whatever the broker does.

Message n of a schedule is due when the integral of the rate reaches n. A schedule is a list of pieces with a linear
rate each, so there are closed forms for how many messages are due by now, and when each of them was due. Latencies are
counted from these times: a generator or broker that stalls does not hide the messages that should have been sent.

Invariants of `_segments`: starts ascend, and `count` of each is the sum of the lengths before it. `change` cuts the
segment of the present, and replaces all later ones. A message exactly on the border of two segments belongs to the
second one; if the rate there is 0, it is due when the rate rises again.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heliograph.lab.errors import InvalidLoad
from heliograph.lab.load.plan import Group

Times = NDArray[np.int64]

_NS = 1e9
NEVER = 2**62


@dataclass(frozen=True)
class Piece:
    """From `start` (seconds after the schedule's own start) on: `rate` messages/s, changing by `slope` each second."""

    start: float
    rate: float
    slope: float = 0.0


def pieces_of(group: Group, seconds: float) -> tuple[Piece, ...]:
    """How the rate of this group changes in a load of so many seconds, warm-up included; the last piece goes on."""
    rate = group.rate or 0.0
    if group.pace == "steady":
        return (Piece(0.0, rate),)
    if group.pace == "ramp":
        _need(group, group.ramp_seconds > 0, "ramp_seconds")
        slope = (rate - group.ramp_from) / group.ramp_seconds
        return Piece(0.0, group.ramp_from, slope), Piece(group.ramp_seconds, rate)
    if group.pace == "burst":
        _need(group, 0 < group.burst_seconds < group.burst_every, "burst_seconds and a longer burst_every")
        starts = [index * group.burst_every for index in range(math.ceil(seconds / group.burst_every) or 1)]
        pairs = ((Piece(at, group.burst_rate), Piece(at + group.burst_seconds, rate)) for at in starts)
        return tuple(piece for pair in pairs for piece in pair)
    _need(group, bool(group.steps), "steps")
    made, at = [], 0.0
    for step in group.steps:
        made.append(Piece(at, step.rate))
        at += step.seconds
    return tuple(made)


def _need(group: Group, given: bool, what: str) -> None:
    if not given:
        raise InvalidLoad(f"group {group.name!r} has pace {group.pace!r}, which needs {what}")


@dataclass(frozen=True)
class _Segment:
    """A piece of a schedule in absolute terms: at `start` ns, `count` messages are due."""

    start: float
    count: float
    rate: float  # per ns
    slope: float  # per ns²
    length: float  # messages until the next segment

    def counted(self, at: float) -> float:
        """Messages that are due at this time."""
        passed = at - self.start
        return self.count + min(self.length, self.rate * passed + self.slope * passed * passed / 2)


class Schedule:
    """The messages of one process's part of a group: times are ns of the monotonic clock.

    `share` is that part of the group's rate; `phase` (of a message) lets processes take turns instead of sending all
    at the same moment.
    """

    def __init__(self, pieces: tuple[Piece, ...], start: int, share: float = 1.0, phase: float = 0.0) -> None:
        self._pieces = pieces
        self._start = start
        self._share = share
        self._phase = phase
        self._segments: list[_Segment] = []
        self._extend(float(start), 0.0, 1.0)

    def change(self, factor: float, now: int) -> None:
        """Change the rate, from now on, to this multiple of the planned one."""
        counted = self._counted(now)
        self._segments = [segment for segment in self._segments if segment.start < now]
        if self._segments:
            last = self._segments[-1]
            self._segments[-1] = _Segment(last.start, last.count, last.rate, last.slope, counted - last.count)
        self._extend(float(max(now, self._start)), counted, factor)

    def _extend(self, start: float, count: float, factor: float) -> None:
        scale = self._share * factor / _NS
        for index, piece in enumerate(self._pieces):
            begins = self._start + piece.start * _NS
            last = index + 1 == len(self._pieces)
            ends = math.inf if last else self._start + self._pieces[index + 1].start * _NS
            if ends <= start:
                continue
            slope = piece.slope * scale / _NS
            rate = piece.rate * scale + slope * max(0.0, start - begins)
            begins = max(begins, start)
            if rate <= 0 and slope <= 0:
                continue
            passed = ends - begins
            # Rounded, so that a hundred messages are a hundred, and not a trillionth more.
            length = math.inf if last else round(rate * passed + slope * passed * passed / 2, 6)
            self._segments.append(_Segment(begins, count, rate, slope, length))
            count += length
        self._counts = np.array([segment.count for segment in self._segments])
        self._columns = np.array(
            [(one.start, one.count, one.rate, one.slope, one.length) for one in self._segments]
        ).reshape(-1, 5)

    def _counted(self, now: float) -> float:
        for segment in reversed(self._segments):
            if segment.start <= now:
                return segment.counted(now)
        return 0.0

    def count(self, now: int) -> int:
        """How many messages are due: their numbers are 0 to one less."""
        if not self._segments or now < self._segments[0].start:
            return 0
        segment = next(one for one in reversed(self._segments) if one.start <= now)
        counted = segment.counted(now)
        # The message on the border between two segments is due when the second one starts.
        over = counted >= segment.count + segment.length
        return max(0, math.ceil(counted - self._phase) if over else math.floor(counted - self._phase) + 1)

    def when(self, number: int) -> int:
        """When this message is due; NEVER if it is not."""
        wanted = number + self._phase
        for segment in reversed(self._segments):
            beyond = wanted - segment.count
            if beyond >= 0:
                if beyond >= segment.length:  # the border belongs to the next segment, if there is one
                    return NEVER
                root = math.sqrt(max(0.0, segment.rate**2 + 2 * segment.slope * beyond))
                # Where a rate rises from 0, a phase may be so small that its root is 0.
                passed = 2 * beyond / (segment.rate + root) if segment.rate + root else 0.0
                return int(min(segment.start + passed, NEVER))
        return NEVER

    def due(self, first: int, count: int, step: int = 1) -> Times:
        """When messages `first`, `first` + `step`, ... are due; `count` of them. NEVER for those that are not."""
        numbers = np.arange(first, first + count * step, step) + self._phase
        if len(self._segments) == 1 and not self._segments[0].slope and math.isinf(self._segments[0].length):
            one = self._segments[0]
            numbers -= one.count
            numbers *= 1 / one.rate
            numbers += one.start
            simply: Times = np.minimum(numbers, NEVER).astype(np.int64)
            return simply
        if not self._segments:
            return np.full(count, NEVER, np.int64)
        which = np.maximum(np.searchsorted(self._counts, numbers, "right") - 1, 0)
        start, counted, rate, slope, length = self._columns[which].T
        beyond = numbers - counted
        with np.errstate(divide="ignore", invalid="ignore"):
            root = np.sqrt(np.maximum(0.0, rate * rate + 2 * slope * beyond))
            passed = 2 * beyond / (rate + root)  # one form for all slopes, 0 included
        passed[(beyond <= 0) | (rate + root == 0)] = 0
        due = start + passed
        due[beyond >= length] = NEVER  # the border belongs to the next segment, if there is one
        times: Times = np.minimum(due, NEVER).astype(np.int64)
        return times

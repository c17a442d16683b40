"""Dispositions on their way out: ranges of one turn that lie next to each other become one frame."""

import struct
from typing import TYPE_CHECKING, Final

from heliograph.amqp.codec.encoding import NULL, encode
from heliograph.amqp.codec.frames import amqp_frame
from heliograph.amqp.codec.performatives import MAX_UINT, RECEIVER, DeliveryState, Disposition

if TYPE_CHECKING:
    from heliograph.amqp.engine.session import Session

# Frame header, descriptor and head of a short list, role, first and last; settled and state come behind.
_FORM: Final = struct.Struct(">IHH4sBBBBIBI")
_DESCRIPTOR: Final = b"\x00\x53\x15\xc0"
_IDS_AND_ROLE: Final = 11
_LONGEST_TAIL: Final = 255 - 1 - _IDS_AND_ROLE


class Dispositions:
    """What a session has settled and not said yet."""

    __slots__ = ("_ranges", "_role", "_session", "_settled", "_state", "_tail")

    def __init__(self, session: "Session") -> None:
        self._session = session
        self._ranges: list[tuple[int, int]] = []
        self._role = RECEIVER
        self._settled = False
        self._state: DeliveryState | None = None
        self._tail = b"\x42" + NULL  # settled and state as bytes

    def gather(self, role: bool, first: int, last: int, settled: bool, state: DeliveryState | None) -> None:
        """Note the outcome of a range of delivery ids (that do not wrap)."""
        alike = settled is self._settled and (state is self._state or state == self._state)
        ranges = self._ranges
        if ranges:
            if alike and role is self._role:
                before, end = ranges[-1]
                if end + 1 == first:
                    ranges[-1] = (before, last)
                else:
                    ranges.append((first, last))
                return
            self.flush()
        else:
            self._session.connection.gathering.append(self)
        if not alike:
            self._settled, self._state = settled, state
            self._tail = (b"\x41" if settled else b"\x42") + encode(state)
        self._role = role
        self._ranges.append((first, last))

    def flush(self) -> None:
        """Write what was gathered."""
        ranges, self._ranges = self._ranges, []
        session = self._session
        if session.gone:
            return
        forget = self._settled and self._role == RECEIVER
        for first, last in _merged(ranges) if len(ranges) > 1 else ranges:
            if forget:
                session.incoming.take(first, last)
            session.connection.write(self._frame(first & MAX_UINT, last & MAX_UINT))

    def _frame(self, first: int, last: int) -> bytes:
        tail = self._tail
        length = len(tail)
        channel = self._session.channel
        if length > _LONGEST_TAIL:
            return amqp_frame(channel, Disposition(self._role, first, last, self._settled, self._state).encoded())
        role = 0x41 if self._role else 0x42
        size = _IDS_AND_ROLE + length + 1
        return (
            _FORM.pack(_FORM.size + length, 0x0200, channel, _DESCRIPTOR, size, 5, role, 0x70, first, 0x70, last) + tail
        )


def _merged(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges in order, those that touch joined."""
    ranges.sort()
    merged = [ranges[0]]
    for first, last in ranges:
        before, end = merged[-1]
        if first <= end + 1:
            merged[-1] = (before, max(last, end))
        else:
            merged.append((first, last))
    return merged

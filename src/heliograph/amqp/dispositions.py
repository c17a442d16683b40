"""Dispositions on their way out: ranges of one turn that lie next to each other become one frame."""

from typing import TYPE_CHECKING

from heliograph.amqp.performatives import MAX_UINT, RECEIVER, DeliveryState, Disposition

if TYPE_CHECKING:
    from heliograph.amqp.session import Session


class Dispositions:
    """What a session has settled and not said yet."""

    __slots__ = ("_ranges", "_role", "_session", "_settled", "_state")

    def __init__(self, session: "Session") -> None:
        self._session = session
        self._ranges: list[tuple[int, int]] = []
        self._role = RECEIVER
        self._settled = False
        self._state: DeliveryState | None = None

    def gather(self, role: bool, first: int, last: int, settled: bool, state: DeliveryState | None) -> None:
        """Note the outcome of a range of delivery ids (that do not wrap)."""
        ranges = self._ranges
        if ranges:
            alike = settled == self._settled and role == self._role
            if alike and (state is self._state or state == self._state):
                before, end = ranges[-1]
                if end + 1 == first:
                    ranges[-1] = (before, last)
                else:
                    ranges.append((first, last))
                return
            self.flush()
        else:
            self._session.connection.gathering.append(self)
        self._role, self._settled, self._state = role, settled, state
        self._ranges.append((first, last))

    def flush(self) -> None:
        """Write what was gathered."""
        ranges, self._ranges = self._ranges, []
        session = self._session
        if session.gone:
            return
        ranges.sort()
        merged: list[tuple[int, int]] = []
        for first, last in ranges:
            if merged and first <= merged[-1][1] + 1:
                merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
            else:
                merged.append((first, last))
        for first, last in merged:
            if self._settled and self._role == RECEIVER:
                session.incoming.take(first, last)
            end = None if first == last else last & MAX_UINT
            session.write(Disposition(self._role, first & MAX_UINT, end, self._settled, self._state))

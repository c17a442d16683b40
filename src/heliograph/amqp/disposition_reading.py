"""Dispositions on their way in. A client may send one for each message, so only the delivery ids are taken apart.

What follows the ids (settled or not, and the state) is one of a few byte strings, each of which is decoded once.
"""

import struct
from typing import Final

from heliograph.amqp.performatives import DeliveryState, Disposition

DISPOSITION: Final = b"\x00\x53\x15\xc0"  # the descriptor, and a short list
_MOST_REMEMBERED: Final = 256
_uint = struct.Struct(">I").unpack_from


class DispositionReader:
    """Remembers what follows the ids."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[bytes, tuple[bool, DeliveryState | None]] = {}

    def read(self, data: bytes, at: int, end: int) -> tuple[bool, int, int, bool, DeliveryState | None] | None:
        """Role, first, last, settled and state of the disposition from `at` to `end`; None when it must be decoded."""
        ids = _ids(data, at, end)
        if ids is None:
            return None
        role, first, last, rest = ids
        known = self._known.get(rest)
        return None if known is None else (role, first, last, *known)

    def learn(self, data: bytes, at: int, end: int, decoded: Disposition) -> None:
        """Remember what a disposition turned out to be."""
        ids = _ids(data, at, end)
        if ids is not None:
            if len(self._known) >= _MOST_REMEMBERED:
                self._known.clear()
            self._known[ids[3]] = (decoded.settled, decoded.state)


def _ids(data: bytes, at: int, end: int) -> tuple[bool, int, int, bytes] | None:
    """Role, first and last, and the count with everything behind them; None when they are not in their usual forms."""
    if end - at < 9 or at + 5 + data[at + 4] != end:
        return None
    role, code = data[at + 6], data[at + 7]
    if role not in {0x41, 0x42}:
        return None
    try:
        if code == 0x70:
            first = _uint(data, at + 8)[0]
            place = at + 12
        elif code == 0x52:
            first = data[at + 8]
            place = at + 9
        else:
            return None
        code = data[place]
        if code == 0x70:
            last = _uint(data, place + 1)[0]
            place += 5
        elif code == 0x52:
            last = data[place + 1]
            place += 2
        elif code == 0x40:
            last = first
            place += 1
        else:
            return None
    except (IndexError, struct.error):
        return None
    if place > end:
        return None
    return role == 0x41, first, last, data[at + 5 : at + 6] + data[place:end]

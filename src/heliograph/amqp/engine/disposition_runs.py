"""Dispositions on their way in: a client that sends one for each message makes a run of them, which is one range."""

import struct
from typing import TYPE_CHECKING, Final

from heliograph.amqp.codec.performatives import DeliveryState, Disposition
from heliograph.amqp.engine.events import Event
from heliograph.amqp.engine.shapes import BODY, FIELDS, UINT_FORMS

if TYPE_CHECKING:
    from heliograph.amqp.engine.session import Session

_SHORT_DISPOSITION: Final = b"\x00\x53\x15\xc0"  # the descriptor, and a short list
_MOST_TAILS: Final = 64


class DispositionShape:
    """How the dispositions of one session look: they differ in the ids, and in a few ways to say the outcome."""

    __slots__ = ("_head", "_middle", "_outcomes", "_role", "_session", "_size", "_unpack")

    def __init__(self, session: "Session", role: bool, head: bytes, form: struct.Struct, middle: bytes) -> None:
        self._session = session
        self._role = role
        self._head = head
        self._middle = middle  # between first and last; nothing when there is no last
        self._unpack = form.unpack_from
        self._size = form.size
        self._outcomes: dict[bytes, tuple[bool, DeliveryState | None]] = {}

    def learn(self, tail: bytes, settled: bool, state: DeliveryState | None) -> None:
        """What the bytes behind the ids mean."""
        if len(self._outcomes) >= _MOST_TAILS:
            self._outcomes.clear()
        self._outcomes[tail] = (settled, state)

    def take(self, data: bytes, at: int, end: int, largest: int, events: list[Event]) -> int:
        """Take the dispositions that fit; those that follow each other are one to the session."""
        session = self._session
        if session.gone or self._size > largest:
            return at
        unpack, size, head, middle, outcomes = self._unpack, self._size, self._head, self._middle, self._outcomes
        low = high = 0
        current = None
        stop = end - size
        while at <= stop:
            if middle:
                its_size, its_head, first, its_middle, last, tail = unpack(data, at)
                if its_middle != middle or last < first:
                    break
            else:
                its_size, its_head, first, tail = unpack(data, at)
                last = first
            outcome = outcomes.get(tail)
            if outcome is None or its_size != size or its_head != head:
                break
            if outcome is current and first == high + 1:
                high = last
            else:
                if current is not None:
                    session.on_disposition(self._role, low, high, *current, events)
                low, high, current = first, last, outcome
            at += size
        if current is not None:
            session.on_disposition(self._role, low, high, *current, events)
        return at


def learn_disposition(session: "Session", disposition: Disposition, frame: bytes) -> DispositionShape | None:
    """The shape of a disposition, if it is in the usual form; a new one each time, since peers keep to one form."""
    if frame[4] != 2 or frame[BODY : BODY + 4] != _SHORT_DISPOSITION or BODY + 5 + frame[BODY + 4] != len(frame):
        return None
    first_at = FIELDS + 1
    first = UINT_FORMS.get(frame[first_at])
    if not first or frame[FIELDS] == 0x56:
        return None
    last_at = first_at + 1 + struct.calcsize(">" + first)
    last = UINT_FORMS.get(frame[last_at], "") if last_at < len(frame) else ""
    head = frame[4 : first_at + 1]
    middle = frame[last_at : last_at + 1] if last else b""
    if not last and disposition.last is not None:
        return None
    form = f">I{len(head)}s{first}" + (f"1s{last}" if last else "")
    tail_at = struct.calcsize(form)
    shape = DispositionShape(session, disposition.role, head, struct.Struct(f"{form}{len(frame) - tail_at}s"), middle)
    shape.learn(frame[tail_at:], disposition.settled, disposition.state)
    return shape

"""Decodes runs of uniform frames quickly: transfers and dispositions that arrive by the thousand.

Such frames differ in few of their bytes. The first one of its kind is decoded in full and leaves a *shape*: where those
bytes are, and what all others must be. `Connection` looks a shape up by the first bytes of each frame (`_KEY`). Frames
that match the shape are decoded by one `unpack` each; the first that does not goes to the general decoder, which may
leave another shape.

A shape never takes a frame that the decoder would refuse or read differently: it checks every byte that it does not
read as a field, and the limits of link and session (credit, window, sizes, ascending ids). Anything unusual is left to
the decoder. A shape belongs to one link or session, and takes nothing once that is gone.

Hot path, held by `helio bench --case 'amqp-*'`: names of attributes are bound to locals before each loop, and long runs
of transfers with one size are taken as a table without any loop (`TransferShape._take_equal`).
"""

import struct
from functools import partial
from itertools import repeat
from typing import Final, Protocol

from heliograph.amqp.codec.frames import SHORT_TRANSFER
from heliograph.amqp.codec.performatives import MAX_UINT, DeliveryState, Disposition, Transfer
from heliograph.amqp.engine.link import Settled
from heliograph.amqp.engine.output import EventSink
from heliograph.amqp.engine.receiver import LONGEST_TAG, Delivery, Receiver, Transfers
from heliograph.amqp.engine.session import Session

_BODY: Final = 8  # where the body of a frame begins
_FIELDS: Final = _BODY + 6  # where the first field is, behind descriptor, constructor, size and count of a short list
_KEY: Final = slice(4, _FIELDS + 2)  # of a frame: channel, descriptor, size and count of fields, and the first field
_UINT_FORMS: Final = {0x43: "", 0x52: "B", 0x70: "I"}  # how a uint of each constructor is unpacked
_UINT_WIDTHS: Final = {0x43: 0, 0x52: 1, 0x70: 4}
_MOST_SHAPES: Final = 256

_LONG_RUN: Final = 16  # transfers that are a long run
LONGEST_HEAD: Final = _BODY + 5 + 255  # of a frame with a transfer in a short list: where its payload begins
_SHORT_DISPOSITION: Final = b"\x00\x53\x15\xc0"  # the descriptor, and a short list
_MOST_TAILS: Final = 64

# `_make` of a NamedTuple is a Python function; this does the same in C.
_delivery = partial(tuple.__new__, Delivery)


class Shape(Protocol):
    """What frames of one kind have in common."""

    def take(self, data: bytes, at: int, end: int, largest: int, events: EventSink[Transfers | Settled]) -> int:
        """Take the frames that fit, from `at` on; says where they end, which is `at` when there are none."""


class Shapes:
    """The shapes that a connection has seen."""

    __slots__ = ("_shapes",)

    def __init__(self) -> None:
        self._shapes: dict[bytes, Shape] = {}

    def find(self, data: bytes, at: int) -> Shape | None:
        """The shape that the frame at `at` may have."""
        return self._shapes.get(data[at + 4 : at + _FIELDS + 2])

    def remember(self, frame: bytes, shape: Shape) -> None:
        """The shape of this frame."""
        if len(self._shapes) >= _MOST_SHAPES:
            self._shapes.clear()
        self._shapes[frame[_KEY]] = shape


class TransferShape:
    """How the plain transfers of one link look: they differ in size, delivery id and delivery tag."""

    __slots__ = (
        "_equal_form",
        "_form",
        "_head",
        "_length",
        "_link",
        "_long_runs",
        "_message_format",
        "_middle",
        "_settled",
        "_state",
        "_tail",
        "_unpack",
    )

    def __init__(self, link: Receiver, transfer: Transfer, frame: bytes, id_at: int) -> None:
        self._link = link
        self._settled = bool(transfer.settled)
        self._state = transfer.state
        self._message_format = transfer.message_format or 0
        tag_at = id_at + 1 + _UINT_WIDTHS[frame[id_at]] + 2
        tag_length = frame[tag_at - 1]
        self._head = frame[4 : id_at + 1]
        self._middle = frame[tag_at - 2 : tag_at]  # constructor and length of the tag
        self._length = _BODY + 5 + frame[_BODY + 4]
        self._tail = frame[tag_at + tag_length : self._length]
        self._form = f">I{len(self._head)}s{_UINT_FORMS[frame[id_at]]}2s{tag_length}s{len(self._tail)}s"
        self._unpack = struct.Struct(self._form).unpack_from
        self._long_runs = False
        self._equal_form = struct.Struct("0s")

    def take(self, data: bytes, at: int, end: int, largest: int, events: EventSink[Transfers]) -> int:
        """Take the transfers that fit, and for which there is credit and window."""
        link = self._link
        session = link.session
        if link.gone or link.unfinished is not None or session.next_delivery is None:
            return at
        head, middle, tail, length, unpack = self._head, self._middle, self._tail, self._length, self._unpack
        settled, state, message_format = self._settled, self._state, self._message_format
        largest = min(largest, link.max_message_size + length)
        room = min(link.credit, session.incoming_window)
        number = session.next_delivery
        deliveries: list[Delivery] = []
        if self._long_runs:
            size = int.from_bytes(data[at : at + 4], "big")
            if length <= size <= largest:
                deliveries = self._take_equal(data, at, end, size, room, number)
                at += size * len(deliveries)
                room -= len(deliveries)
                number += len(deliveries)
        wire = number & MAX_UINT
        append = deliveries.append
        last = end - length
        while at <= last and room:
            size, its_head, its_number, its_middle, tag, its_tail = unpack(data, at)
            stop = at + size
            if (
                its_number != wire
                or its_head != head
                or its_tail != tail
                or its_middle != middle
                or not length <= size <= largest
                or stop > end
            ):
                break
            append(_delivery((number, tag, data[at + length : stop], settled, state, message_format)))
            number += 1
            wire += 1
            room -= 1
            at = stop
        if deliveries:
            self._long_runs = len(deliveries) >= _LONG_RUN
            session.next_delivery = number
            link.on_deliveries(len(deliveries))
            link.take(deliveries, events)
            session.took(len(deliveries))
        return at

    def _take_equal(self, data: bytes, at: int, end: int, size: int, room: int, number: int) -> list[Delivery]:
        """Take frames of one size as a table: unpacked row by row and checked column by column, without a Python loop.

        All or nothing: whatever does not fit is left to the loop, and the next run is not tried in this way.
        """
        count = min((end - at) // size, room)
        lowest = data[at + 3 : at + count * size : size]  # of each size, if all were equal
        count -= len(lowest.lstrip(lowest[:1]))
        if count < _LONG_RUN:
            return []
        if self._equal_form.size != size:
            self._equal_form = struct.Struct(f"{self._form}{size - self._length}s")
        rows = self._equal_form.iter_unpack(memoryview(data)[at : at + count * size])
        sizes, heads, numbers, middles, tags, tails, payloads = zip(*rows, strict=True)
        wire = number & MAX_UINT
        if (
            numbers != tuple(range(wire, wire + count))
            or sizes.count(size) != count
            or heads.count(self._head) != count
            or middles.count(self._middle) != count
            or tails.count(self._tail) != count
        ):
            return []
        same = repeat(self._settled), repeat(self._state), repeat(self._message_format)
        return list(map(_delivery, zip(range(number, number + count), tags, payloads, *same, strict=False)))


def learn_transfer(session: Session, transfer: Transfer, frame: bytes) -> TransferShape | None:
    """The shape of a transfer (from the beginning of its frame), if it is a plain one."""
    link = session.receiver(transfer.handle)
    if link is None or transfer.more or transfer.aborted or transfer.resume or transfer.delivery_id is None:
        return None
    if frame[4] != 2 or frame[_BODY : _BODY + 4] != SHORT_TRANSFER:
        return None
    id_at = _FIELDS + 1 + _UINT_WIDTHS[frame[_FIELDS]]
    tag_at = id_at + 1 + _UINT_WIDTHS[frame[id_at]]
    if frame[id_at] == 0x43 or frame[tag_at] != 0xA0 or frame[tag_at + 1] > LONGEST_TAG:
        return None
    return TransferShape(link, transfer, frame, id_at)


class DispositionShape:
    """How the dispositions of one session look: they differ in the ids, and in a few ways to say the outcome."""

    __slots__ = ("_head", "_middle", "_outcomes", "_role", "_session", "_size", "_unpack")

    def __init__(self, session: Session, role: bool, head: bytes, form: struct.Struct, middle: bytes) -> None:
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

    def take(self, data: bytes, at: int, end: int, largest: int, events: EventSink[Settled]) -> int:
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


def learn_disposition(session: Session, disposition: Disposition, frame: bytes) -> DispositionShape | None:
    """The shape of a disposition, if it is in the usual form; a new one each time, since peers keep to one form."""
    if frame[4] != 2 or frame[_BODY : _BODY + 4] != _SHORT_DISPOSITION or _BODY + 5 + frame[_BODY + 4] != len(frame):
        return None
    first_at = _FIELDS + 1
    first = _UINT_FORMS.get(frame[first_at])
    if not first or frame[_FIELDS] == 0x56:
        return None
    last_at = first_at + 1 + struct.calcsize(">" + first)
    last = _UINT_FORMS.get(frame[last_at], "") if last_at < len(frame) else ""
    head = frame[4 : first_at + 1]
    middle = frame[last_at : last_at + 1] if last else b""
    if not last and disposition.last is not None:
        return None
    form = f">I{len(head)}s{first}" + (f"1s{last}" if last else "")
    tail_at = struct.calcsize(form)
    shape = DispositionShape(session, disposition.role, head, struct.Struct(f"{form}{len(frame) - tail_at}s"), middle)
    shape.learn(frame[tail_at:], disposition.settled, disposition.state)
    return shape

"""Transfers on their way in: a run of plain ones, a message per frame, is taken in one loop."""

import struct
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, Final

from heliograph.amqp.codec.performatives import MAX_UINT, Transfer
from heliograph.amqp.engine.events import Delivery, Event
from heliograph.amqp.engine.receiver import LONGEST_TAG, Receiver
from heliograph.amqp.engine.shapes import BODY, FIELDS, UINT_FORMS, UINT_WIDTHS

if TYPE_CHECKING:
    from heliograph.amqp.engine.session import Session

_LONG: Final = 16  # transfers that are a long run
LONGEST_HEAD: Final = BODY + 5 + 255  # of a frame with a transfer in a short list: where its payload begins
_SHORT_TRANSFER: Final = b"\x00\x53\x14\xc0"  # the descriptor, and a short list

# The class method of a NamedTuple is a Python function; this is the same without it.
_delivery = partial(tuple.__new__, Delivery)


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
        tag_at = id_at + 1 + UINT_WIDTHS[frame[id_at]] + 2
        tag_length = frame[tag_at - 1]
        self._head = frame[4 : id_at + 1]
        self._middle = frame[tag_at - 2 : tag_at]  # constructor and length of the tag
        self._length = BODY + 5 + frame[BODY + 4]
        self._tail = frame[tag_at + tag_length : self._length]
        self._form = f">I{len(self._head)}s{UINT_FORMS[frame[id_at]]}2s{tag_length}s{len(self._tail)}s"
        self._unpack = struct.Struct(self._form).unpack_from
        self._long_runs = False
        self._equal_form = struct.Struct("0s")

    def take(self, data: bytes, at: int, end: int, largest: int, events: list[Event]) -> int:
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
            self._long_runs = len(deliveries) >= _LONG
            session.next_delivery = number
            link.on_deliveries(len(deliveries))
            link.take(deliveries, events)
            session.took(len(deliveries))
        return at

    def _take_equal(self, data: bytes, at: int, end: int, size: int, room: int, number: int) -> list[Delivery]:
        """Frames of one size are a table, taken apart row by row and checked column by column, without a loop of ours.

        All or nothing: whatever does not fit is left to the loop, and the next run is not tried in this way.
        """
        count = min((end - at) // size, room)
        lowest = data[at + 3 : at + count * size : size]  # of each size, if all were equal
        count -= len(lowest.lstrip(lowest[:1]))
        if count < _LONG:
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


def learn_transfer(session: "Session", transfer: Transfer, frame: bytes) -> TransferShape | None:
    """The shape of a transfer (from the beginning of its frame), if it is a plain one."""
    link = session.receiver(transfer.handle)
    if link is None or transfer.more or transfer.aborted or transfer.resume or transfer.delivery_id is None:
        return None
    if frame[4] != 2 or frame[BODY : BODY + 4] != _SHORT_TRANSFER:
        return None
    id_at = FIELDS + 1 + UINT_WIDTHS[frame[FIELDS]]
    tag_at = id_at + 1 + UINT_WIDTHS[frame[id_at]]
    if frame[id_at] == 0x43 or frame[tag_at] != 0xA0 or frame[tag_at + 1] > LONGEST_TAG:
        return None
    return TransferShape(link, transfer, frame, id_at)

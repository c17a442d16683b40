"""Transfers on their way in: runs of plain ones, a message per frame, are taken without decoding each.

The transfers of one sender look alike, but for size, delivery id and delivery tag. The first one of its kind is decoded
in full and leaves a `Shape`: where these three are, and what all other bytes must be. Frames that fit are taken apart
by one `unpack` each; the first that does not fit goes back to the decoder.
"""

import struct
from functools import partial
from typing import TYPE_CHECKING, Final

from heliograph.amqp.events import Delivery, Event
from heliograph.amqp.performatives import MAX_UINT, Transfer
from heliograph.amqp.receiver import LONGEST_TAG, Receiver

if TYPE_CHECKING:
    from heliograph.amqp.session import Session

_SHORT_TRANSFER: Final = b"\x00\x53\x14\xc0"  # the descriptor, and a short list
_BODY: Final = 8  # where a frame's body begins
_HANDLE: Final = _BODY + 6  # where the handle is, behind descriptor, constructor, size and count of a short list
_KEY: Final = slice(4, _HANDLE + 2)  # of a frame: enough to tell the shapes of different links apart
_MOST_SHAPES: Final = 256
_UINT_WIDTHS: Final = {0x43: 0, 0x52: 1, 0x70: 4}

# The class method of a NamedTuple is a Python function; this is the same without it.
_delivery = partial(tuple.__new__, Delivery)


class Shape:
    """How the plain transfers of one link look."""

    __slots__ = ("head", "length", "link", "message_format", "middle", "session", "settled", "state", "tail", "unpack")

    def __init__(self, session: "Session", link: Receiver, transfer: Transfer, frame: bytes, id_at: int) -> None:
        self.session = session
        self.link = link
        self.settled = bool(transfer.settled)
        self.state = transfer.state
        self.message_format = transfer.message_format or 0
        width = _UINT_WIDTHS[frame[id_at]]
        tag_at = id_at + 1 + width + 2
        tag_length = frame[tag_at - 1]
        self.head = frame[4 : id_at + 1]
        self.middle = frame[tag_at - 2 : tag_at]
        self.length = _BODY + 5 + frame[_BODY + 4]
        self.tail = frame[tag_at + tag_length : self.length]
        number = "I" if width == 4 else "B"
        self.unpack = struct.Struct(f">I{len(self.head)}s{number}2s{tag_length}s{len(self.tail)}s").unpack_from

    def take(self, data: bytes, at: int, end: int, largest: int, events: list[Event]) -> int:
        """Take the run that begins at `at`; says where it ends, which is `at` when there is none."""
        session, link = self.session, self.link
        if link.gone or link.unfinished is not None or session.next_delivery is None:
            return at
        head, middle, tail, length, unpack = self.head, self.middle, self.tail, self.length, self.unpack
        settled, state, message_format = self.settled, self.state, self.message_format
        largest = min(largest, link.max_message_size + length)
        room = min(link.credit, session.incoming_window)
        number = session.next_delivery
        wire = number & MAX_UINT
        deliveries: list[Delivery] = []
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
            session.next_delivery = number
            link.on_deliveries(len(deliveries))
            link.take(deliveries, events)
            session.took(len(deliveries))
        return at


class Shapes:
    """The shapes that a connection has seen."""

    __slots__ = ("_shapes",)

    def __init__(self) -> None:
        self._shapes: dict[bytes, Shape] = {}

    def find(self, data: bytes, at: int) -> Shape | None:
        """The shape that the frame at `at` may have."""
        return self._shapes.get(data[at + 4 : at + _HANDLE + 2])

    def learn(self, session: "Session", transfer: Transfer, frame: bytes) -> None:
        """Remember the shape of a transfer (from the beginning of its frame), if it is a plain one."""
        link = session.receiver(transfer.handle)
        if link is None or transfer.more or transfer.aborted or transfer.resume or transfer.delivery_id is None:
            return
        if frame[4] != 2 or frame[_BODY : _BODY + 4] != _SHORT_TRANSFER:
            return
        id_at = _HANDLE + 1 + _UINT_WIDTHS[frame[_HANDLE]]
        tag_at = id_at + 1 + _UINT_WIDTHS[frame[id_at]]
        if frame[id_at] == 0x43 or frame[tag_at] != 0xA0 or frame[tag_at + 1] > LONGEST_TAG:
            return
        if len(self._shapes) >= _MOST_SHAPES:
            self._shapes.clear()
        self._shapes[frame[_KEY]] = Shape(session, link, transfer, frame, id_at)

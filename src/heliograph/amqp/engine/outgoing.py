"""Outgoing transfers: turns runs of messages into frames, as far as the session's window is open.

A run that a link sends is one `WaitingRun`. Runs leave in the order in which they were given, whatever link they are
of, and a run that the window has stopped is continued where it was, in the middle of a large message if need be. A
message has a *number*, which its owner knows it by, from the moment it is given; its *delivery id* follows the order
on the wire and is given when it leaves. Both only ever grow, and differ when what waited for a link was forgotten.

Hot path: all that does not depend on a message is in a `TransferHeading`, made once for a link and kind of message.
For each message of a run remain one `pack` and one entry in a list, in loops that run in C.
"""

import struct
from collections import deque
from collections.abc import Sequence
from itertools import repeat
from typing import Final, Generic, Protocol, TypeVar

from heliograph.amqp.codec.encoding import encode
from heliograph.amqp.codec.performatives import MAX_UINT, DeliveryState
from heliograph.amqp.codec.values import UInt
from heliograph.amqp.engine.output import ConnectionOutput
from heliograph.amqp.engine.settlement import Unsettled
from heliograph.common.pieces import Piece

_ROOM_FOR_TRANSFER: Final = 64  # frame header and transfer without a state, and some to spare
_MOST_HEADINGS: Final = 1024  # one for each link, and for each transaction while it lasts
_WORTH_PIECES: Final = 4096  # copying a smaller payload takes less time than handling it as a separate piece
_MIDDLE: Final = b"\xa0\x04"  # the delivery tag is the delivery id, which is unique among unsettled deliveries


class SendingLink(Protocol):
    """What is used here of a link that sends."""

    handle: int
    pending: int

    def on_sent(self, count: int) -> None: ...


S = TypeVar("S", bound=SendingLink)


class WaitingRun(Generic[S]):
    """A run of messages of one link, of which some may have gone out."""

    __slots__ = ("at", "first", "largest", "link", "message_format", "offset", "payloads", "settled", "state")

    def __init__(
        self,
        link: S,
        first: int,
        payloads: Sequence[bytes],
        settled: bool,
        state: DeliveryState | None,
        message_format: int,
    ) -> None:
        self.link = link
        self.first = first  # the number of the first
        self.payloads = payloads
        self.settled = settled
        self.state = state
        self.message_format = message_format
        self.largest = max(map(len, payloads))
        self.at = 0  # those before this one have gone out
        self.offset = 0  # and so much of this one


class TransferHeading:
    """The bytes before each payload of a run: only size, delivery id and delivery tag differ."""

    __slots__ = ("_head", "_pack", "_tail", "length")

    def __init__(self, channel: int, handle: int, settled: bool, state: bytes, message_format: int, more: bool) -> None:
        handle_bytes = encode(UInt(handle)) + b"\x70"
        tail = encode(UInt(message_format)) + (b"\x41" if settled else b"\x42")
        count = 5
        if more or state:
            tail += b"\x41" if more else b"\x42"
            count = 6
        if state:
            tail += b"\x40" + state
            count = 8
        size = len(handle_bytes) + 4 + 2 + 4 + len(tail)
        head = b"\x02\x00" + channel.to_bytes(2, "big") + b"\x00\x53\x14"
        if size < 255:
            head += bytes((0xC0, size + 1, count)) + handle_bytes
        else:
            head += b"\xd0" + struct.pack(">II", size + 4, count) + handle_bytes
        form = struct.Struct(f">I{len(head)}sI2sI{len(tail)}s")
        self._head = head
        self._tail = tail
        self._pack = form.pack
        self.length = form.size

    def head(self, number: int, size: int) -> bytes:
        """What comes before a payload of this size."""
        return self._pack(size + self.length, self._head, number, _MIDDLE, number, self._tail)

    def frames(self, first: int, payloads: Sequence[bytes]) -> list[Piece]:
        """The frames of a run. The loops are `map` and slices, so that a message costs one call of `pack`."""
        count = len(payloads)
        if first + count > MAX_UINT:
            ids: Sequence[int] = [number & MAX_UINT for number in range(first, first + count)]
        else:
            ids = range(first, first + count)
        length = self.length
        sizes = [len(payload) + length for payload in payloads]
        heads = map(self._pack, sizes, repeat(self._head), ids, repeat(_MIDDLE), ids, repeat(self._tail))
        pieces: list[Piece] = [b""] * (2 * count)
        pieces[::2] = heads
        pieces[1::2] = payloads
        return [b"".join(pieces)] if sum(sizes) < _WORTH_PIECES * count else pieces


class OutgoingTransfers(Generic[S]):
    """The sending side of a session's window, and what waits for it."""

    def __init__(self, connection: ConnectionOutput, channel: int, unsettled: Unsettled[S]) -> None:
        """`unsettled` gets the deliveries that have left and that the peer has to settle."""
        self._connection = connection
        self._channel = channel
        self._unsettled = unsettled
        self._waiting: deque[WaitingRun[S]] = deque()
        self._headings: dict[tuple[int, bool, bytes, int, bool], TransferHeading] = {}
        self.window = 0  # frames that the peer still takes
        self.next_transfer = 0  # frames sent; the standard's next-outgoing-id
        self.next_delivery = 0  # the next delivery id; never wraps in here
        self.next_number = 0  # what the owner knows the next delivery by

    def send(
        self,
        link: S,
        payloads: Sequence[bytes],
        settled: bool,
        state: DeliveryState | None,
        message_format: int,
    ) -> range:
        """Send a run, or as much of it as the window allows; the rest waits."""
        first = self.next_number
        self.next_number = last = first + len(payloads)
        # A single message of a quiet link takes a short cut around the code for runs.
        alone = first + 1 == last and not self._waiting and state is None and self.window > 0
        if alone and self._send_one(link, payloads[0], settled, message_format):
            return range(first, last)
        if first != last:
            self._waiting.append(WaitingRun(link, first, payloads, settled, state, message_format))
            link.pending += last - first
            self.pump()
        return range(first, last)

    def _send_one(self, link: S, payload: bytes, settled: bool, message_format: int) -> bool:
        """Write one message in one frame at once: the usual case of a busy server with many quiet links."""
        if len(payload) > self._connection.largest_frame - _ROOM_FOR_TRANSFER:
            return False
        number = self.next_delivery
        size = len(payload)
        head = self._heading((link.handle, settled, b"", message_format, False)).head(number & MAX_UINT, size)
        if size < _WORTH_PIECES:
            self._connection.write(head + payload)
        else:
            self._connection.write_pieces((head, payload))
        self.next_delivery = number + 1
        self.next_transfer = (self.next_transfer + 1) & MAX_UINT
        self.window -= 1
        if not settled:
            self._unsettled.add(number, number, link, self.next_number - 1 - number)
        return True

    def _heading(self, key: tuple[int, bool, bytes, int, bool]) -> TransferHeading:
        heading = self._headings.get(key)
        if heading is None:
            if len(self._headings) >= _MOST_HEADINGS:
                self._headings.clear()
            heading = self._headings[key] = TransferHeading(self._channel, *key)
        return heading

    def pump(self) -> None:
        """Send what waits, as far as the window is open."""
        waiting = self._waiting
        limit = self._connection.largest_frame
        while waiting and self.window > 0:
            run = waiting[0]
            state = encode(run.state) if run.state is not None else b""
            # The longest heading is reserved, so that whether a message fits into a frame does not depend on its ids.
            room = limit - _ROOM_FOR_TRANSFER - len(state)
            if len(run.payloads[run.at]) <= room and not run.offset:
                self._send_small(run, state, room)
            else:
                self._send_large(run, state, room)
            if run.at == len(run.payloads):
                waiting.popleft()

    def forget(self, link: S) -> None:
        """The link is detached: drop its messages that wait."""
        if link.pending:
            self._waiting = deque(run for run in self._waiting if run.link is not link)
            link.pending = 0

    def _send_small(self, run: WaitingRun[S], state: bytes, room: int) -> None:
        """As many as there are of those that need one frame each."""
        payloads, at = run.payloads, run.at
        count = min(len(payloads) - at, self.window)
        if run.largest > room:
            count = next((n for n in range(count) if len(payloads[at + n]) > room), count)
        if at or count < len(payloads):
            payloads = payloads[at : at + count]
        heading = self._heading((run.link.handle, run.settled, state, run.message_format, False))
        self._connection.write_pieces(heading.frames(self.next_delivery & MAX_UINT, payloads))
        self._sent(run, count)
        self.next_transfer = (self.next_transfer + count) & MAX_UINT
        self.window -= count

    def _send_large(self, run: WaitingRun[S], state: bytes, room: int) -> None:
        """One delivery, frame by frame, as far as the window is open."""
        payload = memoryview(run.payloads[run.at])
        number = self.next_delivery & MAX_UINT
        while self.window > 0:
            end = run.offset + room
            more = end < len(payload)
            part = payload[run.offset : end]
            heading = self._heading((run.link.handle, run.settled, state, run.message_format, more))
            self._connection.write_pieces((heading.head(number, len(part)), part))
            self.next_transfer = (self.next_transfer + 1) & MAX_UINT
            self.window -= 1
            run.offset = end
            if not more:
                run.offset = 0
                self._sent(run, 1)
                return

    def _sent(self, run: WaitingRun[S], count: int) -> None:
        first = self.next_delivery
        self.next_delivery = first + count
        if not run.settled:
            self._unsettled.add(first, first + count - 1, run.link, run.first + run.at - first)
        run.at += count
        run.link.on_sent(count)

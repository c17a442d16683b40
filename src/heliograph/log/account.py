"""An account: all cursors of a log, as its records tell of them.

Everything that changes is a record, so that going through them gives the same cursors again:

    messages    a span, and the offsets it got in the cursors it is for
    acks        offsets that cursors are done with, as ranges
    cursor      all that is known of a cursor: a new one, or one in a checkpoint
    gone        cursors that nobody wants any more
    moved       what was live in a part of the log has been copied: here is where it lies now
    checkpoint  from here on everything that is known is written down again, bit by bit, while life goes on
    complete    all of that is there: whoever opens the log can start at that checkpoint

Whoever writes the log adds facts of its own, records of kinds from FIRST_FACT on, and gets them back when it is
opened. A fact of which the checkpoint has a later state may come before it: facts about something unknown are to be
ignored, and something known that comes again replaces what was known.
"""

import struct
from collections.abc import Callable

from heliograph.errors import Problem
from heliograph.log.cursor import Cursor, decode_cursor
from heliograph.log.messages import Receivers, receivers_of
from heliograph.log.record import Record

MESSAGES, ACKS, CURSOR, GONE, MOVED, CHECKPOINT, COMPLETE = range(1, 8)
FIRST_FACT = 32
COPY = 1
"""Flag of messages that stood elsewhere before: cursors know them already."""

ACK = struct.Struct("<IQI")
NUMBER = struct.Struct("<I")
POSITION = struct.Struct("<Q")
MOVED_HEAD = struct.Struct("<QQQQ")
MOVED_CURSOR = struct.Struct("<IQQQ")

Moved = tuple[int, int, int, int]
"""Number of a cursor, offsets from and to, and the size of the records with them."""


def decode_moved(body: bytes) -> tuple[int, int, int, int, list[Moved]]:
    """What a record of kind MOVED says: positions from and to, and their new ones; what exactly was moved."""
    gone_from, gone_to, start, end = MOVED_HEAD.unpack_from(body)
    return gone_from, gone_to, start, end, list(MOVED_CURSOR.iter_unpack(body[MOVED_HEAD.size :]))


class Account:
    """The cursors of one log. Made by going through all records from the replay position on."""

    def __init__(self, on_fact: Callable[[Record], None], on_messages: Callable[[Record, Receivers], None]) -> None:
        """Facts and messages are handed on."""
        self.cursors: dict[int, Cursor] = {}
        self.last_number = 0
        """The highest number that a cursor has had."""
        self.checkpoint = 0
        """Where the last complete checkpoint starts."""
        self.checkpoint_size = 0
        self._on_fact = on_fact
        self._on_messages = on_messages

    def replay(self, record: Record) -> None:
        """Take up what a record says."""
        body = record.body
        match record.kind:
            case 1:  # MESSAGES, first because nearly all are
                if not record.flags & COPY:
                    self._replay_messages(record)
            case 2:
                for number, lo, count in ACK.iter_unpack(body):
                    if cursor := self.cursors.get(number):
                        cursor.acknowledge(lo, lo + count)
            case 3:
                found = decode_cursor(body)
                self.cursors[found.number] = found
                self.last_number = max(self.last_number, found.number)
            case 4:
                self.cursors.pop(NUMBER.unpack(body)[0], None)
            case 5:
                self.move(*decode_moved(body))
            case 6:
                pass
            case 7:
                (self.checkpoint,) = POSITION.unpack(body)
                self.checkpoint_size = record.position - self.checkpoint
            case _:
                self._on_fact(record)

    def _replay_messages(self, record: Record) -> None:
        cursors = self.cursors
        receivers = receivers_of(record.body)
        for number, offset in zip(receivers.cursors, receivers.offsets, strict=True):
            cursor = cursors.get(number)
            if cursor is None:  # the checkpoint will tell
                continue
            if offset != cursor.next:
                raise Problem(
                    f"position {record.position}: message {offset} for cursor {number}, which expects {cursor.next}"
                )
            cursor.add(record.count, record.position, record.end, record.time)
        self._on_messages(record, receivers)

    def move(self, gone_from: int, gone_to: int, start: int, end: int, moved: list[Moved]) -> None:
        """What was needed between two positions is now between two others."""
        for number, lo, hi, size in moved:
            if cursor := self.cursors.get(number):
                cursor.move(lo, hi, gone_from, gone_to, start, end, size)

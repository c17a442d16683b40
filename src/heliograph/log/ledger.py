"""The ledger: the log as an account of messages and of cursors that read them.

Everything that changes is a record (`kinds` lists them), so that opening the ledger again gives the same cursors.
Whoever uses the ledger adds facts of its own, records of kinds from `kinds.FIRST_FACT` on, and gets them back when
it is opened. A fact of which the checkpoint has a later state may come before it: facts about something unknown are
to be ignored, and something known that comes again replaces what was known.
"""

import struct
import threading
import time
from bisect import bisect_right
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from heliograph.errors import Problem
from heliograph.log import kinds
from heliograph.log.cursor import Cursor, decode_cursor
from heliograph.log.cursor_reading import CursorReading
from heliograph.log.log import Log, LogOptions
from heliograph.log.messages import Messages, Receivers, encode_messages, receivers_of
from heliograph.log.record import Record

_ACK = struct.Struct("<IQI")
_NUMBER = struct.Struct("<I")
_POSITION = struct.Struct("<Q")
_MOVED = struct.Struct("<QQ")
_MOVED_RUN = struct.Struct("<IQQQQQ")


class MovedRun(NamedTuple):
    """Consecutive messages of a cursor, offsets `lo` to `hi`, and where their copies are: `size` bytes of records."""

    cursor: int
    lo: int
    hi: int
    start: int
    end: int
    size: int
    """0 if none of them is needed: then there are no copies."""


class Ledger:
    """All cursors of one log, and the only one who writes to it. Everything but `wake` happens in the caller's thread.

    What is appended gathers until `end_turn`; it is safe when `safe` has reached what `end` was then.
    """

    def __init__(
        self,
        directory: Path,
        on_fact: Callable[[Record], None],
        on_messages: Callable[[Record, Receivers], None],
        wake: Callable[[], None] = lambda: None,
        options: LogOptions = LogOptions(),  # noqa: B008  (frozen)
    ) -> None:
        """Open a log and bring the cursors to where they were; the others get facts and messages.

        `wake` is called in another thread when `safe` or `trouble` has changed.
        """
        self.cursors: dict[int, Cursor] = {}
        self._last_number = 0
        self._on_fact = on_fact
        self._on_messages = on_messages
        self._acks: list[bytes] = []
        self._wake = wake
        self._news = threading.Condition()
        self.trouble: OSError | None = None
        """Why nothing can be written at present."""
        self.checkpoint = 0
        """Where the last complete checkpoint starts."""
        self.checkpoint_size = 0
        self.log = Log(directory, self._on_safe, self._on_trouble, options, on_record=self._replay)
        self.reader = self.log.reader
        self._check_segments()

    # How far it is safe

    def _on_safe(self, position: int) -> None:
        with self._news:
            self._news.notify_all()
        self._wake()

    def _on_trouble(self, error: OSError | None) -> None:
        with self._news:
            self.trouble = error
            self._news.notify_all()
        self._wake()

    @property
    def safe(self) -> int:
        """Everything before this position is as safe as it will ever be."""
        return self.log.safe

    @property
    def end(self) -> int:
        """Where the next record will stand."""
        return self.log.end

    @property
    def waiting(self) -> int:
        """Bytes that are not yet safe."""
        return self.log.waiting

    def wait(self) -> bool:
        """Commit, and wait until all is safe; False if there is trouble with the disk instead."""
        self.end_turn()
        end = self.end
        with self._news:
            self._news.wait_for(lambda: self.log.safe >= end or self.trouble is not None)
        return self.log.safe >= end

    # Changes

    def new_cursor(self) -> Cursor:
        """A cursor that has no messages yet."""
        self._last_number += 1
        cursor = self.cursors[self._last_number] = Cursor(self._last_number)
        self.log.append(kinds.CURSOR, cursor.encode())
        return cursor

    def drop_cursor(self, cursor: Cursor) -> None:
        """Nobody will read this cursor any more."""
        del self.cursors[cursor.number]
        self.log.append(kinds.GONE, _NUMBER.pack(cursor.number))

    def store(self, messages: Messages, cursors: list[Cursor], identifiers: list[int]) -> None:
        """Append messages for these cursors, each of which gives them its next offsets."""
        count = messages.number
        receivers = Receivers([c.number for c in cursors], [c.next for c in cursors], identifiers)
        start = self.log.append(kinds.MESSAGES, encode_messages(messages, receivers), messages.data, count=count)
        end = self.log.end
        now = time.time_ns() // 1_000_000
        for cursor in cursors:
            cursor.add(count, start, end, now)

    def acknowledge(self, cursor: Cursor, lo: int, hi: int) -> None:
        """A cursor is done with offsets `lo` to `hi`."""
        cursor.acknowledge(lo, hi)
        self._acks.append(_ACK.pack(cursor.number, lo, hi - lo))

    def note(self, kind: int, *pieces: bytes) -> None:
        """Append a fact."""
        self.log.append(kind, *pieces)

    def copy(self, messages: Messages, receivers: Receivers, when: int) -> tuple[int, int]:
        """Append messages that stand elsewhere already, and where; `moved` then tells that these are what counts.

        `when` is the time that they came, which the copy keeps.
        """
        body = encode_messages(messages, receivers)
        start = self.log.append(kinds.MESSAGES, body, messages.data, count=messages.number, flags=kinds.COPY, when=when)
        return start, self.end

    def moved(self, gone_from: int, gone_to: int, runs: list[MovedRun]) -> None:
        """What was needed between two positions has been copied."""
        # Acknowledged messages have not been copied: that they are must be known before they are gone.
        self._log_acks()
        self.log.append(kinds.MOVED, _MOVED.pack(gone_from, gone_to), *[_MOVED_RUN.pack(*run) for run in runs])
        self._move(gone_from, gone_to, runs)

    def note_checkpoint(self) -> int:
        """What is known is written down from here on; where that is."""
        return self.log.append(kinds.CHECKPOINT)

    def note_cursor(self, cursor: Cursor) -> None:
        """Write down all that is known of a cursor."""
        self.log.append(kinds.CURSOR, cursor.encode())

    def note_complete(self, start: int) -> None:
        """All that was known at the checkpoint that starts there has been written down."""
        self.log.append(kinds.COMPLETE, _POSITION.pack(start))
        self.checkpoint, self.checkpoint_size = start, self.end - start

    def end_turn(self) -> None:
        """See to it that everything up to now becomes safe."""
        self._log_acks()
        self.log.commit()

    def _log_acks(self) -> None:
        if self._acks:
            self.log.append(kinds.ACKS, *self._acks)
            self._acks.clear()

    # Opening

    def _replay(self, record: Record) -> None:
        body = record.body
        match record.kind:
            case kinds.MESSAGES:
                if not record.flags & kinds.COPY:
                    self._replay_messages(record)
            case kinds.ACKS:
                for number, lo, count in _ACK.iter_unpack(body):
                    if cursor := self.cursors.get(number):
                        cursor.acknowledge(lo, lo + count)
            case kinds.CURSOR:
                found = decode_cursor(body)
                self.cursors[found.number] = found
                self._last_number = max(self._last_number, found.number)
            case kinds.GONE:
                self.cursors.pop(_NUMBER.unpack(body)[0], None)
            case kinds.MOVED:
                self._replay_moved(body)
            case kinds.CHECKPOINT:
                pass
            case kinds.COMPLETE:
                (self.checkpoint,) = _POSITION.unpack(body)
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

    def _replay_moved(self, body: bytes) -> None:
        gone_from, gone_to = _MOVED.unpack_from(body)
        self._move(gone_from, gone_to, [MovedRun(*run) for run in _MOVED_RUN.iter_unpack(body[_MOVED.size :])])

    def _move(self, gone_from: int, gone_to: int, runs: list[MovedRun]) -> None:
        for run in runs:
            if cursor := self.cursors.get(run.cursor):
                cursor.move(run.lo, run.hi, (gone_from, gone_to), run.start, run.end, run.size)

    def _check_segments(self) -> None:
        """Refuse to go on if messages that somebody waits for are in segments that are not there.

        Of those that a chunk reaches over, some may have been deleted because they had none of its messages.
        """
        segments = self.log.segments()
        bases = [base for base, _ in segments]
        for cursor in self.cursors.values():
            for chunk in cursor.chunks:
                index = bisect_right(bases, chunk.end - 1) - 1
                if index < 0 or segments[index][1] <= chunk.start:
                    raise Problem(
                        f"{self.log.directory}: the segment of position {chunk.start} is missing, with messages "
                        f"{chunk.first} to {chunk.next - 1} of cursor {cursor.number}"
                    )

    # Reading back

    def reading(self, cursor: Cursor) -> CursorReading:
        """A way to read the messages of a cursor."""
        return CursorReading(cursor, self.reader, lambda: self.safe)

    def close(self) -> None:
        """Make everything safe, if the disk lets us, and let others have the log."""
        self.end_turn()
        self.log.close()

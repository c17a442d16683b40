"""The ledger: the log as an account of messages and of cursors that read them, to be written to."""

import threading
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from heliograph.log import log_kinds
from heliograph.log.cursor import Cursor
from heliograph.log.cursor_reader import CursorReader
from heliograph.log.cursor_table import CursorTable
from heliograph.log.errors import MessageMissing
from heliograph.log.group import RecordGroup
from heliograph.log.log import Log, LogOptions
from heliograph.log.log_kinds import ACK, MOVED_HEAD, MOVED_RUN, NUMBER, POSITION, MovedRun
from heliograph.log.messages import (
    AMQP_MESSAGES,
    Receivers,
    UniformMessages,
    encode_uniform_messages,
    form_of,
    readdressed,
)
from heliograph.log.mixed_messages import MixedMessages, encode_mixed_messages
from heliograph.log.queue_messages import QueueMessages, decode_queue_messages, encode_queue_messages
from heliograph.log.ranges import Ranges
from heliograph.log.record import Record


class MessageLog(CursorTable):
    """All cursors of one log, and the only one who writes to it. Everything but `wake` happens in the caller's thread.

    What is appended gathers until `end_turn`; it is safe when `safe` has reached what `end` was then. Acknowledgements,
    and facts that are noted as `unhurried`, need no `end_turn` of their own: `write_unhurried` is enough for them.
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
        super().__init__(on_fact, on_messages)
        self._acks: list[bytes] = []
        self._group: RecordGroup | None = None
        self._wake = wake
        self._wall = options.wall
        self._news = threading.Condition()
        self.trouble: OSError | None = None
        """Why nothing can be written at present."""
        self.halted = False
        """Nothing will be written any more."""
        self._awaited = False
        """Somebody is in `wait`."""
        self.log = Log(directory, self._on_safe, self._on_trouble, options, on_record=self.replay)
        del self._on_fact, self._on_messages  # what they have gathered may go when its owner has made something of it
        self._progress = self.log.committer  # asked several times in each turn
        self._ended = self.end
        """Up to here there is nothing but what `end_turn` has seen, and what is unhurried."""
        self._handed_over = self.end
        """Up to here all is on its way to the disk, or at least to the kernel."""
        self.reader = self.log.reader
        self._check_segments()

    # How far it is safe

    def _on_safe(self, position: int) -> None:
        if self._awaited:
            with self._news:
                self._news.notify_all()
        self._wake()

    def _on_trouble(self, error: OSError | None) -> None:
        with self._news:
            if not self.halted:  # that is for good
                self.trouble = error
            self._news.notify_all()
        self._wake()

    def halt(self, why: str) -> None:
        """Write nothing more: those who append cannot be trusted any more. What has been written stays as it is."""
        if not self.halted:
            self.log.committer.halt()
            self.trouble = OSError(0, why)
            self.halted = True
            self._on_trouble(None)

    @property
    def safe(self) -> int:
        """Everything before this position is as safe as it will ever be."""
        return self._progress.safe

    @property
    def end(self) -> int:
        """Where the next record will stand."""
        return self._progress.end

    @property
    def waiting(self) -> int:
        """Bytes that are not yet safe."""
        return self._progress.end - self._progress.safe

    def until_force(self, now: float) -> float:
        """Seconds in which nothing that is appended becomes safe; what is there at the end of them does as soon."""
        return self._progress.until_force(now)

    def wait(self) -> bool:
        """Commit, and wait until all is safe; False if there is trouble with the disk instead."""
        self.end_turn()
        end = self.end
        with self._news:
            self._awaited = True  # before the first look at `safe`, which is changed without the lock
            self._news.wait_for(lambda: self.safe >= end or self.trouble is not None)
            self._awaited = False
        return self.safe >= end

    # Changes

    def new_cursor(self) -> Cursor:
        """A cursor that has no messages yet. It is there even if a group that is being made is not."""
        self.last_number += 1
        cursor = self.cursors[self.last_number] = Cursor(self.last_number)
        self.log.append(log_kinds.CURSOR, cursor.encode())
        return cursor

    def drop_cursor(self, cursor: Cursor) -> None:
        """Nobody will read this cursor any more. Not within a group."""
        self._check_no_group()
        del self.cursors[cursor.number]
        self.log.append(log_kinds.CURSOR_DELETED, NUMBER.pack(cursor.number))

    def store(
        self, messages: UniformMessages | MixedMessages | QueueMessages, cursors: list[Cursor], identifiers: list[int]
    ) -> list[int]:
        """Append messages for these cursors, each of which gives them its next offsets; the first of them for each."""
        count, group = messages.number, self._group
        offsets = self.next_offsets(cursors)
        receivers = Receivers([c.number for c in cursors], offsets, identifiers)
        if isinstance(messages, UniformMessages):
            body = encode_uniform_messages(messages, receivers)
        elif isinstance(messages, MixedMessages):
            body = encode_mixed_messages(messages, receivers)
        else:
            body = encode_queue_messages(messages, receivers)
        if group is not None:
            group.add_messages(cursors, (body, messages.data), count)
            return offsets
        now = int(self._wall() * 1000)
        start = self.log.append(log_kinds.MESSAGES, body, messages.data, count=count, when=now)
        end = self._progress.end
        for cursor in cursors:
            cursor.add(count, start, end, now, end - start)
        return offsets

    def next_offsets(self, cursors: list[Cursor]) -> list[int]:
        """The offset that the next message gets from each of these cursors."""
        return [c.next for c in cursors] if self._group is None else self._group.offsets(cursors)

    def acknowledge(self, cursor: Cursor, lo: int, hi: int) -> None:
        """A cursor is done with offsets `lo` to `hi`."""
        if self._group is not None:
            self._group.acks.append((cursor, lo, hi))
        else:
            self.discard(cursor, lo, hi)

    def discard(self, cursor: Cursor, lo: int, hi: int) -> None:
        """Like `acknowledge`, but at once even while a group is being made: others are to have the room."""
        if self._group is not None and hi > cursor.next:  # some of it is in the group itself
            self._group.acks.append((cursor, max(lo, cursor.next), hi))
            hi = cursor.next
        if lo < hi:
            cursor.acknowledge(lo, hi)
            self._acks.append(ACK.pack(cursor.number, lo, hi - lo))

    def note(self, kind: int, *pieces: bytes, unhurried: bool = False) -> None:
        """Append a fact; an unhurried one need not be safe before something else has to be."""
        if self._group is not None:
            self._group.add(kind, pieces)
            return
        unhurried = unhurried and self._progress.end == self._ended
        self.log.append(kind, *pieces)
        if unhurried:
            self._ended = self._progress.end

    @contextmanager
    def group(self) -> Iterator[RecordGroup]:
        """Messages, acknowledgements and facts up to the end of the `with` are one record: all of it, or nothing.

        Cursors learn of all that at the end, and never if there is an exception. Offsets are those that `store` tells.
        """
        self._check_no_group()
        group = self._group = RecordGroup(int(self._wall() * 1000), self.log.epoch)
        try:
            yield group
        finally:
            self._group = None
        if group.acks:
            group.add(log_kinds.ACKS, [ACK.pack(cursor.number, lo, hi - lo) for cursor, lo, hi in group.acks])
        if not group.empty:
            start = self.log.append(log_kinds.GROUP, *group.pieces, count=group.count, when=group.time)
            group.tell_cursors(start, self.log.end)

    def _check_no_group(self) -> None:
        if self._group is not None:
            raise RuntimeError("expected messages, acknowledgements or facts within a group of the log")

    def copy(self, record: Record, receivers: Receivers, needed: Ranges) -> tuple[int, int]:
        """Append messages once more for some of their receivers, and where; `moved` tells that these are what counts.

        They keep the time that they came. Of those whose index in the record is not needed, the bytes may be left out.
        """
        body: tuple[bytes, ...] = (readdressed(record.body, receivers),)
        if needed.count < record.count and form_of(record.body) == AMQP_MESSAGES:
            messages = decode_queue_messages(record.body, record.count).only(needed)
            body = encode_queue_messages(messages, receivers), messages.data
        start = self.log.append(log_kinds.MESSAGES, *body, count=record.count, flags=log_kinds.COPY, when=record.time)
        return start, self.end

    def moved(self, gone_from: int, gone_to: int, runs: list[MovedRun]) -> None:
        """What was needed between two positions has been copied."""
        # Acknowledged messages have not been copied: that they are must be known before they are gone.
        self.write_acks()
        self.log.append(
            log_kinds.MESSAGES_MOVED, MOVED_HEAD.pack(gone_from, gone_to), *[MOVED_RUN.pack(*run) for run in runs]
        )
        self.move(gone_from, gone_to, runs)

    def note_checkpoint(self) -> int:
        """What is known is written down from here on; where that is."""
        return self.log.append(log_kinds.CHECKPOINT)

    def note_cursor(self, cursor: Cursor) -> None:
        """Write down all that is known of a cursor."""
        self.log.append(log_kinds.CURSOR, cursor.encode())

    def note_complete(self, start: int) -> None:
        """All that was known at the checkpoint that starts there has been written down."""
        self.log.append(log_kinds.CHECKPOINT_COMPLETE, POSITION.pack(start))
        self.checkpoint, self.checkpoint_size = start, self.end - start

    def end_turn(self, *, at_once: bool = True) -> None:
        """See to it that everything up to now becomes safe, at once or as soon as the pace of commits allows."""
        if self._acks:
            self.write_acks()
        self.log.commit(at_once=at_once)
        self._ended = self._handed_over = self._progress.end

    @property
    def is_hurried(self) -> bool:
        """Whether something has been appended that needs an `end_turn`."""
        return self._progress.end > self._ended

    @property
    def has_unwritten(self) -> bool:
        """Whether there is something that is not even on its way to the kernel."""
        return bool(self._acks) or self._progress.end > self._handed_over

    def write_unhurried(self) -> None:
        """End a turn that needs not be safe before another is: it outlives this process, and that is enough."""
        self.write_acks()
        self.log.write()
        self._ended = self._handed_over = self._progress.end

    def write_acks(self) -> None:
        """Put acknowledgements behind everything else. Without this, they gather until the end of the turn."""
        if self._acks:
            self.log.append(log_kinds.ACKS, *self._acks)
            self._acks.clear()

    # Opening

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
                    raise MessageMissing(
                        f"{self.log.directory}: the segment of position {chunk.start} is missing, with messages "
                        f"{chunk.first} to {chunk.next - 1} of cursor {cursor.number}"
                    )

    # Reading back

    def reading(self, cursor: Cursor) -> CursorReader:
        """A way to read the messages of a cursor."""
        return CursorReader(cursor, self.reader, lambda: self.safe)

    def close(self) -> None:
        """Make everything safe, if the disk lets us, and let others have the log."""
        self.end_turn()
        self.log.close()

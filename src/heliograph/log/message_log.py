"""The log as a store of messages, and of cursors that read them. This is what the broker writes to.

Theory of operation
1. Everything that changes is a record; `CursorTable` replays them when the log is opened. So each method that changes
   something appends a record and changes memory alike, in the caller's thread.
2. What is appended gathers until `end_turn`. It is safe when `safe` has reached what `end` was then. Acknowledgements
   gather in memory until then, and are one record for the whole turn.
3. Acknowledgements and *deferred* records need no force of their own: a crash that loses them only has messages
   delivered again. `write_deferred` hands them to the kernel; they are forced with whatever is forced next.
4. Within `group`, nothing is appended before the end of the `with` block, and then all of it as one record: after a
   crash all of it is there, or nothing. Cursors change at the end, too.
5. After `halt`, nothing is written any more: memory and log may disagree, and the log alone counts.
"""

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
    """All cursors of one log, and its only writer. Everything but `wake` happens in the caller's thread."""

    def __init__(
        self,
        directory: Path,
        on_application_record: Callable[[Record], None],
        on_messages: Callable[[Record, Receivers], None],
        wake: Callable[[], None] = lambda: None,
        options: LogOptions = LogOptions(),  # noqa: B008  (frozen)
    ) -> None:
        """Open a log and restore its cursors; application records and messages are handed to the two callbacks.

        `wake` is called in the commit thread when `safe` or `trouble` has changed.
        """
        super().__init__(on_application_record, on_messages)
        self._acks: list[bytes] = []
        self._group: RecordGroup | None = None
        self._wake = wake
        self._wall = options.wall
        self._news = threading.Condition()
        self.trouble: OSError | None = None
        """Why nothing can be written at present; None if the disk works."""
        self.halted = False
        """Nothing will be written any more."""
        self._awaited = False
        """Whether a thread is in `wait`."""
        self.log = Log(directory, self._on_safe, self._on_trouble, options, on_record=self.replay)
        # Drop the callbacks, so that what they have collected can be freed when its owner drops it.
        del self._on_application_record, self._on_messages
        self._progress = self.log.committer  # a short cut: it is used several times in each turn
        self._ended = self.end
        """Everything before this position has been committed, or is deferred."""
        self._handed_over = self.end
        """Everything before this position has been handed to the commit thread."""
        self.reader = self.log.reader
        self._check_segments()

    # How far the log is safe.

    def _on_safe(self, position: int) -> None:
        if self._awaited:
            with self._news:
                self._news.notify_all()
        self._wake()

    def _on_trouble(self, error: OSError | None) -> None:
        with self._news:
            if not self.halted:  # a halted log stays in trouble
                self.trouble = error
            self._news.notify_all()
        self._wake()

    def halt(self, why: str) -> None:
        """Stop writing for good, because what would be written cannot be trusted. `why` becomes the trouble."""
        if not self.halted:
            self.log.committer.halt()
            self.trouble = OSError(0, why)
            self.halted = True
            self._on_trouble(None)

    @property
    def safe(self) -> int:
        """Everything before this position is safe."""
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
        """Seconds for which nothing new becomes safe; see `Committer.until_force`."""
        return self._progress.until_force(now)

    def wait(self) -> bool:
        """Commit, and wait until all is safe; False if there is trouble with the disk instead."""
        self.end_turn()
        end = self.end
        with self._news:
            self._awaited = True  # before `safe` is read: the commit thread changes that without this lock
            self._news.wait_for(lambda: self.safe >= end or self.trouble is not None)
            self._awaited = False
        return self.safe >= end

    # Changes.

    def new_cursor(self) -> Cursor:
        """Make a cursor without messages. It exists even if the group that is being made is given up."""
        self.last_number += 1
        cursor = self.cursors[self.last_number] = Cursor(self.last_number)
        self.log.append(log_kinds.CURSOR, cursor.encode())
        return cursor

    def drop_cursor(self, cursor: Cursor) -> None:
        """Delete a cursor. Not within a group."""
        self._check_no_group()
        del self.cursors[cursor.number]
        self.log.append(log_kinds.CURSOR_DELETED, NUMBER.pack(cursor.number))

    def store(
        self, messages: UniformMessages | MixedMessages | QueueMessages, cursors: list[Cursor], identifiers: list[int]
    ) -> list[int]:
        """Append messages for these cursors; the offset of the first message in each cursor."""
        count, group = messages.number, self._group
        # The body has the offsets, so they are taken before the record exists. Cursors change only after it was
        # appended.
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
        """Acknowledge the messages of a cursor from offset `lo` up to, but without, `hi`."""
        if self._group is not None:
            self._group.acks.append((cursor, lo, hi))
        else:
            self.discard(cursor, lo, hi)

    def discard(self, cursor: Cursor, lo: int, hi: int) -> None:
        """Like `acknowledge`, but at once even while a group is being made, to make room for other messages."""
        if self._group is not None and hi > cursor.next:  # some of it is in the group itself
            self._group.acks.append((cursor, max(lo, cursor.next), hi))
            hi = cursor.next
        if lo < hi:
            cursor.acknowledge(lo, hi)
            self._acks.append(ACK.pack(cursor.number, lo, hi - lo))

    def append_record(self, kind: int, *pieces: bytes, deferred: bool = False) -> None:
        """Append an application record; a deferred one need not be safe before something else has to be."""
        if self._group is not None:
            self._group.add(kind, pieces)
            return
        deferred = deferred and self._progress.end == self._ended
        self.log.append(kind, *pieces)
        if deferred:
            self._ended = self._progress.end

    @contextmanager
    def group(self) -> Iterator[RecordGroup]:
        """Make everything up to the end of the `with` block one record: after a crash all of it is there, or nothing.

        Cursors change at its end, and not at all if there is an exception. Offsets are those that `store` returned.
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
            group.apply_to_cursors(start, self.log.end)

    def _check_no_group(self) -> None:
        if self._group is not None:
            raise RuntimeError("expected messages, acknowledgements or application records within a group of the log")

    def copy(self, record: Record, receivers: Receivers, needed: Ranges) -> tuple[int, int]:
        """Append a copy of messages for some of their receivers; its position and end. It counts only after `moved`.

        Copies keep their time. The bytes of messages whose index in the record is not in `needed` may be left out.
        """
        body: tuple[bytes, ...] = (readdressed(record.body, receivers),)
        if needed.count < record.count and form_of(record.body) == AMQP_MESSAGES:
            messages = decode_queue_messages(record.body, record.count).only(needed)
            body = encode_queue_messages(messages, receivers), messages.data
        start = self.log.append(log_kinds.MESSAGES, *body, count=record.count, flags=log_kinds.COPY, when=record.time)
        return start, self.end

    def moved(self, gone_from: int, gone_to: int, runs: list[MovedRun]) -> None:
        """Record that everything needed between two positions has been copied, so that the copies count from now on."""
        # Acknowledged messages were not copied, so their acknowledgements must be in the log before this record.
        self.write_acks()
        self.log.append(
            log_kinds.MESSAGES_MOVED, MOVED_HEAD.pack(gone_from, gone_to), *[MOVED_RUN.pack(*run) for run in runs]
        )
        self.move(gone_from, gone_to, runs)

    def begin_checkpoint(self) -> int:
        """Begin a checkpoint; its position."""
        return self.log.append(log_kinds.CHECKPOINT)

    def append_cursor(self, cursor: Cursor) -> None:
        """Append the state of a cursor to a checkpoint."""
        self.log.append(log_kinds.CURSOR, cursor.encode())

    def complete_checkpoint(self, start: int) -> None:
        """End the checkpoint that starts at this position: everything has been written."""
        self.log.append(log_kinds.CHECKPOINT_COMPLETE, POSITION.pack(start))
        self.checkpoint, self.checkpoint_size = start, self.end - start

    def end_turn(self, *, at_once: bool = True) -> None:
        """Make everything up to now safe, at once or as soon as the commit interval allows. Does not wait for it."""
        if self._acks:
            self.write_acks()
        self.log.commit(at_once=at_once)
        self._ended = self._handed_over = self._progress.end

    @property
    def has_urgent(self) -> bool:
        """Whether something has been appended that needs an `end_turn`."""
        return self._progress.end > self._ended

    @property
    def has_unwritten(self) -> bool:
        """Whether something has been appended that was not handed to the commit thread yet."""
        return bool(self._acks) or self._progress.end > self._handed_over

    def write_deferred(self) -> None:
        """End a turn with only deferred records: they outlive this process, and become safe with the next turn that
        does."""
        self.write_acks()
        self.log.write()
        self._ended = self._handed_over = self._progress.end

    def write_acks(self) -> None:
        """Append the acknowledgements that have gathered. `end_turn` does it, too."""
        if self._acks:
            self.log.append(log_kinds.ACKS, *self._acks)
            self._acks.clear()

    # Opening.

    def _check_segments(self) -> None:
        """Raise MessageMissing if a segment with pending messages is missing.

        Segments in the middle of a chunk may be missing: they are deleted when they have none of its messages.
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

    # Reading back.

    def cursor_reader(self, cursor: Cursor) -> CursorReader:
        """A reader of the messages of a cursor."""
        return CursorReader(cursor, self.reader, lambda: self.safe)

    def close(self) -> None:
        """Make everything safe, unless the disk is in trouble, and release the log."""
        self.end_turn()
        self.log.close()

"""All cursors of a log, restored by replaying its records.

Theory of operation
1. Every change of a cursor is a record (`log_kinds` lists them). Replaying all records from the last complete
   checkpoint on gives the same cursors again.
2. The user of the log adds application records, with kinds from `FIRST_APPLICATION_KIND` on. They are passed back,
   together with all records of messages, in the order in which they were written.
3. A checkpoint is written while other records are written too. So an application record may come before the
checkpoint's
   entry for the same object, which already has the later state. Hence the rules of replay: a record about an unknown
   object is ignored, and a whole state replaces an earlier one.
4. Messages that maintenance has copied (flag `COPY`) change nothing when they are replayed. The record
   `MESSAGES_MOVED` behind them says for which cursors the copies count from now on.
"""

from collections.abc import Callable

from heliograph.errors import Problem
from heliograph.log import log_kinds
from heliograph.log.cursor import Cursor, decode_cursor
from heliograph.log.errors import MalformedRecord
from heliograph.log.group import records_in
from heliograph.log.log_kinds import ACK, NUMBER, POSITION, MovedRun, decode_moved
from heliograph.log.messages import Receivers, receivers_of
from heliograph.log.record import Record


class CursorTable:
    """The cursors of one log, restored by `replay` of all records from the replay position on."""

    def __init__(
        self, on_application_record: Callable[[Record], None], on_messages: Callable[[Record, Receivers], None]
    ) -> None:
        """Application records, and records of messages with their receivers, are handed to the callbacks."""
        self.cursors: dict[int, Cursor] = {}
        self.last_number = 0
        """The highest number that a cursor has had."""
        self.checkpoint = 0
        """Where the last complete checkpoint starts."""
        self.checkpoint_size = 0
        self._on_application_record = on_application_record
        self._on_messages = on_messages

    def replay(self, record: Record) -> None:
        """Apply a record; MalformedRecord if it makes no sense."""
        try:
            self._replay(record, None)
        except Problem:  # has a position already; the callbacks for application records raise these, too
            raise
        except Exception as error:
            # The check sum is right, yet no server wrote such a record: tell where it is.
            what = f"position {record.position}: a record of kind {record.kind} that makes no sense"
            raise MalformedRecord(f"{what} ({type(error).__name__}: {error})") from error

    def _replay(self, record: Record, group: Record | None) -> None:
        body = record.body
        match record.kind:
            case log_kinds.MESSAGES:
                if not record.flags & log_kinds.COPY:
                    self._replay_messages(record, group or record)
            case log_kinds.ACKS:
                for number, lo, count in ACK.iter_unpack(body):
                    if cursor := self.cursors.get(number):
                        cursor.acknowledge(lo, lo + count)
            case log_kinds.GROUP:
                for member in records_in(record):
                    self._replay(member, record)
            case log_kinds.CURSOR:
                found = decode_cursor(body)
                self.cursors[found.number] = found
                self.last_number = max(self.last_number, found.number)
            case log_kinds.CURSOR_DELETED:
                self.cursors.pop(NUMBER.unpack(body)[0], None)
            case log_kinds.MESSAGES_MOVED:
                self.move(*decode_moved(body))
            case log_kinds.CHECKPOINT:
                pass
            case log_kinds.CHECKPOINT_COMPLETE:
                (self.checkpoint,) = POSITION.unpack(body)
                self.checkpoint_size = record.position - self.checkpoint
            case _:
                self._on_application_record(record)

    def _replay_messages(self, record: Record, whole: Record) -> None:
        cursors = self.cursors
        receivers = receivers_of(record.body)
        start, end, size = whole.position, whole.end, record.end - record.position
        for number, offset in zip(receivers.cursors, receivers.offsets, strict=True):
            cursor = cursors.get(number)
            if cursor is None:  # deleted since, or the checkpoint still brings it
                continue
            if offset != cursor.next:
                raise MalformedRecord(
                    f"position {record.position}: message {offset} for cursor {number}, which expects {cursor.next}"
                )
            cursor.add(record.count, start, end, record.time, size)
        self._on_messages(record, receivers)

    def move(self, gone_from: int, gone_to: int, runs: list[MovedRun]) -> None:
        """Apply that what was needed between two positions is elsewhere now."""
        for run in runs:
            if cursor := self.cursors.get(run.cursor):
                cursor.move(run.lo, run.hi, (gone_from, gone_to), run.start, run.end, run.size)

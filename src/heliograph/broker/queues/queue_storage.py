"""The storage of a queue: its persistent messages in the log.

Payloads of persistent messages stay in memory while there is room; otherwise they are read back. After a restart
nothing is in memory: the messages are loaded when the queue is first used (`loading`).
"""

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Protocol

from heliograph.broker.core.memory import Account
from heliograph.broker.errors import UnsafeMessage
from heliograph.broker.queues.entry import PENDING, WAITING, Entry
from heliograph.log import Cursor, CursorReader, MessageLog, QueueMessages, decode_queue_messages

BUDGET = 64 << 20
"""Bytes of persistent messages that are in memory, over all queues; past it they are only in the log."""
_SHARE = 8
"""The same as a part (one eighth) of the memory budget, if that is less."""

_offset_of = attrgetter("offset")


class Memory:
    """Counts the payloads of persistent messages that are in memory."""

    __slots__ = ("account", "budget")

    def __init__(self, account: Account) -> None:
        """All of it is charged to this account, which nobody else uses."""
        self.account = account
        self.budget = min(BUDGET, account.budget.limit // _SHARE)

    @property
    def held(self) -> int:
        """Bytes in memory."""
        return self.account.used

    def add(self, size: int) -> None:
        """So many bytes more are in memory, or less."""
        self.account.add(size)


class Writes(Protocol):
    """What a turn writes to the log for queues."""

    @property
    def ledger(self) -> MessageLog:
        """The log."""

    def done(self, cursor: Cursor, offsets: list[int]) -> None:
        """Acknowledge these messages."""

    def failed(self, cursor: Cursor, offset: int, deliveries: int) -> None:
        """Store the number of failed deliveries of a message."""


class QueueStorage:
    """The cursor of one queue, and the memory of its payloads."""

    __slots__ = ("_memory", "_reading", "_record", "_writes", "cursor", "failed", "late", "loaded", "shown")

    def __init__(self, writes: Writes, cursor: Cursor, memory: Memory, failed: dict[int, int] | None = None) -> None:
        """`failed` is how often deliveries have failed, by offset."""
        self.cursor = cursor
        self.failed: dict[int, int] = failed or {}
        self.loaded = not cursor.pending
        """Whether all messages in the log have been loaded."""
        self.late: list[Entry] = []
        """Messages that were put while the queue is being loaded."""
        self.shown = cursor.next
        """Offsets before this one are safe and visible to consumers."""
        self._writes = writes
        self._memory = memory
        self._reading: CursorReader | None = None
        self._record: tuple[int, QueueMessages] | None = None

    @property
    def pending(self) -> int:
        """Messages in the log that are not acknowledged."""
        return self.cursor.pending

    @property
    def oldest(self) -> int:
        """When the oldest of them came, about, in milliseconds since 1970; 0 if there are none."""
        return self.cursor.chunks[0].time if self.cursor.chunks else 0

    # What happens to messages

    def show(self, entries: Sequence[Entry]) -> None:
        """Messages are safe now. Count their payloads as being in memory."""
        size = 0
        for entry in entries:
            if entry.offset >= 0:
                self.shown = entry.offset + 1
                size += entry.size
        self._memory.add(size)

    def done(self, entries: Iterable[Entry], *, logged: bool) -> None:
        """Acknowledge messages, unless `logged` says that the log has it already."""
        offsets = []
        size = 0
        for entry in entries:
            if entry.offset >= 0:
                offsets.append(entry.offset)
                if entry.payload is not None:
                    size += entry.size
        if not offsets:
            return
        self._memory.add(-size)
        if self.failed:
            for offset in offsets:
                self.failed.pop(offset, None)
        if not logged:
            self._writes.done(self.cursor, offsets)

    def note_failed(self, entries: Iterable[Entry]) -> None:
        """Store the number of failed deliveries of these messages."""
        for entry in entries:
            if entry.offset >= 0:
                self.failed[entry.offset] = entry.deliveries
                self._writes.failed(self.cursor, entry.offset, entry.deliveries)

    def forget(self, entries: Iterable[Entry]) -> None:
        """The queue was deleted: discount these messages."""
        self._memory.add(-sum(e.size for e in entries if e.offset >= 0 and e.payload is not None))

    # Payloads

    def fetch(self, entries: Sequence[Entry]) -> None:
        """Read the payloads of messages that are safe, and not in memory; a Problem if the log does not have them."""
        if self._reading is None:
            self._reading = self._writes.ledger.cursor_reader(self.cursor)
        for entry in sorted(entries, key=_offset_of) if len(entries) > 1 else entries:
            entry.payload = self._read(self._reading, entry.offset)
            self._memory.add(entry.size)

    def _read(self, reading: CursorReader, offset: int) -> bytes:
        found = reading.find(offset)
        if found is None:
            raise UnsafeMessage(f"cursor {self.cursor.number}: message {offset} is not safe, but somebody wants it")
        if self._record is None or self._record[0] != found.record.position:
            messages = decode_queue_messages(found.record.body, found.record.count)
            self._record = found.record.position, messages
        return self._record[1].message(offset - found.first)

    def let_go(self, entries: Iterable[Entry]) -> None:
        """Release payloads that are not in use, if too many are in memory."""
        memory = self._memory
        if memory.held <= memory.budget:
            return
        for entry in entries:
            if entry.offset >= 0 and entry.payload is not None and entry.state in {WAITING, PENDING}:
                entry.payload = None
                memory.add(-entry.size)

    def rest(self) -> None:
        """Release what was read ahead: there are no consumers."""
        self._reading = self._record = None

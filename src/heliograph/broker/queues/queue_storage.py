"""A queue's storage: its persistent messages as they are in the log.

Payloads of persistent messages are in memory while there is room, and are read back when there was none. After a
restart nothing is in memory: what is on the storage becomes known when somebody first looks into the queue (`loading`).
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
"""And no more than this part of all the memory there is for clients."""

_offset_of = attrgetter("offset")


class Memory:
    """How much of all persistent messages is in memory."""

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
        """These messages are not needed any more."""

    def failed(self, cursor: Cursor, offset: int, deliveries: int) -> None:
        """So many deliveries of a message have failed."""


class QueueStorage:
    """The cursor of one queue, and what its messages cost."""

    __slots__ = ("_memory", "_reading", "_record", "_writes", "cursor", "failed", "late", "loaded", "shown")

    def __init__(self, writes: Writes, cursor: Cursor, memory: Memory, failed: dict[int, int] | None = None) -> None:
        """`failed` is how often deliveries have failed, by offset."""
        self.cursor = cursor
        self.failed: dict[int, int] = failed or {}
        self.loaded = not cursor.pending
        """Whether the queue knows all of its messages."""
        self.late: list[Entry] = []
        """What was put while the queue gets to know them."""
        self.shown = cursor.next
        """Offsets before this one are safe, and anybody may have them."""
        self._writes = writes
        self._memory = memory
        self._reading: CursorReader | None = None
        self._record: tuple[int, QueueMessages] | None = None

    @property
    def pending(self) -> int:
        """Messages in the log that nobody has got."""
        return self.cursor.pending

    @property
    def oldest(self) -> int:
        """When the oldest of them came, about, in milliseconds since 1970; 0 if there are none."""
        return self.cursor.chunks[0].time if self.cursor.chunks else 0

    # What happens to messages

    def show(self, entries: Sequence[Entry]) -> None:
        """These are safe now. Their payloads count as being in memory."""
        size = 0
        for entry in entries:
            if entry.offset >= 0:
                self.shown = entry.offset + 1
                size += entry.size
        self._memory.add(size)

    def done(self, entries: Iterable[Entry], *, logged: bool) -> None:
        """These are no longer needed. `logged`: the log has been told."""
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
        """Deliveries of these have failed: the log has to know how often."""
        for entry in entries:
            if entry.offset >= 0:
                self.failed[entry.offset] = entry.deliveries
                self._writes.failed(self.cursor, entry.offset, entry.deliveries)

    def forget(self, entries: Iterable[Entry]) -> None:
        """The queue has gone, and these with it."""
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
        """Nobody needs the payloads of these just now: they stay in memory only if there is room."""
        memory = self._memory
        if memory.held <= memory.budget:
            return
        for entry in entries:
            if entry.offset >= 0 and entry.payload is not None and entry.state in {WAITING, PENDING}:
                entry.payload = None
                memory.add(-entry.size)

    def rest(self) -> None:
        """Nobody reads for now: what has been read ahead need not be in memory."""
        self._reading = self._record = None

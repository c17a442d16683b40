"""The backlog of one durable subscription, or of one group of sharers, in the log.

Theory of operation

1. The cursor has all pending messages: stored and not acknowledged. Each of them is either in flight (in a window) or
   waiting (`unsent`). `put` adds to `unsent`, `take` moves messages to the caller, who sends or acknowledges them.
2. Only ranges of offsets are in memory. Messages are read back from the log when they can be sent.
3. Limits count waiting messages (`unsent`), but bytes of everything pending (`cursor.bytes`, known per chunk).
4. Every change of `unsent` goes into the total of all spools.
"""

from heliograph.broker.core.limits import Limits, WhenFull
from heliograph.broker.core.span import Span
from heliograph.log import Cursor, CursorReader, FoundRecord, MessageLog, Ranges


class SpoolTotals:
    """The number of messages that wait in all spools together."""

    __slots__ = ("messages",)

    def __init__(self) -> None:
        self.messages = 0


class Spool:
    """A cursor, and which of its pending messages are waiting, that is, not in flight."""

    __slots__ = (
        "_ledger",
        "_reading",
        "_total",
        "cursor",
        "discarded",
        "expired",
        "high_water",
        "rejected",
        "span",
        "unsent",
    )

    def __init__(self, ledger: MessageLog, cursor: Cursor, total: SpoolTotals) -> None:
        self._ledger = ledger
        self.cursor = cursor
        self.unsent = Ranges()
        self._total = total
        self._reading: CursorReader | None = None
        self.span: tuple[int, Span] | None = None
        """Position and decoded span of the record that messages were last sent from."""
        self.high_water = 0
        self.rejected = 0
        self.discarded = 0
        self.expired = 0

    @property
    def count(self) -> int:
        """Messages that wait."""
        return self.unsent.count

    def accept(self, number: int, size: int, limits: Limits) -> int:
        """Make room for new messages as the limits demand. Returns how many of them, from the front, are accepted."""
        if limits.when_full is WhenFull.DISCARD_OLD:
            # Whole chunks are discarded, because bytes are known per chunk only.
            while self.unsent.count and self._is_too_much(size, limits):
                chunk = self.cursor.chunk_of(self.unsent.first)
                self.discarded += self._acknowledge_oldest(chunk.next - self.unsent.first if chunk else 1)
        elif self._is_too_much(size, limits):
            self.rejected += number
            return 0
        room = max(0, limits.max_messages - self.unsent.count)
        if number <= room:
            return number
        if limits.when_full is WhenFull.REJECT_NEW:
            self.rejected += number - room
            return room
        # A span that alone exceeds the limit is taken whole: the limit is for the backlog.
        self.discarded += self._acknowledge_oldest(number - room)
        return number

    def _is_too_much(self, size: int, limits: Limits) -> bool:
        """Whether there would be too many bytes. An empty spool takes a message of any size."""
        return self.cursor.bytes > 0 and self.cursor.bytes + size > limits.max_bytes

    def _acknowledge_oldest(self, number: int) -> int:
        done = 0
        while self.unsent.count and done < number:
            lo, hi = self._take(number - done)
            self._ledger.discard(self.cursor, lo, hi)
            done += hi - lo
        return done

    def put(self, lo: int, hi: int) -> None:
        """Add messages to the backlog: just stored, or given back by another sharer."""
        before = self.unsent.count
        self.unsent.add(lo, hi)
        self._total.messages += self.unsent.count - before
        self.high_water = max(self.high_water, self.unsent.count)

    def next(self) -> FoundRecord | None:
        """The record with the oldest waiting message; None if it is not safe yet, so that it must not be sent."""
        return self.find(self.unsent.first)

    def find(self, offset: int) -> FoundRecord | None:
        """The record with a pending message; None if it is not safe yet."""
        if self._reading is None:
            self._reading = self._ledger.cursor_reader(self.cursor)
        return self._reading.find(offset)

    def take(self, found: FoundRecord, most: int) -> tuple[int, int]:
        """Take at most `most` waiting messages of the record that `next` found. Returns their offsets (from, to)."""
        return self._take(min(most, found.next - self.unsent.first))

    def _take(self, most: int) -> tuple[int, int]:
        lo, hi = self.unsent.take(most)
        self._total.messages -= hi - lo
        return lo, hi

    def take_any(self) -> tuple[int, int]:
        """Take the first range of waiting messages; there must be one. Returns the offsets (from, to)."""
        return self._take(self.unsent.count)

    def sent_before(self, lo: int, hi: int) -> None:
        """Take these offsets out of the backlog: recovery found that they are in flight."""
        self._total.messages -= self.unsent.remove(lo, hi)

    def expire(self, found: FoundRecord) -> int:
        """Acknowledge the messages of the record that `next` found, because they have expired. Returns how many."""
        lo, hi = self.take(found, found.next - found.first)
        self._ledger.acknowledge(self.cursor, lo, hi)
        self.expired += hi - lo
        return hi - lo

    def forget(self) -> None:
        """Empty the backlog without acknowledging anything: the cursor is about to be dropped."""
        while self.unsent.count:
            self.take_any()

    def rest(self) -> None:
        """The client has disconnected: release what was read ahead."""
        self._reading = self.span = None

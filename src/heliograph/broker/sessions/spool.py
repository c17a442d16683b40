"""What waits in the log for one durable subscription, or for one group of sharers.

Nothing of it is in memory but ranges of offsets: a message that cannot be sent at once is read back when it can.
"""

from heliograph.broker.core.limits import Limits, WhenFull
from heliograph.broker.core.span import Span
from heliograph.log import Cursor, CursorReader, FoundRecord, MessageLog, Ranges


class SpoolTotals:
    """How many messages wait in all spools together."""

    __slots__ = ("messages",)

    def __init__(self) -> None:
        self.messages = 0


class Spool:
    """A cursor, and which of its pending messages are not on their way to anybody."""

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
        """Position and span of the record that messages were sent from last."""
        self.high_water = 0
        self.rejected = 0
        self.discarded = 0
        self.expired = 0

    @property
    def count(self) -> int:
        """Messages that wait."""
        return self.unsent.count

    def accept(self, number: int, size: int, limits: Limits) -> int:
        """Make room for new messages as the limits demand; how many of them, from the front, may come."""
        if limits.when_full is WhenFull.DISCARD_OLD:
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
        # A span that alone is more than the limit is taken whole: the limit is for what piles up.
        self.discarded += self._acknowledge_oldest(number - room)
        return number

    def _is_too_much(self, size: int, limits: Limits) -> bool:
        """Whether there would be too many bytes. An empty spool takes anything."""
        return self.cursor.bytes > 0 and self.cursor.bytes + size > limits.max_bytes

    def _acknowledge_oldest(self, number: int) -> int:
        done = 0
        while self.unsent.count and done < number:
            lo, hi = self._take(number - done)
            self._ledger.discard(self.cursor, lo, hi)
            done += hi - lo
        return done

    def put(self, lo: int, hi: int) -> None:
        """Messages that have just been stored, or that come back, wait."""
        before = self.unsent.count
        self.unsent.add(lo, hi)
        self._total.messages += self.unsent.count - before
        self.high_water = max(self.high_water, self.unsent.count)

    def next(self) -> FoundRecord | None:
        """The record with the oldest message that waits; None if it is not safe, and so not to be sent, yet."""
        return self.find(self.unsent.first)

    def find(self, offset: int) -> FoundRecord | None:
        """The record with a message that is pending; None if it is not safe yet."""
        if self._reading is None:
            self._reading = self._ledger.cursor_reader(self.cursor)
        return self._reading.find(offset)

    def take(self, found: FoundRecord, most: int) -> tuple[int, int]:
        """Take messages that wait out of what `next` has found, at most so many; their offsets."""
        return self._take(min(most, found.next - self.unsent.first))

    def _take(self, most: int) -> tuple[int, int]:
        lo, hi = self.unsent.take(most)
        self._total.messages -= hi - lo
        return lo, hi

    def take_any(self) -> tuple[int, int]:
        """Take messages that wait, as many as there are in one range; there must be one. Their offsets."""
        return self._take(self.unsent.count)

    def sent_before(self, lo: int, hi: int) -> None:
        """Of the messages that wait, these are on their way to somebody."""
        self._total.messages -= self.unsent.remove(lo, hi)

    def expire(self, found: FoundRecord) -> int:
        """The messages that `next` has found are no longer worth delivering; how many that were."""
        lo, hi = self.take(found, found.next - found.first)
        self._ledger.acknowledge(self.cursor, lo, hi)
        self.expired += hi - lo
        return hi - lo

    def forget(self) -> None:
        """Nobody wants what waits any more."""
        while self.unsent.count:
            self.take_any()

    def rest(self) -> None:
        """Nobody reads for now: what has been read ahead need not be in memory."""
        self._reading = self.span = None

"""The bounded buffer of a subscription: messages in memory that wait until the client can take more.

Theory of operation

1. A buffer has two queues of `Waiting` entries, each a piece of a span. QoS 0 waits in `late`, QoS 1 and 2 in
`waiting`. 2. `count` is the number of messages in both queues; `bytes` the size of the spans. A span counts in full
until its last
   message has left the buffer, because it stays in memory that long.
3. Three limits: messages and bytes of this buffer, bytes of all buffers together (`BufferTotals`, where a span that is
   in many buffers counts once), and the memory account of the owner. An empty buffer takes a message of any size that
   the account has room for, or it could never be delivered.
4. When full, new messages are rejected or old ones discarded (`WhenFull`). Both are counted.
5. Every entry that leaves goes through `pop`, which keeps all of these sums right.
"""

from collections import deque

from heliograph.broker.core.limits import Limits, WhenFull
from heliograph.broker.core.memory import Account
from heliograph.broker.core.slices import Steps
from heliograph.broker.core.span import Span
from heliograph.mqtt import packet_bounds

Waiting = tuple[Span | bytes, int, int]
"""Messages lo to hi of a span, or of encoded QoS 0 packets that are passed on as they are."""

_COST = 200
"""Bytes of memory for the objects around encoded packets while they wait."""
_FORGOTTEN_AT_ONCE = 500
_ANY_SIZE = 1 << 30
_ANY_VERSION = 4  # the packets were checked when they came in; MQTT 3 is more lenient about lengths


def cut_packets(data: bytes, lo: int, hi: int) -> bytes:
    """Packets `lo` to `hi` of several packets of any lengths in one piece."""
    start = pos = 0
    for index in range(hi):
        if index == lo:
            start = pos
        bounds = packet_bounds(data, pos, _ANY_SIZE, _ANY_VERSION)
        assert bounds is not None
        pos = bounds[1]
    return data[start:pos]


def _size(what: Span | bytes) -> int:
    """Bytes of memory that an entry takes."""
    return _COST + len(what) if isinstance(what, bytes) else what.cost


class BufferTotals:
    """The totals of all buffers together. The bytes of a span count once, in however many buffers it waits."""

    __slots__ = ("bytes", "messages")

    def __init__(self) -> None:
        self.bytes = 0
        self.messages = 0
        """Messages; one that waits in several buffers counts in each."""

    def take(self, what: Span | bytes) -> None:
        """Count an entry that has been put into another buffer."""
        self.bytes += self.growth(what)
        if not isinstance(what, bytes):
            what.held += 1

    def release(self, what: Span | bytes) -> None:
        """Discount an entry that has left a buffer."""
        if not isinstance(what, bytes):
            what.held -= 1
        self.bytes -= self.growth(what)

    def growth(self, what: Span | bytes) -> int:
        """By how many bytes the total grows if this is put into one more buffer."""
        return _size(what) if isinstance(what, bytes) or not what.held else 0


class Buffer:
    """Messages waiting for one subscription (or for one group of sharers), oldest first.

    QoS 0 messages wait apart from the others (`late`), because they need only a writable connection, while QoS 1 and 2
    also need room in the window. The order of messages is defined per QoS (MQTT-4.6.0), so this keeps it.
    """

    __slots__ = (
        "_account",
        "_count",
        "_held",
        "bytes",
        "discarded",
        "expired",
        "high_water",
        "late",
        "rejected",
        "waiting",
    )

    def __init__(self, held: BufferTotals, account: Account) -> None:
        """Memory is charged to the account, which is that of the session or the group."""
        self._held = held
        self._account = account
        self._count = 0
        self.late: deque[Waiting] = deque()
        self.waiting: deque[Waiting] = deque()
        self.bytes = 0
        """Bytes of all that waits. A span counts in full until its last message has left: it is in memory that long."""
        self.high_water = 0
        self.rejected = 0
        self.discarded = 0
        self.expired = 0

    @property
    def count(self) -> int:
        """Messages that wait. Setting it keeps the total of all buffers right."""
        return self._count

    @count.setter
    def count(self, number: int) -> None:
        self._held.messages += number - self._count
        self._count = number

    def add(self, queue: deque[Waiting], what: Span | bytes, lo: int, hi: int, limits: Limits) -> int:
        """Append messages to `queue` (one of the two) as far as the limits allow. Returns how many were taken.

        Messages that are discarded at once, because newer ones of the same span need the room, count as taken.
        """
        taken = hi - lo
        if limits.when_full is WhenFull.DISCARD_OLD:
            while self.count and self._is_too_much(what, limits):
                _, first, last = (self.late or self.waiting)[0]
                self._discard(last - first)
        if self._is_too_much(what, limits):
            self.rejected += taken
            return 0
        # Bytes fit; now the number of messages.
        room = limits.max_messages - self.count
        if hi - lo > room:
            if limits.when_full is WhenFull.DISCARD_OLD:
                room += self._discard(hi - lo - room)
                self.discarded += max(0, hi - lo - room)
                lo = max(lo, hi - room)
            else:
                self.rejected += hi - lo - max(room, 0)
                hi = lo + max(room, 0)
                taken = hi - lo
        if hi > lo:
            queue.append((what, lo, hi))
            self.count += hi - lo
            self._take(what)
            self.high_water = max(self.high_water, self.count)
        return taken

    def is_full_for(self, what: Span | bytes, number: int, limits: Limits) -> bool:
        """Whether there is no room for `number` messages."""
        return self.count + number > limits.max_messages or self._is_too_much(what, limits)

    def _is_too_much(self, what: Span | bytes, limits: Limits) -> bool:
        """Whether the entry exceeds the bytes of this buffer, of all buffers together, or of the account.

        An empty buffer takes anything that the account has room for.
        """
        if self.bytes and self.bytes + _size(what) > limits.max_bytes:
            return True
        if self._held.bytes > 0 and self._held.bytes + self._held.growth(what) > limits.buffered_bytes:
            return True
        # A span with a hold is charged already, to whoever keeps it as well.
        return (isinstance(what, bytes) or what.hold is None) and not self._account.has_room(_size(what))

    def _take(self, what: Span | bytes) -> None:
        self.bytes += _size(what)
        self._held.take(what)
        if isinstance(what, bytes):
            self._account.add(_size(what))
        else:
            what.charge(self._account)

    def pop(self, queue: deque[Waiting]) -> None:
        """Remove the entry at the front of `queue`.

        `count` is left to the caller, who may have sent a part of it before.
        """
        what = queue.popleft()[0]
        self.bytes -= _size(what)
        self._held.release(what)
        if isinstance(what, bytes):
            self._account.refund(_size(what))

    def put_back(self, span: Span, lo: int, hi: int) -> None:
        """Put messages that were in flight back to the front. No limit applies: they were accepted once."""
        self.waiting.appendleft((span, lo, hi))
        self.count += hi - lo
        self._take(span)
        self.high_water = max(self.high_water, self.count)

    def clear_late(self) -> Steps:
        """Drop waiting QoS 0 messages, because the client has disconnected.

        The caller runs the steps: there may be many.
        """
        late, self.late = self.late, deque()
        return self._forget(late)

    def clear(self) -> Steps:
        """Drop everything, because the subscription has ended. The caller runs the steps."""
        waiting, self.waiting = self.waiting, deque()
        waiting.extendleft(reversed(self.late))
        self.late = deque()
        return self._forget(waiting)

    def _forget(self, queue: deque[Waiting]) -> Steps:
        while queue:
            for _ in range(min(len(queue), _FORGOTTEN_AT_ONCE)):
                _, lo, hi = queue[0]
                self.count -= hi - lo
                self.pop(queue)
            yield None

    def drop_expired(self, now: float) -> int:
        """Drop expired messages at the front of both queues. Returns how many.

        Messages behind one that has not expired are not looked at: they are dropped when they come to the front.
        """
        dropped = 0
        for queue in (self.late, self.waiting):
            while queue:
                what, lo, hi = queue[0]
                if isinstance(what, bytes) or not what.expires or what.expires > now:
                    break
                self.pop(queue)
                dropped += hi - lo
        self.count -= dropped
        self.expired += dropped
        return dropped

    def _discard(self, number: int) -> int:
        """Discard up to `number` of the oldest messages, QoS 0 first. Returns how many."""
        done = 0
        for queue in (self.late, self.waiting):
            while queue and done < number:
                what, lo, hi = queue[0]
                gone = min(hi - lo, number - done)
                done += gone
                if lo + gone < hi:
                    queue[0] = (what, lo + gone, hi)
                else:
                    self.pop(queue)
        self.count -= done
        self.discarded += done
        return done

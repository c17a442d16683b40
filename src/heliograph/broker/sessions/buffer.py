"""The bounded buffer of a subscription: what waits while its receivers cannot take more."""

from collections import deque

from heliograph.broker.core.limits import Limits, WhenFull
from heliograph.broker.core.memory import Account
from heliograph.broker.core.slices import Steps
from heliograph.broker.core.span import Span
from heliograph.mqtt import packet_bounds

Waiting = tuple[Span | bytes, int, int]
"""Messages lo to hi of a span; or of plain QoS 0 packets already in the form that the receiver gets."""

_COST = 200
"""Bytes of memory that packets take beside their own while they wait."""
_FORGOTTEN_AT_ONCE = 500
_ANY_SIZE = 1 << 30
_ANY_VERSION = 4  # the packets were good when they came, and MQTT 3 is the more lenient one about lengths


def cut_packets(data: bytes, lo: int, hi: int) -> bytes:
    """Packets `lo` to `hi` of a run of packets of any lengths."""
    start = pos = 0
    for index in range(hi):
        if index == lo:
            start = pos
        bounds = packet_bounds(data, pos, _ANY_SIZE, _ANY_VERSION)
        assert bounds is not None
        pos = bounds[1]
    return data[start:pos]


def _size(what: Span | bytes) -> int:
    """Bytes of memory that it takes."""
    return _COST + len(what) if isinstance(what, bytes) else what.cost


class BufferTotals:
    """What waits in all buffers together. The bytes of a span count once, in however many buffers it is."""

    __slots__ = ("bytes", "messages")

    def __init__(self) -> None:
        self.bytes = 0
        self.messages = 0
        """Messages, for each buffer that they are in."""

    def take(self, what: Span | bytes) -> None:
        """Another buffer has this."""
        self.bytes += self.growth(what)
        if not isinstance(what, bytes):
            what.held += 1

    def release(self, what: Span | bytes) -> None:
        """A buffer has this no longer."""
        if not isinstance(what, bytes):
            what.held -= 1
        self.bytes -= self.growth(what)

    def growth(self, what: Span | bytes) -> int:
        """How many bytes more there would be with this in one more buffer."""
        return _size(what) if isinstance(what, bytes) or not what.held else 0


class Buffer:
    """Messages waiting for one subscription (or for one group of sharers), oldest first.

    QoS 0 messages wait apart from the others (`late`): they need only a writable connection, QoS 1 and 2 also need
    room in the receiver's window, and the standard orders messages per QoS.
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
        """What waits is charged to the account."""
        self._held = held
        self._account = account
        self._count = 0
        self.late: deque[Waiting] = deque()
        self.waiting: deque[Waiting] = deque()
        self.bytes = 0
        """Size of all that waits. A span counts as a whole until its last message has gone: so long it is in memory."""
        self.high_water = 0
        self.rejected = 0
        self.discarded = 0
        self.expired = 0

    @property
    def count(self) -> int:
        """Messages that wait."""
        return self._count

    @count.setter
    def count(self, number: int) -> None:
        self._held.messages += number - self._count
        self._count = number

    def add(self, queue: deque[Waiting], what: Span | bytes, lo: int, hi: int, limits: Limits) -> int:
        """Let messages wait in `queue` (one of the two), as far as the limit allows; how many of them were taken.

        One that is taken and discarded at once, because newer ones need its place, has been taken.
        """
        taken = hi - lo
        if limits.when_full is WhenFull.DISCARD_OLD:
            while self.count and self._is_too_much(what, limits):
                _, first, last = (self.late or self.waiting)[0]
                self._discard(last - first)
        if self._is_too_much(what, limits):
            self.rejected += taken
            return 0
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
        """Whether there is no room for so many messages."""
        return self.count + number > limits.max_messages or self._is_too_much(what, limits)

    def _is_too_much(self, what: Span | bytes, limits: Limits) -> bool:
        """Whether there would be too many bytes here, in all buffers together, or in memory.

        An empty buffer takes anything that there is memory for.
        """
        if self.bytes and self.bytes + _size(what) > limits.max_bytes:
            return True
        if self._held.bytes > 0 and self._held.bytes + self._held.growth(what) > limits.buffered_bytes:
            return True
        return (isinstance(what, bytes) or what.hold is None) and not self._account.has_room(_size(what))

    def _take(self, what: Span | bytes) -> None:
        self.bytes += _size(what)
        self._held.take(what)
        if isinstance(what, bytes):
            self._account.add(_size(what))
        else:
            what.charge(self._account)

    def pop(self, queue: deque[Waiting]) -> None:
        """What stands at the front of `queue` has been sent, all of it."""
        what = queue.popleft()[0]
        self.bytes -= _size(what)
        self._held.release(what)
        if isinstance(what, bytes):
            self._account.refund(_size(what))

    def put_back(self, span: Span, lo: int, hi: int) -> None:
        """Messages that were on their way come back to the front; they have been counted in once, so no limit."""
        self.waiting.appendleft((span, lo, hi))
        self.count += hi - lo
        self._take(span)
        self.high_water = max(self.high_water, self.count)

    def clear_late(self) -> Steps:
        """Forget waiting QoS 0 messages: their receiver has gone. There may be many: the steps do it."""
        late, self.late = self.late, deque()
        return self._forget(late)

    def clear(self) -> Steps:
        """Forget everything: nobody will ever want it. The steps do it."""
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
        """Drop what expired at the front of both queues; how many that were."""
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
        """Discard up to `number` of the oldest messages, QoS 0 first; how many that were."""
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

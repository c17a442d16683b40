"""The bounded buffer of a subscription: what waits while its receivers cannot take more."""

from collections import deque

from heliograph.broker.limits import Limits, WhenFull
from heliograph.broker.span import Span
from heliograph.mqtt.framing import packet_bounds

Waiting = tuple[Span | bytes, int, int]
"""Messages lo to hi of a span; or of plain QoS 0 packets already in the form that the receiver gets."""

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
    return len(what) if isinstance(what, bytes) else len(what.data)


class Buffer:
    """Messages waiting for one subscription (or for one group of sharers), oldest first.

    QoS 0 messages wait apart from the others (`late`): they need only a writable connection, QoS 1 and 2 also need
    room in the receiver's window, and the standard orders messages per QoS.
    """

    __slots__ = ("bytes", "count", "discarded", "expired", "high_water", "late", "rejected", "waiting")

    def __init__(self) -> None:
        self.late: deque[Waiting] = deque()
        self.waiting: deque[Waiting] = deque()
        self.count = 0
        self.bytes = 0
        """Size of all that waits. A span counts as a whole until its last message has gone: so long it is in memory."""
        self.high_water = 0
        self.rejected = 0
        self.discarded = 0
        self.expired = 0

    def add(self, queue: deque[Waiting], what: Span | bytes, lo: int, hi: int, limits: Limits) -> int:
        """Let messages wait in `queue` (one of the two), as far as the limit allows; how many of them were taken.

        One that is taken and discarded at once, because newer ones need its place, has been taken.
        """
        taken = hi - lo
        room = limits.max_messages - self.count
        if self.bytes and self.bytes + _size(what) > limits.max_bytes:
            if limits.when_full is WhenFull.DISCARD_OLD:
                while self.bytes and self.bytes + _size(what) > limits.max_bytes:
                    _, first, last = (self.late or self.waiting)[0]
                    room += self._discard(last - first)
            else:
                room = 0
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
            self.bytes += _size(what)
            self.high_water = max(self.high_water, self.count)
        return taken

    def is_full_for(self, what: Span | bytes, number: int, limits: Limits) -> bool:
        """Whether there is no room for so many messages."""
        return self.count + number > limits.max_messages or self.bytes + _size(what) > limits.max_bytes

    def pop(self, queue: deque[Waiting]) -> None:
        """What stands at the front of `queue` has been sent, all of it."""
        self.bytes -= _size(queue.popleft()[0])

    def put_back(self, span: Span, lo: int, hi: int) -> None:
        """Messages that were on their way come back to the front; they have been counted in once, so no limit."""
        self.waiting.appendleft((span, lo, hi))
        self.count += hi - lo
        self.bytes += _size(span)
        self.high_water = max(self.high_water, self.count)

    def clear_late(self) -> None:
        """Forget waiting QoS 0 messages: their receiver has gone."""
        self.count -= sum(hi - lo for _, lo, hi in self.late)
        self.bytes -= sum(_size(what) for what, _, _ in self.late)
        self.late.clear()

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

"""Records of messages in their second form: AMQP messages of any lengths, for queues.

receivers    4   how many cursors these messages are for
form         1   2
(zero)       1
columns      2   which of the optional columns are present (left out if all zero): expires (1), deliver_at (2)
(zero)      28
cursors, offsets, identifiers as in the first form (see `messages`); no identifiers are used
sizes            4 for each message: its length
priorities       1 for each
flags            1 for each; their meaning is up to the user of the log
expires          8 for each: milliseconds since 1970 when it is no longer worth delivering, 0 for never
deliver_at       8 for each: milliseconds since 1970 before which it is not to be delivered, 0 for at once
data             the messages, one after the other

In a copy, messages that are not needed any more have length 0: the others keep their offsets, and disk space is freed.
"""

import struct
from collections.abc import Sequence
from itertools import accumulate, pairwise

from heliograph.log.errors import MalformedRecord
from heliograph.log.messages import AMQP_MESSAGES, Receivers
from heliograph.log.ranges import Ranges

_HEAD = struct.Struct("<IBBH28x")
_EXPIRES, _DELIVER_AT = 1, 2
_ALONE = struct.Struct("<IBBH28xIQHIBB")
"""A record of one message for one receiver, up to its data or further columns."""
_PLAIN = (1, AMQP_MESSAGES, 0, 0)


class QueueMessages:
    """AMQP messages, column by column: what queues need of each without decoding it, and the messages themselves."""

    __slots__ = ("_data_at", "_starts", "data", "deliver_at", "expires", "flags", "number", "priorities", "sizes")

    def __init__(
        self,
        sizes: Sequence[int],
        data: bytes,
        priorities: Sequence[int],
        flags: Sequence[int],
        expires: Sequence[int] = (),
        deliver_at: Sequence[int] = (),
        data_at: int = 0,
    ) -> None:
        """`data` has the messages from `data_at` on. No `expires` or `deliver_at` stands for zeros."""
        self.number = len(sizes)
        self.sizes = sizes
        self.data = data
        self._data_at = data_at
        self.priorities = priorities
        self.flags = flags
        self.expires = expires or (0,) * self.number
        self.deliver_at = deliver_at or (0,) * self.number
        self._starts: list[int] = []

    @classmethod
    def of(
        cls,
        messages: Sequence[bytes],
        priorities: Sequence[int],
        flags: Sequence[int],
        expires: Sequence[int] = (),
        deliver_at: Sequence[int] = (),
    ) -> "QueueMessages":
        """These messages. A single one is not copied."""
        return cls([*map(len, messages)], b"".join(messages), priorities, flags, expires, deliver_at)

    def message(self, index: int) -> bytes:
        """One of the messages; the others are not touched."""
        starts = self._starts or self._find_starts()
        return self.data[starts[index] : starts[index + 1]]

    def all(self) -> list[bytes]:
        """All messages."""
        data = self.data
        return [data[start:end] for start, end in pairwise(self._starts or self._find_starts())]

    def only(self, needed: Ranges) -> "QueueMessages":
        """These messages without the bytes of those whose index is not needed."""
        starts = self._find_starts()
        sizes = [0] * self.number
        for lo, hi in needed:
            sizes[lo:hi] = self.sizes[lo:hi]
        data = b"".join([self.data[starts[lo] : starts[hi]] for lo, hi in needed])
        return QueueMessages(sizes, data, self.priorities, self.flags, self.expires, self.deliver_at)

    def _find_starts(self) -> list[int]:
        self._starts = [*accumulate(self.sizes, initial=self._data_at)]
        return self._starts


def encode_queue_messages(messages: QueueMessages, receivers: Receivers) -> bytes:
    """The body of a record up to `data`, which follows it."""
    n, count = len(receivers.cursors), messages.number
    expires = messages.expires if any(messages.expires) else ()
    deliver_at = messages.deliver_at if any(messages.deliver_at) else ()
    return b"".join(
        (
            _HEAD.pack(n, AMQP_MESSAGES, 0, bool(expires) * _EXPIRES | bool(deliver_at) * _DELIVER_AT),
            struct.pack(f"<{n}I{n}Q{n}H", *receivers.cursors, *receivers.offsets, *receivers.identifiers),
            struct.pack(f"<{count}I", *messages.sizes),
            bytes(messages.priorities),
            bytes(messages.flags),
            struct.pack(f"<{len(expires) + len(deliver_at)}Q", *expires, *deliver_at),
        )
    )


def single_queue_message(body: bytes) -> tuple[int, int, int, int, int] | None:
    """Of a record of one message for one receiver: cursor, offset, size, priority, and where the message begins.

    None if it is not that simple. A fast path: there may be as many records as messages when a queue is loaded.
    """
    if len(body) < _ALONE.size:
        return None
    *front, cursor, offset, _, size, priority, _ = _ALONE.unpack_from(body)
    if (*front,) != _PLAIN:
        return None
    return cursor, offset, size, priority, _ALONE.size


def decode_queue_messages(body: bytes, count: int) -> QueueMessages:
    """The messages of a record that says it has `count` of them; MalformedRecord if they are of another form."""
    n, form, _, columns = _HEAD.unpack_from(body)
    if form != AMQP_MESSAGES:
        raise MalformedRecord(f"expected a record of AMQP messages (form {AMQP_MESSAGES}), found form {form}")
    sizes_at = _HEAD.size + 14 * n
    priorities_at = sizes_at + 4 * count
    flags_at = priorities_at + count
    at = flags_at + count
    expires: Sequence[int] = ()
    deliver_at: Sequence[int] = ()
    if columns & _EXPIRES:
        expires = struct.unpack_from(f"<{count}Q", body, at)
        at += 8 * count
    if columns & _DELIVER_AT:
        deliver_at = struct.unpack_from(f"<{count}Q", body, at)
        at += 8 * count
    sizes = struct.unpack_from(f"<{count}I", body, sizes_at)
    return QueueMessages(
        sizes, body, body[priorities_at:flags_at], body[flags_at : flags_at + count], expires, deliver_at, at
    )

"""Templates for messages that differ only in ids and bodies: everything else is encoded once."""

from collections.abc import Mapping, Sequence
from typing import Any

from heliograph.amqp.codec.encoding import encode
from heliograph.amqp.messages import jms_kinds, section_writing
from heliograph.amqp.messages.encoded import opening_of
from heliograph.amqp.messages.sections import APPLICATION_PROPERTIES_START, PROPERTIES_START


class MessageTemplate:
    """The common part of messages. Its methods make their bytes, for `Producer.send_encoded`."""

    __slots__ = ("_count", "_heads", "_opening", "_rest", "_tails", "to")

    def __init__(
        self,
        *,
        to: str,
        text: bool = False,
        persistent: bool = True,
        priority: int = 4,
        ttl: int | None = None,
        properties: Mapping[str, Any] | None = None,
        annotations: Mapping[str, Any] | None = None,
        user_id: bytes | None = None,
        to_kind: int = jms_kinds.QUEUE,
        subject: str | None = None,
        reply_to: str | None = None,
        reply_kind: int = jms_kinds.QUEUE,
        correlation_id: Any = None,
        content_type: str | None = None,
        created: int | None = None,
        group_id: str | None = None,
        group_sequence: int | None = None,
    ) -> None:
        """The arguments are those of `encoded.write`."""
        self.to = to
        reply = None if reply_to is None else reply_kind
        self._opening = opening_of(persistent, priority, ttl, text, to_kind, reply, annotations)
        expires = None if ttl is None or created is None else created + ttl
        fields = section_writing.property_fields(
            None, user_id, to, subject, reply_to, correlation_id, content_type, expires, created
        )
        fields += section_writing.group_fields(group_id, group_sequence)
        self._count = len(fields)
        self._rest = b"".join(fields[1:])
        own = APPLICATION_PROPERTIES_START + encode(dict(properties)) if properties else b""
        self._heads: dict[int, bytes] = {}
        """What comes before the id, by its length."""
        self._tails = _Tails(self._rest + own, text)
        """What comes between id and body, by the length of the body."""

    def fill(self, message_id: Any, body: bytes) -> bytes:
        """The message with this id (text, bytes, a number, a UUID or None) and this body."""
        field = section_writing.identifier_field(message_id)
        return b"".join((self._head(len(field)), field, self._tails[len(body)], body))

    def fill_all(self, bodies: Sequence[bytes]) -> list[bytes]:
        """Messages with these bodies, and without ids."""
        join, tails, head = b"".join, self._tails, self._head(1) + section_writing.identifier_field(None)
        return [join((head, tails[len(body)], body)) for body in bodies]

    def fill_run(self, prefix: bytes, first: int, bodies: Sequence[bytes]) -> list[bytes]:
        """Messages with these bodies; their ids are the prefix and a number, which is counted up from `first`."""
        join, tails = b"".join, self._tails
        filled: list[bytes] = []
        begin = 0
        while begin < len(bodies):
            digits = len(str(first + begin))
            end = min(len(bodies), 10**digits - first)
            head = self._head_of_run(prefix, digits)
            # One call of `join` per message; everything that is equal for all messages is computed before the loop.
            filled += [
                join((head, b"%d" % number, tails[len(body)], body))
                for number, body in enumerate(bodies[begin:end], first + begin)
            ]
            begin = end
        return filled

    def _head_of_run(self, prefix: bytes, digits: int) -> bytes:
        """The bytes before the number in an id that is `prefix` and a number of `digits` digits."""
        field = section_writing.text_field(b"%b%b" % (prefix, bytes(digits)))
        return self._head(len(field)) + field[: len(field) - digits]

    def _head(self, length: int) -> bytes:
        """The bytes before an id whose encoding has `length` bytes."""
        head = self._heads.get(length)
        if head is None:
            size = 1 + length + len(self._rest)
            if size < 256:
                section = bytes((0xC0, size, self._count))
            else:
                section = b"\xd0" + (size + 3).to_bytes(4, "big") + self._count.to_bytes(4, "big")
            head = self._heads[length] = self._opening + PROPERTIES_START + section
        return head


class _Tails(dict[int, bytes]):
    """Made when first asked for."""

    def __init__(self, before: bytes, text: bool) -> None:
        super().__init__()
        self._before = before
        self._text = text

    def __missing__(self, length: int) -> bytes:
        tail = self._before + section_writing.start_of_body(length, self._text)
        if len(self) < _MOST_TAILS:
            self[length] = tail
        return tail


_MOST_TAILS = 10_000

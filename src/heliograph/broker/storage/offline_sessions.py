"""The short form of sessions of disconnected clients: packed bytes, many in one checkpoint record.

Most sessions of a large server can have it: nothing is in flight, there is no will, and the backlog is in cursors.
While a log is read, a session stays in this form, which takes a twentieth of the memory of a `RecoveredSession`.
"""

import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

from heliograph.broker.sessions.session import Session, Subscription

AT_ONCE = 100
"""About so many sessions and subscriptions are in one record."""
_SESSION = struct.Struct("<IIIqHHI")
"""Length of the whole, number, expiry, time of disconnecting, next packet identifier, length of the client identifier,
number of subscriptions."""
_SUBSCRIPTION = struct.Struct("<IBBH")
"""Cursor, options, length of the identifier property, length of the filter."""
_NUMBER = struct.Struct("<4xI")
_QOS, _NO_LOCAL, _RETAIN_AS_PUBLISHED = 3, 4, 8


class OfflineSubscription(NamedTuple):
    """One subscription of a session in the short form."""

    filter: str
    cursor: int
    options: int
    extra: bytes

    def set_options(self, subscription: Subscription) -> None:
        """Set the options of a subscription."""
        options = self.options
        subscription.qos = options & _QOS
        subscription.no_local = options & _NO_LOCAL > 0
        subscription.retain_as_published = options & _RETAIN_AS_PUBLISHED > 0
        if self.extra:
            subscription.extra = self.extra

    def fields(self) -> dict[str, Any]:
        """The same in the form of a `SUBSCRIBED` record."""
        return {
            "filter": self.filter,
            "qos": self.options & _QOS,
            "no_local": self.options & _NO_LOCAL > 0,
            "retain_as_published": self.options & _RETAIN_AS_PUBLISHED > 0,
            "extra": self.extra.hex(),
            "cursor": self.cursor,
        }


class OfflineSession(NamedTuple):
    """One session in the short form."""

    number: int
    client: str
    expiry: int
    away: int
    """When the client disconnected, in milliseconds since 1970."""
    next_id: int
    subscriptions: list[OfflineSubscription]

    def fields(self) -> dict[str, Any]:
        """The same in the form of a `SESSION` record."""
        return {
            "session": self.number,
            "expiry": self.expiry,
            "away": self.away,
            "will": None,
            "will_due": None,
            "client": self.client,
            "received": [],
            "next_id": self.next_id,
            "sent": [],
            "released": [],
            "subscriptions": [one.fields() for one in self.subscriptions],
            "retired": [],
        }

    def encode(self) -> bytes:
        """The packed bytes."""
        client = self.client.encode()
        parts = [client]
        for one in self.subscriptions:
            name = one.filter.encode()
            parts += [_SUBSCRIPTION.pack(one.cursor, one.options, len(one.extra), len(name)), one.extra, name]
        rest = b"".join(parts)
        size, count = _SESSION.size + len(rest), len(self.subscriptions)
        return _SESSION.pack(size, self.number, self.expiry, self.away, self.next_id, len(client), count) + rest


def is_simple(session: Session) -> bool:
    """Whether the short form has room for the whole state of a session."""
    window = session.window
    return (
        session.away is not None
        and session.will is None
        and not session.received
        and not (window is not None and (window.sent or window.released))
    )


def of_session(session: Session, away: int) -> OfflineSession:
    """The short form of a session for which `is_simple` holds. `away` is when its client disconnected."""
    subscriptions = [
        OfflineSubscription(
            one.filter,
            one.spool.cursor.number if one.spool else 0,
            options_of(one.qos, no_local=one.no_local, retain_as_published=one.retain_as_published),
            one.extra,
        )
        for one in session.subscriptions.values()
    ]
    next_id = session.window.next_id if session.window else 1
    return OfflineSession(session.number, session.client_id, session.expiry, away, next_id, subscriptions)


def options_of(qos: int, *, no_local: bool, retain_as_published: bool) -> int:
    """The options of a subscription as bits."""
    return qos | (_NO_LOCAL if no_local else 0) | (_RETAIN_AS_PUBLISHED if retain_as_published else 0)


def split(body: bytes) -> Iterator[tuple[int, bytes]]:
    """The sessions in a record: number and packed bytes of each."""
    at = 0
    while at < len(body):
        length = int.from_bytes(body[at : at + 4], "little")
        if not _SESSION.size <= length <= len(body) - at:
            raise ValueError(f"a session of {length} bytes at byte {at} of {len(body)}")
        yield _NUMBER.unpack_from(body, at)[0], body[at : at + length]
        at += length


def decode(one: bytes) -> OfflineSession:
    """Unpack what `OfflineSession.encode` packed."""
    _, number, expiry, away, next_id, size, count = _SESSION.unpack_from(one)
    at = _SESSION.size + size
    client = one[_SESSION.size : at].decode()
    subscriptions = []
    for _ in range(count):
        cursor, options, extra_size, filter_size = _SUBSCRIPTION.unpack_from(one, at)
        at += _SUBSCRIPTION.size
        extra = one[at : at + extra_size]
        at += extra_size
        subscriptions.append(OfflineSubscription(one[at : at + filter_size].decode(), cursor, options, extra))
        at += filter_size
    return OfflineSession(number, client, expiry, away, next_id, subscriptions)

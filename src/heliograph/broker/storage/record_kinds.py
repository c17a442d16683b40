"""The kinds of records that the broker writes to the log, and the bodies of those of sessions and streams.

Rare records are JSON, so that a person can read a dump of the log. `MOVES`, of which there may be one per turn, are
packed. A `SESSION` record has the whole state of a session; it is written when the session begins and in checkpoints.
The other kinds about sessions are changes. A `STREAM` record has everything about a stream but its messages.
"""

import base64
import json
import struct
from typing import Any, NamedTuple

from heliograph.broker.sessions.session import Session, Subscription
from heliograph.log import FIRST_APPLICATION_KIND
from heliograph.mqtt import Will, decode_properties, encode_properties

SESSION, ENDED, PRESENCE, SUBSCRIBED, UNSUBSCRIBED, MOVES, RETAINED, STREAM = range(
    FIRST_APPLICATION_KIND, FIRST_APPLICATION_KIND + 8
)
QUEUE, QUEUE_GONE, DELIVERIES = range(FIRST_APPLICATION_KIND + 8, FIRST_APPLICATION_KIND + 11)
"""See `queue_records`."""
SET_ASIDE = FIRST_APPLICATION_KIND + 11
"""See `set_aside`."""
STREAM_GONE = FIRST_APPLICATION_KIND + 12
AWAY = FIRST_APPLICATION_KIND + 13
"""See `offline_sessions`."""
LAST = AWAY

ISSUED, RECEIVED, COMPLETED, TAKEN, RELEASED = range(1, 6)
"""What a move says. To a client: messages were sent with these identifiers, PUBREC came, PUBCOMP came. From a client:
QoS 2 messages were taken with these identifiers, PUBREL came."""

_MOVE = struct.Struct("<BBHIIIQ")


class Move(NamedTuple):
    """A step of the protocol for packet identifiers of one session: `number` of them from `first` on."""

    what: int
    qos: int
    first: int
    number: int
    session: int
    cursor: int = 0
    """With ISSUED and RECEIVED: the cursor, and in `offset` the first message in it."""
    offset: int = 0

    def encode(self) -> bytes:
        return _MOVE.pack(*self)


def decode_moves(body: bytes) -> list[Move]:
    """The moves in a MOVES record."""
    return [Move(*fields) for fields in _MOVE.iter_unpack(body)]


def as_json(fact: dict[str, Any]) -> bytes:
    """The body of a record in JSON."""
    return json.dumps(fact, separators=(",", ":")).encode()


def session_record(session: Session, presence: dict[str, Any]) -> dict[str, Any]:
    """The whole state of a session, for a SESSION record."""
    window = session.window
    flights = [f for f in window.sent if f.cursor is not None] if window else []
    known = set(session.subscriptions.values())
    return {
        **presence,
        "client": session.client_id,
        "received": session.received.numbers() if session.received else [],
        "next_id": window.next_id if window else 1,
        "sent": [[f.first, f.count, f.qos, f.cursor.number, f.offset] for f in flights if f.cursor],
        "released": [list(pair) for pair in window.released] if window else [],
        "subscriptions": [subscription_record(one) for one in session.subscriptions.values()],
        # Unsubscribed, but some of its messages are still in flight.
        "retired": [subscription_record(one) for one in {f.subscription: None for f in flights} if one not in known],
    }


def subscription_record(subscription: Subscription) -> dict[str, Any]:
    """The state of a subscription."""
    return {
        "filter": subscription.filter,
        "qos": subscription.qos,
        "no_local": subscription.no_local,
        "retain_as_published": subscription.retain_as_published,
        "extra": subscription.extra.hex(),
        "cursor": subscription.spool.cursor.number if subscription.spool else 0,
    }


def will_record(will: Will | None) -> dict[str, Any] | None:
    """A will in the form of JSON."""
    if will is None:
        return None
    return {
        "topic": will.topic,
        "payload": base64.b64encode(will.payload).decode(),
        "qos": will.qos,
        "retain": will.retain,
        "properties": encode_properties(will.properties).hex(),
    }


def will_of(fact: dict[str, Any] | None) -> Will | None:
    """The will of a record; see `will_record`."""
    if fact is None:
        return None
    raw = bytes.fromhex(fact["properties"])
    properties, _ = decode_properties(raw, 0, len(raw), "will")
    return Will(fact["topic"], base64.b64decode(fact["payload"]), fact["qos"], fact["retain"], properties)

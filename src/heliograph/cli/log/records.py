"""Records of the log as people and programs can read them: kinds by name, bodies decoded."""

import base64
import json
from typing import Any

from heliograph.broker import DELIVERIES_ROW, offline_sessions, record_kinds
from heliograph.cli.shared.output import moment
from heliograph.log import (
    AMQP_MESSAGES,
    MIXED_PACKETS,
    Record,
    decode_cursor,
    decode_mixed_messages,
    decode_queue_messages,
    decode_uniform_messages,
    form_of,
    log_kinds,
    receivers_of,
    records_in,
)

KINDS = {
    log_kinds.MESSAGES: "messages",
    log_kinds.ACKS: "acks",
    log_kinds.CURSOR: "cursor",
    log_kinds.CURSOR_DELETED: "gone",
    log_kinds.MESSAGES_MOVED: "moved",
    log_kinds.CHECKPOINT: "checkpoint",
    log_kinds.CHECKPOINT_COMPLETE: "complete",
    log_kinds.GROUP: "group",
    record_kinds.SESSION: "session",
    record_kinds.ENDED: "ended",
    record_kinds.PRESENCE: "presence",
    record_kinds.SUBSCRIBED: "subscribed",
    record_kinds.UNSUBSCRIBED: "unsubscribed",
    record_kinds.MOVES: "moves",
    record_kinds.RETAINED: "retained",
    record_kinds.STREAM: "stream",
    record_kinds.QUEUE: "queue",
    record_kinds.QUEUE_GONE: "queue gone",
    record_kinds.DELIVERIES: "deliveries",
    record_kinds.SET_ASIDE: "set aside",
    record_kinds.STREAM_GONE: "stream gone",
    record_kinds.AWAY: "sessions away",
}
_MOVES = {
    record_kinds.ISSUED: "issued",
    record_kinds.RECEIVED: "received",
    record_kinds.COMPLETED: "completed",
    record_kinds.TAKEN: "taken",
    record_kinds.RELEASED: "released",
}


def kind_name(kind: int) -> str:
    """What people call a kind of record."""
    return KINDS.get(kind, f"kind {kind}")


def as_json(record: Record) -> dict[str, Any]:
    """A record as JSON can have it. One whose body is not what its kind says is shown as it is."""
    when = moment(record.time / 1000)
    fields = {"position": record.position, "kind": kind_name(record.kind), "time": when, "size": len(record.body)}
    try:
        return fields | _body(record)
    except Exception:  # whatever its decoder stumbles over
        return fields | text_or_base64("body", record.body)


def text_or_base64(key: str, value: bytes) -> dict[str, str]:
    """Bytes as text, if they are text."""
    try:
        return {key: value.decode()}
    except UnicodeDecodeError:
        return {f"{key}_base64": base64.b64encode(value).decode()}


def _body(record: Record) -> dict[str, Any]:
    body = record.body
    match KINDS.get(record.kind):
        case "messages":
            return _FORMS.get(form_of(body), _messages)(body, record.count) | _receivers(record)
        case "group":
            return {"records": [as_json(member) for member in records_in(record)]}
        case "retained":
            return _messages(body, 1)
        case "acks":
            return {"acks": [{"cursor": c, "from": lo, "to": lo + n} for c, lo, n in log_kinds.ACK.iter_unpack(body)]}
        case "cursor":
            return _cursor(body)
        case "gone":
            return {"cursor": log_kinds.NUMBER.unpack(body)[0]}
        case "moved":
            return _moved(body)
        case "checkpoint":
            return {}
        case "complete":
            return {"checkpoint": log_kinds.POSITION.unpack(body)[0]}
        case "moves":
            return {"moves": [_move(move) for move in record_kinds.decode_moves(body)]}
        case "sessions away":
            return {"facts": [offline_sessions.decode(one).fields() for _, one in offline_sessions.split(body)]}
        case "deliveries":
            columns = DELIVERIES_ROW.iter_unpack(body)
            return {"deliveries": [{"cursor": c, "offset": at, "failed": failed} for c, at, failed in columns]}
        case None:
            return text_or_base64("body", body)
        case _:
            return {"fact": json.loads(body)}


def _messages(body: bytes, count: int) -> dict[str, Any]:
    messages = decode_uniform_messages(body, count)
    payloads = [text_or_base64("payload", payload) for payload in messages.payloads]
    if all("payload" in payload for payload in payloads):
        shown: dict[str, Any] = {"payloads": [payload["payload"] for payload in payloads]}
    else:
        shown = {"payloads_base64": [base64.b64encode(payload).decode() for payload in messages.payloads]}
    fields: dict[str, Any] = {"topic": messages.topic.decode(), "qos": messages.qos, **shown}
    if messages.retain:
        fields["retain"] = True
    if messages.properties:
        fields["properties"] = messages.properties.hex()
    if messages.publisher:
        fields["publisher"] = messages.publisher
    if messages.expires:
        fields["expires"] = messages.expires
    return fields


def _queue_messages(body: bytes, count: int) -> dict[str, Any]:
    messages = decode_queue_messages(body, count)
    columns = zip(messages.priorities, messages.flags, messages.expires, messages.deliver_at, strict=True)
    shown = []
    for index, (priority, flags, expires, deliver_at) in enumerate(columns):
        fields: dict[str, Any] = {"priority": priority, "flags": flags}
        if expires:
            fields["expires"] = expires
        if deliver_at:
            fields["deliver_at"] = deliver_at
        shown.append(fields | text_or_base64("message", messages.message(index)))
    return {"messages": shown}


def _mixed_messages(body: bytes, count: int) -> dict[str, Any]:
    messages = decode_mixed_messages(body, count)
    shown = []
    publishers = messages.publishers or [0] * count
    columns = zip(messages.topics, messages.payloads, messages.properties, publishers, strict=True)
    for topic, payload, properties, publisher in columns:
        fields: dict[str, Any] = {"topic": topic.decode(), **text_or_base64("payload", payload)}
        if properties:
            fields["properties"] = properties.hex()
        if publisher:
            fields["publisher"] = publisher
        shown.append(fields)
    return {"qos": messages.qos, "messages": shown}


_FORMS = {AMQP_MESSAGES: _queue_messages, MIXED_PACKETS: _mixed_messages}
"""How messages are shown that are not of the first form."""


def _receivers(record: Record) -> dict[str, Any]:
    shown = [
        {"cursor": cursor, "offset": offset} | ({"identifier": identifier} if identifier else {})
        for cursor, offset, identifier in zip(*receivers_of(record.body), strict=True)
    ]
    return {"receivers": shown} | ({"copy": True} if record.flags & log_kinds.COPY else {})


def _cursor(body: bytes) -> dict[str, Any]:
    cursor = decode_cursor(body)
    return {
        "cursor": cursor.number,
        "first": cursor.first,
        "next": cursor.next,
        "acknowledged": [list(pair) for pair in cursor.acknowledged],
        "chunks": [[c.first, c.next, c.start, c.end] for c in cursor.chunks],
    }


def _moved(body: bytes) -> dict[str, Any]:
    gone_from, gone_to, runs = log_kinds.decode_moved(body)
    return {"from": [gone_from, gone_to], "moved": [run._asdict() for run in runs]}


def _move(move: record_kinds.Move) -> dict[str, Any]:
    shown = move._asdict() | {"what": _MOVES.get(move.what, move.what)}
    return shown if move.cursor else {k: v for k, v in shown.items() if k not in {"cursor", "offset"}}

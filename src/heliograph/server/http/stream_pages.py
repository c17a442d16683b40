"""Streams over HTTP: what there is, and messages from an offset on, for people as JSON and for programs as records.

Everything is read from files, as any other process would do it, and in a thread, so that reading a stream does not hold
up messages.
"""

import asyncio
import base64
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote

from heliograph.broker import is_plain_name
from heliograph.log.streams import (
    BodyPiece,
    FilePart,
    OffsetAhead,
    OffsetGone,
    StreamMessage,
    StreamReader,
    UnknownStream,
    stream_names,
    unknown_stream,
)
from heliograph.mqtt import PacketType, decode_properties, encode_varint
from heliograph.server.http.server import Answer, refusal

MOST_BYTES = 4 << 20
"""About as much is in one answer at most; a single message may be larger."""
_SHOWN = 100
"""Messages in a JSON page unless the client says how many."""
_NUMBERS = ("offset", "time", "limit", "bytes")


class BadQuery(Exception):
    """The query string is invalid; the text says how."""


class Query(NamedTuple):
    """What a client asks of a partition."""

    offset: int | None = None
    time: int | None = None
    limit: int | None = None
    bytes: int | None = None
    format: str = "json"


class StreamPages:
    """Answers for /streams and all below it."""

    def __init__(self, directory: Path) -> None:
        """`directory` is that of the log."""
        self._directory = directory

    async def __call__(self, path: str, query: str) -> Answer:
        """An answer, made in a thread."""
        return await asyncio.to_thread(self.answer, path, query)

    def answer(self, path: str, query: str) -> Answer:
        """The answer to a request. Reads files, so call it in a thread."""
        words = [unquote(word) for word in path.rstrip("/").split("/")[2:]]
        try:
            if not words:
                return _json([self._stream(name) for name in stream_names(self._directory)])
            if len(words) == 1:
                return _json(self._stream(words[0]))
            if len(words) == 2 and words[1].isascii() and words[1].isdigit():
                return self._partition(words[0], int(words[1]), _query(query))
            return refusal(HTTPStatus.NOT_FOUND, "expected /streams, /streams/NAME or /streams/NAME/PARTITION")
        except BadQuery as why:
            return refusal(HTTPStatus.BAD_REQUEST, str(why))
        except UnknownStream as why:
            return refusal(HTTPStatus.NOT_FOUND, str(why))
        except OffsetGone as why:
            return refusal(HTTPStatus.GONE, str(why), offset=why.offset, earliest=why.earliest)
        except OffsetAhead as why:
            return refusal(HTTPStatus.BAD_REQUEST, str(why), offset=why.offset, latest=why.latest)

    def _reader(self, name: str) -> StreamReader:
        if not is_plain_name(name):  # a name from outside must not become a path
            raise unknown_stream(self._directory, name)
        return StreamReader(self._directory, name)

    def _stream(self, name: str) -> dict[str, Any]:
        with self._reader(name) as reader:
            return {
                **reader.describe(),
                "directory": str(self._directory.absolute()),
                "partitions": [
                    {"earliest": reader.earliest(p), "latest": reader.latest(p), "bytes": reader.size(p)}
                    for p in range(reader.partitions)
                ],
            }

    def _partition(self, name: str, partition: int, query: Query) -> Answer:
        with self._reader(name) as reader:
            offset = query.offset
            if offset is None:
                offset = reader.earliest(partition)
                if query.time is not None:
                    offset = reader.offset_at(partition, query.time)
            if query.format == "records":
                return _records(reader, partition, offset, query)
            return _messages(reader, partition, offset, query)


def _query(text: str) -> Query:
    found: dict[str, Any] = {}
    for key, value in parse_qsl(text, keep_blank_values=True):
        if key in _NUMBERS:
            if not (value.isascii() and value.isdigit() and len(value) < 20):
                raise BadQuery(f"{key}: expected a whole number, found {value!r}")
            found[key] = int(value)
        elif key == "format" and value in {"json", "records"}:
            found[key] = value
        else:
            raise BadQuery(f"expected {', '.join(_NUMBERS)} or format (json, records), found {key}={value}")
    if "offset" in found and "time" in found:
        raise BadQuery("expected offset or time, found both")
    if found.get("limit") == 0:
        raise BadQuery("limit: expected at least 1, found 0")
    return Query(**found)


def _records(reader: StreamReader, partition: int, offset: int, query: Query) -> Answer:
    """Records as they are in the files. The reader verifies their checksums, so they are not verified here."""
    size = MOST_BYTES if query.bytes is None else min(query.bytes, MOST_BYTES)
    end = None if query.limit is None else offset + query.limit
    body: list[BodyPiece] = []
    next_, found, seen = offset, 0, 0
    with ExitStack() as files:
        for passage in reader.raw_records(partition, offset, end, size):
            body += _owned(passage.pieces, files)
            next_, found, seen = passage.next, found + sum(map(len, passage.pieces)), seen + passage.seen
            # Between them may be much of others, which takes time, too.
            if found >= size or seen >= 2 * size:
                break
        files.pop_all()  # they are the answer's now
    headers = (
        ("Heliograph-Offset", str(offset)),
        ("Heliograph-Next-Offset", str(next_)),
        ("Heliograph-Latest-Offset", str(reader.latest(partition))),
        ("Heliograph-Cursor", str(reader.cursor(partition))),
    )
    return Answer(HTTPStatus.OK, "application/octet-stream", body, headers)


def _owned(pieces: Sequence[BodyPiece], files: ExitStack) -> Iterator[BodyPiece]:
    """The same, with a file that stays open until the answer is sent: the reader will have gone on or be closed."""
    descriptor = -1
    for piece in pieces:
        if isinstance(piece, FilePart):
            if descriptor < 0:
                descriptor = os.dup(piece.descriptor)
                files.callback(os.close, descriptor)
            yield replace(piece, descriptor=descriptor)
        else:
            yield piece


def _messages(reader: StreamReader, partition: int, offset: int, query: Query) -> Answer:
    shown: list[dict[str, Any]] = []
    size = 0
    limit = MOST_BYTES if query.bytes is None else min(query.bytes, MOST_BYTES)
    for message in reader.messages(partition, offset, _SHOWN if query.limit is None else query.limit):
        fields = stream_message_json(message)
        size += len(json.dumps(fields))
        if shown and size > limit:
            break
        shown.append(fields)
    return _json(
        {
            "stream": reader.name,
            "partition": partition,
            "earliest": reader.earliest(partition),
            "latest": reader.latest(partition),
            "next": shown[-1]["offset"] + 1 if shown else offset,
            "messages": shown,
        }
    )


def stream_message_json(message: StreamMessage) -> dict[str, Any]:
    """A message as a JSON object."""
    fields: dict[str, Any] = message._asdict()
    fields |= _with_text("payload", fields.pop("payload"))
    raw = encode_varint(len(message.properties)) + message.properties
    fields["properties"] = {}
    known: Mapping[str, Any] = decode_properties(raw, 0, len(raw), PacketType.PUBLISH)[0]
    for key, value in known.items():
        fields["properties"].update(_with_text(key, value) if isinstance(value, bytes) else {key: value})
    return fields


def _with_text(key: str, value: bytes) -> dict[str, str]:
    """Bytes for JSON: as text if they are UTF-8, else encoded."""
    try:
        return {key: value.decode()}
    except UnicodeDecodeError:
        return {f"{key}_base64": base64.b64encode(value).decode()}


def _json(value: Any) -> Answer:
    return Answer(HTTPStatus.OK, "application/json", json.dumps(value, indent=2).encode() + b"\n")

"""MQMD: the header that every message has. A part of this domain is read from the envelope, not from bytes.

Its bytes (324 in version 1, 364 in version 2) matter only to files and to ASBITSTREAM.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Any

from heliograph.flow.errors import CANNOT_WRITE, FormatProblem
from heliograph.flow.formats.charsets import charset
from heliograph.flow.formats.envelope import Envelope
from heliograph.flow.formats.message_properties import fill, value_of
from heliograph.flow.language.values.times import GmtTime
from heliograph.flow.tree import Part, Text

SIZES = {1: 324, 2: 364}
STRUCTURE = "MD  "
REVERSED = 2


@dataclass(frozen=True, slots=True)
class HeaderField:
    """A field of the header."""

    name: str
    code: str
    """i: integer; Nc: text; Ns: bytes; D: PutDate; T: PutTime."""
    default: Any


FIELDS = (
    HeaderField("Version", "i", 2),
    HeaderField("Report", "i", 0),
    HeaderField("MsgType", "i", 8),
    HeaderField("Expiry", "i", -1),
    HeaderField("Feedback", "i", 0),
    HeaderField("Encoding", "i", 546),
    HeaderField("CodedCharSetId", "i", 1208),
    HeaderField("Format", "8c", ""),
    HeaderField("Priority", "i", 0),
    HeaderField("Persistence", "i", 0),
    HeaderField("MsgId", "24s", b""),
    HeaderField("CorrelId", "24s", b""),
    HeaderField("BackoutCount", "i", 0),
    HeaderField("ReplyToQ", "48c", ""),
    HeaderField("ReplyToQMgr", "48c", ""),
    HeaderField("UserIdentifier", "12c", ""),
    HeaderField("AccountingToken", "32s", b""),
    HeaderField("ApplIdentityData", "32c", ""),
    HeaderField("PutApplType", "i", 0),
    HeaderField("PutApplName", "28c", ""),
    HeaderField("PutDate", "D", None),
    HeaderField("PutTime", "T", None),
    HeaderField("ApplOriginData", "4c", ""),
)
SECOND_VERSION = (
    HeaderField("GroupId", "24s", b""),
    HeaderField("MsgSeqNumber", "i", 1),
    HeaderField("Offset", "i", 0),
    HeaderField("MsgFlags", "i", 0),
    HeaderField("OriginalLength", "i", -1),
)
ALL_FIELDS = FIELDS + SECOND_VERSION


def _codes(fields: tuple[HeaderField, ...]) -> str:
    return "4s" + "".join("8s" if field.code in "DT" else field.code.replace("c", "s") for field in fields)


CODES = {1: _codes(FIELDS), 2: _codes(ALL_FIELDS)}


class Mqmd:
    """The format of domain MQMD."""

    domain = "MQMD"

    def read(self, part: Part, data: Any) -> Iterator[None]:
        """The fields, from an envelope or from bytes."""
        if isinstance(data, Envelope):
            values = _from_envelope(data)
            fill(part, ((field.name, values.get(field.name, field.default)) for field in ALL_FIELDS))
        else:
            fill(part, read_mqmd(data, part.text))
        yield

    def write(self, part: Part) -> bytes:
        """The 324 bytes of version 1, or the 364 of version 2."""
        return write_mqmd({child.name: child.value for child in part.children}, part.text)


MQMD = Mqmd()


def _from_envelope(envelope: Envelope) -> dict[str, Any]:
    created = envelope.moment()
    return {
        "MsgType": envelope.message_type,
        "Expiry": envelope.expiry,
        "Encoding": envelope.encoding,
        "CodedCharSetId": envelope.ccsid,
        "Format": envelope.format,
        "Priority": envelope.priority,
        "Persistence": int(envelope.persistent),
        "MsgId": envelope.message_id,
        "CorrelId": envelope.correlation_id,
        "BackoutCount": envelope.backout_count,
        "ReplyToQ": envelope.reply_to,
        "UserIdentifier": envelope.user,
        "GroupId": envelope.group_id,
        "MsgSeqNumber": envelope.sequence,
        **envelope.mqmd,
        "PutDate": created.date() if created is not None else None,
        "PutTime": GmtTime(created.time()) if created is not None else None,
    }


ENVELOPE_FIELDS = {
    "MsgType": "message_type",
    "Expiry": "expiry",
    "Priority": "priority",
    "MsgId": "message_id",
    "CorrelId": "correlation_id",
    "BackoutCount": "backout_count",
    "ReplyToQ": "reply_to",
    "UserIdentifier": "user",
    "GroupId": "group_id",
    "MsgSeqNumber": "sequence",
}
"""Fields of MQMD that an envelope has under another name, and with the same value."""
CHAINED = ("Encoding", "CodedCharSetId", "Format")
"""Fields that say what follows the header."""
CARRIED = {
    field.name: field
    for field in ALL_FIELDS
    if field.name not in (*ENVELOPE_FIELDS, *CHAINED, "Persistence", "PutDate", "PutTime")
}
"""Fields that an envelope carries as they are."""


def to_envelope(part: Part, envelope: Envelope) -> None:
    """Give an envelope what a changed MQMD says; character set, encoding and format are chained by the message."""
    carried: dict[str, Any] = {}
    for child in part.children:
        attribute = ENVELOPE_FIELDS.get(child.name)
        if child.name in CARRIED and child.value is not None:
            carried[child.name] = _as(type(CARRIED[child.name].default), child.name, child.value)
        if attribute is not None and child.value is not None:
            setattr(envelope, attribute, _as(type(getattr(envelope, attribute)), child.name, child.value))
    envelope.mqmd = {name: value for name, value in carried.items() if not _is_usual(CARRIED[name], value)}
    persistence = value_of(part, "Persistence")
    if persistence is not None:
        envelope.persistent = _as(int, "Persistence", persistence) == 1
    put_date, put_time = value_of(part, "PutDate"), value_of(part, "PutTime")
    if isinstance(put_date, date) and isinstance(put_time, GmtTime):
        envelope.created = datetime.combine(put_date, put_time.time, UTC).timestamp()


def _is_usual(field: HeaderField, value: Any) -> bool:
    if isinstance(value, bytes):
        return not value.strip(b"\0")
    return bool(value == field.default)


def _as(kind: type, name: str, value: Any) -> Any:
    """A value of a header field in the type that it must have."""
    if kind is str and isinstance(value, str):
        return value.rstrip(" ")
    if isinstance(value, kind):
        return value
    try:
        if kind is int:
            return int(value)
    except (TypeError, ValueError):
        pass
    words = {int: "an integer", bytes: "a BLOB", str: "text"}
    raise FormatProblem("MQMD", words[kind], repr(value), path=name, number=CANNOT_WRITE)


# Bytes


def read_mqmd(data: bytes, text: Text) -> list[tuple[str, Any]]:
    """The fields in the bytes of a header, version 1 or 2; more bytes may follow."""
    order = "<" if text.encoding & 0xF == REVERSED else ">"
    kind = charset(text.ccsid)
    if len(data) < SIZES[1]:
        raise FormatProblem("MQMD", f"{SIZES[1]} bytes", f"{len(data)} bytes", offset=0)
    if data[:4] != kind.encode(STRUCTURE):
        raise FormatProblem("MQMD", f"the letters {STRUCTURE!r}", repr(data[:4]), offset=0)
    (version,) = struct.unpack_from(order + "i", data, 4)
    if version not in SIZES or len(data) < SIZES[version]:
        raise FormatProblem("MQMD", "version 1, or 2 with 364 bytes", f"{version} in {len(data)} bytes", offset=4)
    values = struct.unpack_from(order + CODES[version], data)
    result = []
    for field, value in zip(ALL_FIELDS, values[1:], strict=False):
        try:
            result.append((field.name, _read_value(field, value, kind.decode)))
        except UnicodeError:
            raise FormatProblem("MQMD", f"text in {kind.name}", repr(value), path=field.name) from None
    return result


def _read_value(field: HeaderField, value: Any, decode: Any) -> Any:
    if field.code.endswith("c"):
        return decode(value).rstrip(" \0")
    if field.code in "DT":
        return _moment(field.code, decode(value).strip(" \0"))
    return value


def _moment(code: str, text: str) -> Any:
    """PutDate is YYYYMMDD, PutTime is HHMMSSTH, with hundredths of a second; blanks if not known."""
    if not text:
        return None
    try:
        if code == "D":
            return datetime.strptime(text, "%Y%m%d").date()
        return GmtTime(time(int(text[:2]), int(text[2:4]), int(text[4:6]), int(text[6:8]) * 10_000))
    except ValueError:
        expected = "YYYYMMDD" if code == "D" else "HHMMSSTH"
        raise FormatProblem("MQMD", expected, repr(text), path="PutDate" if code == "D" else "PutTime") from None


def write_mqmd(values: dict[str, Any], text: Text) -> bytes:
    """The header with these fields; those that are missing have their defaults."""
    order = "<" if text.encoding & 0xF == REVERSED else ">"
    kind = charset(text.ccsid)
    version = _as(int, "Version", values.get("Version") or 2)
    if version not in SIZES:
        raise FormatProblem("MQMD", "version 1 or 2", str(version), path="Version", number=CANNOT_WRITE)
    fields = FIELDS if version == 1 else ALL_FIELDS
    written = [kind.encode(STRUCTURE)]
    for field in fields:
        value = values.get(field.name)
        try:
            written.append(_write_value(field, field.default if value is None else value, kind.encode))
        except UnicodeError:
            expected = f"text that {kind.name} has characters for"
            raise FormatProblem("MQMD", expected, repr(value), path=field.name, number=CANNOT_WRITE) from None
    try:
        return struct.pack(order + CODES[version], *written)
    except struct.error as error:
        raise FormatProblem("MQMD", "integers of 4 bytes", str(error), number=CANNOT_WRITE) from None


def _write_value(field: HeaderField, value: Any, encode: Any) -> Any:
    if field.code == "i":
        return _as(int, field.name, value)
    if field.code == "D":
        return encode(value.strftime("%Y%m%d") if isinstance(value, date) else " " * 8)
    if field.code == "T":
        moment = value.time if isinstance(value, GmtTime) else value
        known = isinstance(moment, time)
        return encode(f"{moment:%H%M%S}{moment.microsecond // 10_000:02}" if known else " " * 8)
    size = int(field.code[:-1])
    data = encode(_as(str, field.name, value).ljust(size)) if field.code[-1] == "c" else _as(bytes, field.name, value)
    if len(data) > size:
        raise FormatProblem("MQMD", f"{size} bytes", repr(value), path=field.name, number=CANNOT_WRITE)
    return data

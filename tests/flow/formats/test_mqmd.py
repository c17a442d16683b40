"""MQMD, from bytes and from the envelope."""

from datetime import date, time
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.flow.errors import FormatProblem
from heliograph.flow.formats.envelope import Envelope
from heliograph.flow.formats.message_properties import PROPERTIES
from heliograph.flow.formats.mqmd import ALL_FIELDS, MQMD, read_mqmd, to_envelope, write_mqmd
from heliograph.flow.language.values.times import GmtTime
from heliograph.flow.tree import Element, Part, Text

BIG, LITTLE = Text(819, 273), Text(1208, 546)
EBCDIC = Text(500, 785)


@pytest.mark.parametrize(("version", "size"), [(1, 324), (2, 364)])
def test_each_version_has_its_size(version: int, size: int) -> None:
    assert len(write_mqmd({"Version": version}, BIG)) == size


@pytest.mark.parametrize(
    ("name", "value", "offset", "data"),
    [
        ("Version", 2, 4, b"\0\0\0\2"),
        ("MsgType", 1, 12, b"\0\0\0\1"),
        ("Expiry", -1, 16, b"\xff\xff\xff\xff"),
        ("Encoding", 273, 24, b"\0\0\1\x11"),
        ("Format", "MQSTR", 32, b"MQSTR   "),
        ("MsgId", b"id", 48, b"id" + bytes(22)),
        ("CorrelId", b"id", 72, b"id" + bytes(22)),
        ("ReplyToQ", "REPLIES", 100, b"REPLIES".ljust(48)),
        ("UserIdentifier", "me", 196, b"me".ljust(12)),
        ("PutDate", date(2004, 9, 30), 304, b"20040930"),
        ("PutTime", GmtTime(time(1, 2, 3, 450_000)), 312, b"01020345"),
        ("GroupId", b"g", 324, b"g" + bytes(23)),
        ("OriginalLength", -1, 360, b"\xff\xff\xff\xff"),
    ],
)
def test_each_field_is_at_its_offset(name: str, value: Any, offset: int, data: bytes) -> None:
    header = write_mqmd({name: value}, BIG)
    assert header[offset : offset + len(data)] == data
    found = dict(read_mqmd(header, BIG))[name]
    assert found.rstrip(b"\0") == value if isinstance(value, bytes) else found == value


@settings(max_examples=40, deadline=None)
@given(
    st.fixed_dictionaries(
        {
            "Version": st.sampled_from([1, 2]),
            "Report": st.integers(-(1 << 31), (1 << 31) - 1),
            "Format": st.sampled_from(["", "MQSTR", "MQHRF2"]),
            "MsgId": st.binary(min_size=24, max_size=24),
            "ReplyToQ": st.text(st.sampled_from("ABC.9"), max_size=48),
        }
    ),
    st.sampled_from([BIG, LITTLE, EBCDIC]),
)
def test_values_come_back_from_the_bytes(values: dict[str, Any], text: Text) -> None:
    data = write_mqmd(values, text)
    found = dict(read_mqmd(data, text))
    assert {name: found[name] for name in values} == values
    assert write_mqmd(found, text) == data


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"MD  ", "expected 324 bytes, found 4 bytes"),
        (b"XX  " + bytes(320), "expected the letters 'MD  '"),
        (b"MD  \0\0\0\7" + bytes(320), "expected version 1, or 2"),
    ],
)
def test_bytes_that_are_no_header_are_refused(data: bytes, said: str) -> None:
    with pytest.raises(FormatProblem, match=said):
        read_mqmd(data, BIG)


def test_text_that_its_character_set_does_not_have_is_refused_with_its_field() -> None:
    data = bytearray(write_mqmd({}, LITTLE))
    data[100:102] = b"\xff\xfe"
    with pytest.raises(FormatProblem, match=r"field ReplyToQ: expected text in utf-8"):
        read_mqmd(bytes(data), LITTLE)
    with pytest.raises(FormatProblem, match="expected the letters 'MD  '"):
        read_mqmd(b"\xff\xfe\xfd\xfc" + data[4:], LITTLE)


def test_a_value_that_does_not_fit_is_refused() -> None:
    with pytest.raises(FormatProblem, match=r"field MsgId: expected 24 bytes"):
        write_mqmd({"MsgId": bytes(25)}, BIG)
    with pytest.raises(FormatProblem, match=r"field Priority: expected an integer, found 'high'"):
        write_mqmd({"Priority": "high"}, BIG)


def test_text_that_its_character_set_does_not_have_is_refused() -> None:
    data = bytearray(write_mqmd({"ReplyToQ": "REPLIES"}, LITTLE))
    data[100] = 0xFF
    with pytest.raises(FormatProblem, match=r"field ReplyToQ: expected text in utf-8, found b'\\xffEPLIES"):
        read_mqmd(bytes(data), LITTLE)
    data[0] = 0xFF
    with pytest.raises(FormatProblem, match="expected the letters 'MD  '"):
        read_mqmd(bytes(data), LITTLE)
    with pytest.raises(
        FormatProblem, match=r"field ReplyToQ: expected text that iso8859-1 has characters for, found '€'"
    ):
        write_mqmd({"ReplyToQ": "€"}, BIG)


def test_a_part_is_read_from_the_envelope_and_has_bytes_if_somebody_wants_them() -> None:
    envelope: Any = Envelope(b"", "MQSTR", message_id=b"m", reply_to="R", persistent=True, created=1096506123.5)
    part = Part(MQMD, envelope)
    assert part.first("MsgId") is not None
    values = {child.name: child.value for child in part.children}
    assert list(values) == [field.name for field in ALL_FIELDS]
    assert (values["Format"], values["Persistence"], values["PutDate"]) == ("MQSTR", 1, date(2004, 9, 30))
    assert len(part.bytes()) == 364


@pytest.mark.parametrize("created", [9.2e15, -9.2e15, float("inf")])
def test_a_time_that_no_calendar_has_is_not_known(created: float) -> None:
    envelope: Any = Envelope(b"", created=created)
    header = {child.name: child.value for child in Part(MQMD, envelope).children}
    assert (header["PutDate"], header["PutTime"]) == (None, None)
    assert {child.name: child.value for child in Part(PROPERTIES, envelope).children}["CreationTime"] is None


def test_a_changed_part_goes_to_the_envelope() -> None:
    came: Any = Envelope(b"", message_id=b"m", created=1096506123.5)
    part = Part(MQMD, came)
    part.ensure("CorrelId").set_value(b"m")
    part.ensure("Persistence").set_value(1)
    part.ensure("Priority").set_value("7")
    part.append(Element("ReplyToQ2", "unknown"))
    envelope = Envelope(b"")
    to_envelope(part, envelope)
    assert (envelope.correlation_id, envelope.persistent, envelope.priority) == (b"m", True, 7)
    assert (envelope.message_id, envelope.created) == (b"m", 1096506123.5)


EVERY_FIELD: dict[str, Any] = {
    "Report": 0x0700,
    "MsgType": 4,
    "Expiry": 100,
    "Feedback": 275,
    "Priority": 7,
    "Persistence": 1,
    "MsgId": b"m" * 24,
    "CorrelId": b"c" * 24,
    "BackoutCount": 2,
    "ReplyToQ": "REPLIES",
    "ReplyToQMgr": "QM2",
    "UserIdentifier": "me",
    "AccountingToken": b"t" * 32,
    "ApplIdentityData": "identity",
    "PutApplType": 28,
    "PutApplName": "some/program",
    "PutDate": date(2004, 9, 30),
    "PutTime": GmtTime(time(1, 2, 3, 450_000)),
    "ApplOriginData": "orig",
    "GroupId": b"g" * 24,
    "MsgSeqNumber": 3,
    "Offset": 12,
    "MsgFlags": 8,
    "OriginalLength": 99,
}


def header_from(envelope: Envelope) -> dict[str, Any]:
    part = Part(MQMD, cast("bytes", envelope))
    return {child.name: child.value for child in part.children}


@pytest.mark.parametrize("name", EVERY_FIELD)
def test_every_field_survives_from_the_tree_to_the_envelope_and_back(name: str) -> None:
    envelope = Envelope(b"")
    part = Part(MQMD, cast("bytes", envelope))
    for needed in {name, "PutDate", "PutTime"}:
        part.ensure(needed).set_value(EVERY_FIELD[needed])
    to_envelope(part, envelope)
    assert header_from(envelope)[name] == EVERY_FIELD[name]


def test_every_field_survives_from_bytes_to_the_envelope_and_back() -> None:
    data = write_mqmd(EVERY_FIELD, BIG)
    envelope = Envelope(b"", encoding=BIG.encoding, ccsid=BIG.ccsid)
    to_envelope(Part(MQMD, data, BIG), envelope)
    assert write_mqmd(header_from(envelope), BIG) == write_mqmd(
        {**EVERY_FIELD, "Encoding": BIG.encoding, "CodedCharSetId": BIG.ccsid}, BIG
    )


def test_an_envelope_carries_only_fields_that_are_not_as_usual() -> None:
    envelope = Envelope(b"")
    to_envelope(Part(MQMD, write_mqmd({"Feedback": 275}, BIG), BIG), envelope)
    assert envelope.mqmd == {"Feedback": 275}

"""Messages as trees, and back: what is chosen for the body, and what headers say when it is written."""

from dataclasses import replace

import pytest

from heliograph.errors import Problem
from heliograph.flow.formats import Catalogue
from heliograph.flow.formats.envelope import Envelope
from heliograph.flow.formats.messages import MessageSettings, parse_message, write_message
from heliograph.flow.formats.model import Models
from heliograph.flow.formats.mqrfh2 import MQRFH2, read_head
from heliograph.flow.tree import Element, Part, Text

MODEL = """
formats:
  CWF1: {kind: CWF}
  CWF2: {kind: CWF, encoding: 500, byteOrder: bigEndian}
messages:
  M:
    sequence:
      - {name: N, type: integer, CWF1: {length: 2}, CWF2: {length: 4}}
      - {name: T, type: string, physical: {length: 2}}
"""
CATALOGUE = Catalogue(Models({"S.model.yaml": MODEL}))
XML = MessageSettings("XML")
MRM = MessageSettings("MRM", "S", "M", "CWF1")


def rfh2(text: Text, form: str, mcd: dict[str, str] | None = None, ccsid: int = 1208) -> bytes:
    part = Part(MQRFH2, None, text)
    for name, value in (("Format", form), ("Encoding", 273), ("CodedCharSetId", ccsid)):
        part.append(Element(name, value))
    if mcd is not None:
        folder = part.append(Element("mcd"))
        for name, each in mcd.items():
            folder.append(Element(name, each))
    return part.bytes()


def part_named(root: Element, name: str) -> Part:
    part = root.first(name)
    assert isinstance(part, Part)
    return part


def value(root: Element, part: str, name: str) -> object:
    found = part_named(root, part).first(name)
    return found.value if found is not None else None


def names(root: Element) -> list[str]:
    return [child.name for child in root.children]


def test_a_message_has_properties_mqmd_and_a_body() -> None:
    assert names(parse_message(Envelope(b"<a/>"), CATALOGUE, XML)) == ["Properties", "MQMD", "XML"]
    assert names(parse_message(Envelope(b"x"), CATALOGUE, MessageSettings())) == ["Properties", "MQMD", "BLOB"]


def test_nothing_is_parsed_that_nobody_looks_at() -> None:
    root = parse_message(Envelope(b"<not XML", properties={"a": 1}), CATALOGUE, XML)
    assert all(child.pending is child for child in root.children)


def test_a_message_that_nobody_changed_leaves_in_its_envelope() -> None:
    envelope = Envelope(b"<not XML", properties={"a": 1})
    root = parse_message(envelope, CATALOGUE, XML)
    assert value(root, "Properties", "Priority") == 0
    assert write_message(root, CATALOGUE) is envelope
    assert write_message(root.copy(), CATALOGUE) is envelope


def test_application_properties_are_a_part() -> None:
    root = parse_message(Envelope(b"", properties={"colour": "red", "size": 3}), CATALOGUE, MessageSettings())
    assert value(root, "UserProperties", "size") == 3
    part_named(root, "UserProperties").ensure("size").set_value(4)
    assert write_message(root, CATALOGUE).properties == {"colour": "red", "size": 4}
    part_named(root, "UserProperties").detach()
    assert write_message(root, CATALOGUE).properties == {}


def test_properties_say_what_the_envelope_says() -> None:
    envelope = Envelope(b"", ccsid=819, encoding=273, persistent=True, priority=5, expiry=100, topic="a/b")
    root = parse_message(envelope, CATALOGUE, MessageSettings("MRM", "S", "M", "CWF1", transactional=True))
    found = {child.name: child.value for child in part_named(root, "Properties").children}
    assert (found["MessageSet"], found["MessageType"], found["MessageFormat"]) == ("S", "M", "CWF1")
    assert (found["CodedCharSetId"], found["Encoding"], found["Topic"]) == (819, 273, "a/b")
    assert (found["Persistence"], found["Priority"], found["ExpirationTime"]) == (True, 5, 100)
    assert found["Transactional"] is True


def test_changed_properties_and_mqmd_go_to_the_envelope() -> None:
    envelope = Envelope(b"x", message_id=b"m", correlation_id=b"c", priority=1, content_type="text/plain")
    root = parse_message(envelope, CATALOGUE, MessageSettings())
    part_named(root, "Properties").ensure("Topic").set_value("a/b")
    part_named(root, "Properties").ensure("Persistence").set_value(True)
    assert write_message(root, CATALOGUE) == replace(envelope, topic="a/b", persistent=True)
    part_named(root, "MQMD").ensure("CorrelId").set_value(b"m")
    part_named(root, "MQMD").ensure("Persistence").set_value(0)
    assert write_message(root, CATALOGUE) == replace(envelope, topic="a/b", correlation_id=b"m")


def test_another_body_keeps_all_that_the_envelope_says() -> None:
    envelope = Envelope(b"<a/>", "MQSTR", message_id=b"m", group_id=b"g", sequence=3, mqmd={"Report": 5})
    root = parse_message(envelope, CATALOGUE, XML)
    part_named(root, "XML").ensure("a").set_value("x")
    assert write_message(root, CATALOGUE) == replace(envelope, body=b"<a>x</a>")
    part_named(root, "Properties").ensure("Topic").set_value("t")
    assert write_message(root, CATALOGUE) == replace(envelope, body=b"<a>x</a>", topic="t")


def test_a_header_chooses_what_follows() -> None:
    text = Text(1208, 273)
    mcd = {"Msd": "mrm", "Set": "S", "Type": "M", "Fmt": "CWF1"}
    body = rfh2(text, "MQHRF2") + rfh2(text, "", mcd, 500) + b"\0\7\x81\x82"
    envelope = Envelope(body, "MQHRF2", 1208, 273)
    root = parse_message(envelope, CATALOGUE, XML)
    assert names(root) == ["Properties", "MQMD", "MQRFH2", "MQRFH2", "MRM"]
    assert (value(root, "MRM", "N"), value(root, "MRM", "T")) == (7, "ab")
    assert value(root, "Properties", "CodedCharSetId") == 500
    assert write_message(root, CATALOGUE) is envelope


def test_headers_say_the_character_set_that_the_body_has_now() -> None:
    text = Text(1208, 273)
    mcd = {"Msd": "mrm", "Set": "S", "Type": "M", "Fmt": "CWF1"}
    envelope = Envelope(rfh2(text, "", mcd) + b"\0\7ab", "MQHRF2", 1208, 273)
    root = parse_message(envelope, CATALOGUE, XML)
    part_named(root, "Properties").ensure("CodedCharSetId").set_value(500)
    part_named(root, "Properties").ensure("Encoding").set_value(546)
    written = write_message(root, CATALOGUE)
    head = read_head(written.body, text)
    assert (head.ccsid, head.encoding) == (500, 546)
    assert written.body[head.length :] == b"\7\0\x81\x82"
    assert (written.format, written.ccsid, written.encoding) == ("MQHRF2", 1208, 273)


def test_without_its_header_a_body_is_named_by_mqmd() -> None:
    envelope = Envelope(rfh2(Text(1208, 273), "MQSTR", {"Msd": "xml"}, 819) + b"<a/>", "MQHRF2", 1208, 273)
    root = parse_message(envelope, CATALOGUE, MessageSettings())
    part_named(root, "MQRFH2").detach()
    written = write_message(root, CATALOGUE)
    assert (written.body, written.format, written.ccsid) == (b"<a/>", "MQSTR", 819)


@pytest.mark.parametrize("left_out", [(), ("Properties",)], ids=["all", "without Properties"])
@pytest.mark.parametrize("with_header", [False, True], ids=["plain", "behind a header"])
def test_with_a_new_body_everything_else_is_as_it_came(left_out: tuple[str, ...], *, with_header: bool) -> None:
    plain = Envelope(
        b"<a/>",
        "MQSTR",
        1208,
        273,
        b"m",
        b"c",
        "R",
        True,
        7,
        50,
        1,
        "me",
        1e9,
        2,
        "t",
        "x/y",
        {},
        b"g",
        3,
        {"Report": 5},
    )
    envelope = plain
    if with_header:
        envelope = replace(plain, format="MQHRF2", body=rfh2(Text(1208, 273), "MQSTR") + plain.body)
    root = parse_message(envelope, CATALOGUE, XML)
    for name in (*left_out, "MQRFH2"):
        if root.first(name) is not None:
            part_named(root, name).delete()
    part_named(root, "XML").ensure("a").set_value("new")
    assert write_message(root, CATALOGUE) == replace(plain, body=b"<a>new</a>")


def test_a_header_that_a_flow_puts_in_is_chained() -> None:
    root = parse_message(Envelope(b"<a/>", "MQSTR", 819, 273), CATALOGUE, XML)
    header = Part(MQRFH2, None, Text(1208, 273))
    header.append(Element("usr")).append(Element("a", "x"))
    root.insert(2, header)
    written = write_message(root, CATALOGUE)
    head = read_head(written.body, Text(1208, 273))
    assert (written.format, written.ccsid, written.encoding) == ("MQHRF2", 1208, 273)
    assert (head.ccsid, head.encoding, head.format) == (819, 273, "MQSTR")
    assert names(parse_message(written, CATALOGUE, XML)) == ["Properties", "MQMD", "MQRFH2", "XML"]


def test_one_physical_format_is_read_and_another_written() -> None:
    root = parse_message(Envelope(b"\7\0ab", "", 1208, 546), CATALOGUE, MRM)
    part_named(root, "Properties").ensure("MessageFormat").set_value("CWF2")
    assert write_message(root, CATALOGUE).body == b"\0\0\0\7\x81\x82"


def test_a_model_is_named_after_the_body_is_built() -> None:
    root = parse_message(Envelope(b"<a/>", "", 1208, 546), CATALOGUE, XML)
    part_named(root, "XML").detach()
    body = CATALOGUE.new_part("MRM")
    body.append(Element("N", 7))
    body.append(Element("T", "ab"))
    root.append(body)
    for name, each in (("MessageSet", "S"), ("MessageType", "M"), ("MessageFormat", "CWF1")):
        part_named(root, "Properties").ensure(name).set_value(each)
    assert write_message(root, CATALOGUE).body == b"\7\0ab"


def test_an_mcd_folder_says_what_the_body_is_now() -> None:
    envelope = Envelope(rfh2(Text(1208, 273), "MQSTR", {"Msd": "xml"}) + b"<a/>", "MQHRF2", 1208, 273)
    root = parse_message(envelope, CATALOGUE, MessageSettings())
    part_named(root, "XML").detach()
    body = CATALOGUE.new_part("BLOB")
    body.append(Element("BLOB", b"bytes"))
    root.append(body)
    again = parse_message(write_message(root, CATALOGUE), CATALOGUE, XML)
    assert names(again) == ["Properties", "MQMD", "MQRFH2", "BLOB"]


def test_bytes_of_a_blob_stay_when_the_character_set_is_said_to_be_another() -> None:
    root = parse_message(Envelope(b"\xc3\xa4", ccsid=1208), CATALOGUE, MessageSettings())
    part_named(root, "MQMD").ensure("CodedCharSetId").set_value(819)
    written = write_message(root, CATALOGUE)
    assert (written.body, written.ccsid) == (b"\xc3\xa4", 819)


def test_a_message_has_one_body_of_a_known_domain() -> None:
    root = parse_message(Envelope(b"x"), CATALOGUE, MessageSettings())
    root.append(CATALOGUE.new_part("XML"))
    with pytest.raises(Problem, match="one body; this one has BLOB, XML"):
        write_message(root, CATALOGUE)
    root.children[-1].detach()
    root.append(Element("Nonsense"))
    with pytest.raises(Problem, match="Nonsense is none"):
        write_message(root, CATALOGUE)


def test_a_message_without_mqmd_can_be_written() -> None:
    root = Element("Root")
    root.append(CATALOGUE.part_of("XML", b"<a/>", Text(819, 273)))
    written = write_message(root, CATALOGUE)
    assert (written.body, written.format, written.ccsid, written.encoding) == (b"<a/>", "MQSTR", 819, 273)

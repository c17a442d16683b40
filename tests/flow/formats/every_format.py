"""One small model for each way to write a message, and messages of it: for rules that hold for all formats."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any, NamedTuple

from hypothesis import strategies as st

from flow.formats.modelled import Modelled, build
from heliograph.flow.formats.catalogue import Catalogue
from heliograph.flow.formats.model import Models
from heliograph.flow.tree import Element, Part, Text
from heliograph.lab.flows.messages import mt543

CATALOGUE = Catalogue()

MEMBERS = """
          - {{name: Name, type: string{name}}}
          - {{name: Count, type: integer{count}}}
          - {{name: Price, type: decimal{price}}}
          - name: Line
            occurs: 0..*{line}
            sequence:
              - {{name: Key, type: string{key}}}
              - {{name: Value, type: string{value}}}
"""


def _model(form: str, message: str = "", **fields: str) -> Modelled:
    given = dict.fromkeys(("name", "count", "price", "line", "key", "value"), "") | fields
    given["line"] = given["line"].replace(", F:", "\n            F:")
    top = f"    F: {message}\n" if message else ""
    members = MEMBERS.format(**given).replace("\n    ", "\n")
    return Modelled(f"formats:\n  F: {form}\nmessages:\n  M:\n{top}    sequence:{members}")


CWF = _model(
    "{kind: CWF, byteOrder: bigEndian}",
    name=", F: {length: 12}",
    count=", F: {length: 4}",
    price=", F: {length: 6, binaryNumberRep: packed, virtualDecimalPoint: 2}",
    line=", F: {occursCountKind: endOfParent}",
    key=", F: {length: 4}",
    value=", F: {lengthKind: prefixed, prefixLength: 2}",
)
XML = _model("{kind: XML}")
TDS = _model(
    '{kind: TDS, quoteCharacter: "`", reservedCharacters: "<CR><LF>"}',
    "{dataElementSeparation: allElementsDelimited, separator: ';'}",
    line=", F: {initiator: '<LT>', terminator: '>', separator: ',', dataElementSeparation: allElementsDelimited}",
)
TAGGED = _model(
    "{kind: TDS}",
    "{dataElementSeparation: taggedEncodedLength, lengthOfTag: 2, lengthOfEncodedLength: 3}",
    name=", F: {tag: NA}",
    count=", F: {tag: CO}",
    price=", F: {tag: PR}",
    line=", F: {tag: LI, dataElementSeparation: taggedEncodedLength, lengthOfTag: 1, lengthOfEncodedLength: 2}",
    key=", F: {tag: K}",
    value=", F: {tag: V}",
)
CSV = Modelled("""
formats:
  F: {kind: CSV}
messages:
  M:
    sequence:
      - name: Line
        occurs: 0..*
        sequence: [{name: Key, type: string}, {name: Count, type: integer}, {name: Value, type: string}]
""")
SWIFT = Models({"S.model.yaml": "import: [{file: MT543.mt}]\n"})
SWIFT_TEXT = Text(message_set="S", message_type="MT543")

words = st.text("abcXYZ019 .-", min_size=1, max_size=10).map(str.strip).filter(bool)
tricky = st.text("ab \"'<>&;,{}[]\\:\n=é`", max_size=12)
counts = st.integers(-(2**31), 2**31 - 1)
prices = st.decimals(-99_999_999, 99_999_999, places=2)


def _members(texts: st.SearchStrategy[str], keys: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    line = st.tuples(keys, texts).map(lambda pair: ("Line", [("Key", pair[0]), ("Value", pair[1])]))
    return st.tuples(words, counts, prices, st.lists(line, max_size=5)).map(
        lambda made: [("Name", made[0]), ("Count", made[1]), ("Price", made[2]), *made[3]]
    )


def _modelled(modelled: Modelled) -> Callable[[bytes], Part]:
    return modelled.read


def _unmodelled(domain: str) -> Callable[[bytes], Part]:
    return lambda data: CATALOGUE.part_of(domain, data)


def _written(domain: str, top: str, values: Any) -> bytes:
    part = CATALOGUE.new_part(domain)
    build(part.append(Element(top)), values)
    return part.bytes()


def _csv(rows: list[tuple[str, int, str]]) -> bytes:
    return CSV.write([("Line", [("Key", key), ("Count", count), ("Value", value)]) for key, count, value in rows])


class Way(NamedTuple):
    """A format with its messages."""

    part: Callable[[bytes], Part]
    messages: st.SearchStrategy[bytes]
    broken: tuple[bytes, tuple[str, ...], Any]
    """A message whose end is broken, the path of a field at its beginning, and the value of that."""


xml_values = _members(tricky.filter(lambda text: "\r" not in text), words)
key4 = st.text("abcd", min_size=4, max_size=4)
FIRST = [("Name", "first"), ("Count", 7), ("Price", Decimal("1.25"))]
LINES = [("Line", [("Key", "abcd"), ("Value", "x")])] * 40

WAYS: dict[str, Way] = {
    domain: Way(
        _unmodelled(domain),
        xml_values.map(lambda values, domain=domain: _written(domain, "M", values)),
        (b"<M><Name>first</Name>" + b"<Line><Key>abcd</Key></Line>" * 400 + b"</X>", ("M", "Name"), "first"),
    )
    for domain in ("XML", "XMLNS", "XMLNSC")
} | {
    "JSON": Way(
        _unmodelled("JSON"),
        _members(tricky, words).map(lambda values: _written("JSON", "Data", values)),
        (b'{"Name": "first", "Count": 7, "Line": {"Key": "abcd"}, "Value": ]', ("Data", "Name"), "first"),
    ),
    "CWF": Way(
        _modelled(CWF),
        _members(words, key4).map(CWF.write),
        (CWF.write(FIRST + LINES)[:-1], ("Name",), "first"),
    ),
    "TDS delimited": Way(
        _modelled(TDS), _members(tricky, words).map(TDS.write), (TDS.write(FIRST + LINES)[:-1], ("Name",), "first")
    ),
    "TDS tagged": Way(
        _modelled(TAGGED),
        _members(words, words).map(TAGGED.write),
        (TAGGED.write(FIRST + LINES)[:-1], ("Name",), "first"),
    ),
    "CSV": Way(
        _modelled(CSV),
        st.lists(st.tuples(words, counts, tricky), max_size=6).map(_csv),
        (b"first,1,x\r\n" * 40 + b"last,one,x\r\n", ("Line", "Key"), "first"),
    ),
    "MRM XML": Way(
        _modelled(XML),
        _members(tricky.map(lambda text: text + "."), words).map(XML.write),
        (XML.write(FIRST + LINES)[:-1], ("Name",), "first"),
    ),
    "MRM XML, unusual": Way(
        _modelled(XML),
        _members(tricky.map(lambda text: text + "."), words).map(XML.write),
        (b"<!-- c -->" + XML.write(FIRST + [("Line", [("Key", "&"), ("Value", "x")])] * 400)[:-9], ("Name",), "first"),
    ),
    "SWIFT": Way(
        lambda data: Part(SWIFT.format(SWIFT_TEXT), data, SWIFT_TEXT),
        st.tuples(st.integers(2100, 3000), st.integers(0, 99)).map(lambda given: mt543(*given)),
        (mt543().replace(b":19A::SETT//", b":19A::SETT?/"), ("Block4", "GENL", "F23G", "Function"), "NEWM"),
    ),
    "MQRFH2": Way(
        lambda data: CATALOGUE.part_of("MQRFH2", data),
        _members(tricky.filter(lambda text: "\r" not in text), words).map(
            lambda values: _written("MQRFH2", "usr", values)
        ),
        (_written("MQRFH2", "usr", FIRST) + b"", ("Format",), ""),
    ),
}

"""Languages: selectors, ESQL and models. Whatever the text: it is taken, or refused with a Problem, and soon."""

import random
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from broker.amqp.amqp_clients import text
from fuzz.target import Target
from heliograph.broker.queues.message_view import MessageView
from heliograph.broker.queues.selectors.compiling import Selector
from heliograph.errors import Problem
from heliograph.flow.formats.model import Models
from heliograph.flow.language.esql.checking.program_checking import check_program
from heliograph.flow.language.esql.compiling.program_compiling import compile_program
from heliograph.flow.language.esql.parsing.program_parsing import parse_program
from heliograph.flow.tree import Text

PROJECT = Path(__file__).parents[3]
_UNIT = re.compile(rb"\w+|\s+|'[^']*'|[^\w\s]")
_SUFFIXES = (".model.yaml", ".cpy", ".xsd", ".mt")
_NAME = re.compile(r"^[\w.-]+\n")


def _words(text: str) -> tuple[bytes, ...]:
    return tuple(word.encode() for word in text.split())


class _Text(Target):
    """Inputs are UTF-8; what is not is taken as well as it can be."""

    allowed = (Problem,)

    def split(self, data: bytes) -> list[bytes]:
        return _UNIT.findall(data)

    def change_unit(self, unit: bytes, chance: random.Random) -> bytes:
        if chance.random() < 0.5:
            return chance.choice(self.words)
        return super().change_unit(unit, chance)


class Selectors(_Text):
    """Conditions on messages."""

    name = "selectors"
    words = _words(
        "AND OR NOT BETWEEN LIKE IN IS NULL ESCAPE TRUE FALSE ( ) , = <> < > <= >= + - * / 'x' 'a%_' '\\' "
        '"n" . $ \' 0 1 -1 1.5 1e308 1e999 9223372036854775808 0x7fffffffffffffff 017 08 1L 1.d .5e-400 '
        "JMSPriority JMSMessageID JMSTimestamp JMSDeliveryMode JMSExpiration JMSXDeliveryCount "
        "JMSXGroupID JMSCorrelationID a b n t "
    )
    messages: Sequence[bytes] = (
        b"",
        b"\x00Sw\xa1\x01a",
        text("a"),
        text(
            "b", priority=9, ttl=5, correlation_id="x", application_properties={"a": 1, "b": 2.5, "n": None, "t": "x%"}
        ),
        text("c", application_properties={"a": "x" * 5000, "b": -(2**63), "n": float("nan"), "t": True}),
    )

    def seeds(self) -> list[bytes]:
        return [
            b"a = 1 AND b <> 2.5 OR NOT (n IS NULL)",
            b"t LIKE 'x!%%' ESCAPE '!' AND a NOT LIKE '_%_a%'",
            b"JMSPriority BETWEEN 3 AND 9 AND t IN ('a', 'b', 'x') AND a NOT IN ('c')",
            b"-a * (b + 3) / 2 - n >= +1e2 OR JMSCorrelationID = 'x' AND TRUE",
            b"\"a b\" = 'it''s' AND t IS NOT NULL AND (a < b OR b > 0x1F) AND b NOT BETWEEN -1 AND 1.5e3",
        ]

    def run(self, data: bytes) -> None:
        selector = Selector(data.decode(errors="replace"))
        for payload in self.messages:
            assert selector.matches(MessageView(payload, 3)) in {True, False}


class Esql(_Text):
    """Programs: parsed, checked, and compiled if nothing is wrong with them."""

    name = "esql"
    words = _words(
        "BEGIN END ATOMIC CALL CASE WHEN THEN ELSE CAST AS CONSTANT CREATE FIELD LASTCHILD DECLARE "
        "DELETE FROM DETACH ELSEIF EVAL EXIT EXTERNAL FILTER MODULE FOR DO FUNCTION RETURNS PROCEDURE "
        "HANDLER IF IN INOUT OUT INSERT INTO VALUES ITERATE LEAVE LIKE LIST LOG LOOP MOVE NAME NAMESPACE "
        "TYPE VALUE PARSE PASSTHRU PATH PROPAGATE TO REFERENCE REPEAT UNTIL RETURN ROW SCHEMA SELECT SET "
        "SHARED SQLSTATE THE ITEM THROW USER EXCEPTION UPDATE WHERE WHILE BROKER COMPUTE Main() "
        "InputRoot OutputRoot.XMLNSC Environment a b r ( ) [ ] { } , ; : . * / + - || = <> <= >= [] [1] "
        "[<] [>] .* 1 0x03000000 1.5 1e999 'text' \"name\" X'0a' B'01' DATE '2004-09-30' -- /* */ ' "
        "INTEGER CHARACTER BOOLEAN DECIMAL TIMESTAMP INTERVAL BLOB NULL TRUE UNKNOWN CARDINALITY( "
        "COALESCE( SUBSTRING( TRIM( ASBITSTREAM( POSITION( OVERLAY( ROUND( LOCALTIMEZONE "
        "CURRENT_TIMESTAMP 99999999999999999999999999999999999999 "
    )

    def seeds(self) -> list[bytes]:
        folders = (
            PROJECT / "tests/flow/language/esql/corpus",
            PROJECT / "examples",
            PROJECT / "src/heliograph/cli/flow/templates",
        )
        return [path.read_bytes() for folder in folders for path in sorted(folder.rglob("*.esql"))]

    def split(self, data: bytes) -> list[bytes]:
        # Statements, so that some of what comes out can be compiled; `change_unit` works on their words.
        return re.findall(rb"[^;]*;?", data)[:-1]

    def change_unit(self, unit: bytes, chance: random.Random) -> bytes:
        words = super().split(unit)
        if words:
            at = chance.randrange(len(words))
            words[at] = super().change_unit(words[at], chance)
        return b"".join(words)

    def run(self, data: bytes) -> None:
        program = parse_program(data.decode(errors="replace"), "any.esql")
        if not any(not mistake.warning for mistake in check_program(program)):
            compile_program(program)


class ModelFiles(_Text):
    """Models: a file's name on the first line, and its text behind that. What can be loaded is compiled."""

    name = "models"
    words = _words(
        "formats: messages: types: import: sequence: choice: all: name: type: occurs: 0..* 1..3 kind: "
        "CWF TDS CSV XML length: lengthKind: prefixed byteOrder: bigEndian separator: initiator: "
        "terminator: string integer decimal dateTime binary float { } [ ] , - | > & * &a *a <<: ? ! 01 "
        "05 PIC X(10) S9(4) COMP COMP-3 COMP-5 OCCURS 3 TIMES DEPENDING ON REDEFINES VALUE FILLER . 88 "
        "66 RENAMES SIGN LEADING SEPARATE 9(999999999) V9 BINARY <xs:element <xs:sequence> "
        '</xs:sequence> name="a" type="xs:int" ref="a" maxOccurs="unbounded" minOccurs="0" /> '
        '<xs:choice> <xs:any/> <xs:union <xs:list <xs:extension base= <xs:attribute abstract="true" '
        "<xs:group "
    )

    def seeds(self) -> list[bytes]:
        paths = sorted(path for path in (PROJECT / "examples").rglob("*") if path.name.endswith(_SUFFIXES))
        return [path.name.encode() + b"\n" + path.read_bytes() for path in paths] + [*map(str.encode, _MODELS)]

    def run(self, data: bytes) -> None:
        written = data.decode(errors="replace")
        head = _NAME.match(written)
        name, written = (head[0].strip(), written[head.end() :]) if head else ("m.model.yaml", written)
        suffix = next((suffix for suffix in _SUFFIXES if name.endswith(suffix)), _SUFFIXES[0])
        models = Models({f"m{suffix}": written})
        for model_name, model in models.models.items():
            for message in model.messages:
                for form in model.formats:
                    with suppress(Problem):
                        models.codec(Text(message_set=model_name, message_type=message, message_format=form))


_MODELS = (
    """m.model.yaml
formats:
  C: {kind: CWF, byteOrder: bigEndian}
  T: {kind: TDS, separator: ";"}
  X: {kind: XML}
types:
  Address: {sequence: [{name: Street, type: string, C: {length: 30}}]}
messages:
  Order:
    T: {dataElementSeparation: allElementsDelimited, separator: ';'}
    sequence:
      - {name: Number, type: integer, C: {length: 4}}
      - {name: Home, type: Address}
      - name: Item
        occurs: 0..20
        C: {occursCountKind: expression, occursCount: "{../Number}"}
        sequence:
          - {name: Price, type: decimal, default: 0, nillable: true, C: {length: 6, binaryNumberRep: packed}}
      - choice:
          - {name: A, type: string, C: {length: 1}}
          - {name: B, type: dateTime, C: {length: 10}}
""",
    """m.model.yaml
formats: {F: {kind: CSV}}
messages: {M: {sequence: [{name: L, occurs: 0..*, sequence: [{name: K, type: string}, {name: C, type: integer}]}]}}
""",
    """m.cpy
       01 POLICY.
          05 NUMBER-OF PIC 9(4) COMP.
          05 KEY-FIELD PIC X(8).
          05 AMOUNT PIC S9(7)V99 COMP-3 VALUE 0.
          05 PARTS OCCURS 1 TO 5 TIMES DEPENDING ON NUMBER-OF.
             10 PART-NAME PIC X(5) JUSTIFIED RIGHT.
                88 IS-FIRST VALUE 'A' THRU 'C'.
             10 PART-SIZE REDEFINES PART-NAME PIC 9(5).
          05 FILLER PIC X SYNC.
          05 RATE COMP-2.
""",
    """m.xsd
<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"
 targetNamespace="urn:x" xmlns="urn:x" elementFormDefault="qualified">
<xs:simpleType name="S"><xs:restriction base="xs:string"><xs:maxLength value="5"/></xs:restriction></xs:simpleType>
<xs:complexType name="B"><xs:sequence><xs:element name="a" type="S"/></xs:sequence></xs:complexType>
<xs:complexType name="D"><xs:complexContent><xs:extension base="B"><xs:choice maxOccurs="unbounded">
<xs:element name="x" type="xs:int"/><xs:element name="y" type="xs:dateTime" nillable="true"/></xs:choice>
<xs:attribute name="id" type="xs:ID"/></xs:extension></xs:complexContent></xs:complexType>
<xs:element name="M" type="D"/>
</xs:schema>
""",
)

"""TDS: every way to tell elements from each other, both ways."""

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from flow.formats.modelled import Modelled, plain, rewritten

TAGGED = """
formats:
  T: {{kind: TDS}}
messages:
  M:
    T: {{{group}}}
    sequence:
      - {{name: A, type: string, T: {{tag: "tagA"{field}}}}}
      - {{name: B, type: integer, occurs: 0..*, T: {{tag: "tagB"{field}}}}}
      - {{name: C, type: string, occurs: 0..1, T: {{tag: "tagC"{field}}}}}
"""
POSITIONAL = """
formats:
  T: {{kind: TDS}}
messages:
  M:
    T: {{{group}}}
    sequence:
      - {{name: A, type: string, T: {{length: 4}}}}
      - {{name: B, type: integer, occurs: 0..1{field}}}
      - {{name: C, type: decimal, occurs: 0..1{field}}}
      - {{name: D, type: date, occurs: 0..1, T: {{calendarPattern: yyyyMMdd{pattern}}}}}
"""


def tagged(group: str, field: str = "") -> str:
    return TAGGED.format(group=group, field=field)


def positional(group: str, field: str = "", pattern: str = "") -> str:
    return POSITIONAL.format(group=group, field=field, pattern=pattern)


KINDS = {
    "tagged delimited, separator of tag and data": (
        tagged('dataElementSeparation: taggedDelimited, separator: "*", tagDataSeparator: ":"'),
        "tagA:x*tagB:1*tagB:-2*tagC:y",
        [("A", "x"), ("B", 1), ("B", -2), ("C", "y")],
    ),
    "tagged delimited, length of tag": (
        tagged('dataElementSeparation: taggedDelimited, separator: "<CR><LF>", lengthOfTag: 4'),
        "tagCy\r\ntagAx\r\ntagB7",
        [("C", "y"), ("A", "x"), ("B", 7)],
    ),
    "tagged delimited in a group with a beginning and an end": (
        tagged(
            "dataElementSeparation: taggedDelimited, initiator: '{1:', terminator: '}',"
            " separator: ';', tagDataSeparator: '='"
        ),
        "{1:tagA=x;tagC=}",
        [("A", "x"), ("C", "")],
    ),
    "tagged delimited, with a separator at the end": (
        tagged('dataElementSeparation: taggedDelimited, separator: "*", separatorPosition: postfix, lengthOfTag: 4'),
        "tagAx*tagB1*",
        [("A", "x"), ("B", 1)],
    ),
    "tagged fixed length": (
        tagged("dataElementSeparation: taggedFixedLength, lengthOfTag: 4", ", length: 3"),
        "tagBz12tagAx  tagB007".replace("z", "0"),
        [("B", 12), ("A", "x"), ("B", 7)],
    ),
    "tagged fixed length, separator of tag and data": (
        tagged('dataElementSeparation: taggedFixedLength, tagDataSeparator: "="', ", length: 3"),
        "tagA=abctagC=d  ",
        [("A", "abc"), ("C", "d")],
    ),
    "tagged encoded length": (
        tagged("dataElementSeparation: taggedEncodedLength, lengthOfTag: 4, lengthOfEncodedLength: 3"),
        "tagA007dataAAAtagB00242tagC000",
        [("A", "dataAAA"), ("B", 42), ("C", "")],
    ),
    "tagged encoded length that counts itself": (
        tagged(
            "dataElementSeparation: taggedEncodedLength, lengthOfTag: 4, lengthOfEncodedLength: 2,"
            " extraCharsInEncodedLength: 2"
        ),
        "tagA05abctagB031",
        [("A", "abc"), ("B", 1)],
    ),
    "all elements delimited": (
        positional('dataElementSeparation: allElementsDelimited, separator: ","'),
        "abcdef,12,1.50,20260131",
        [("A", "abcdef"), ("B", 12), ("C", Decimal("1.50")), ("D", date(2026, 1, 31))],
    ),
    "all elements delimited, one in the middle absent": (
        positional('dataElementSeparation: allElementsDelimited, separator: ","'),
        "x,,-3",
        [("A", "x"), ("C", Decimal(-3))],
    ),
    "all elements delimited, absent ones at the end with their separators": (
        positional(
            'dataElementSeparation: allElementsDelimited, separator: "<U+007C>", separatorSuppressionPolicy: never'
        ),
        "x|5||",
        [("A", "x"), ("B", 5)],
    ),
    "all elements delimited, with a length that is observed": (
        positional(
            'dataElementSeparation: allElementsDelimited, separator: ",", observeElementLength: true',
            ", T: {length: 3}",
            ", length: 8",
        ),
        "a,b ,012,2.5,20260131",
        [("A", "a,b"), ("B", 12), ("C", Decimal("2.5")), ("D", date(2026, 1, 31))],
    ),
    "variable length elements delimited": (
        positional('dataElementSeparation: variableLengthElementsDelimited, separator: "/"'),
        "a/b 12/1.5/20260131",
        [("A", "a/b"), ("B", 12), ("C", Decimal("1.5")), ("D", date(2026, 1, 31))],
    ),
    "fixed length": (
        positional("dataElementSeparation: fixedLength", ", T: {length: 5}", ", length: 8"),
        "ab  00012-1.5020260131".replace("-1.50", "-1.50"),
        [("A", "ab"), ("B", 12), ("C", Decimal("-1.50")), ("D", date(2026, 1, 31))],
    ),
    "data pattern": (
        positional(
            "dataElementSeparation: useDataPattern, lengthPattern: '[a-z]+'",
            ", T: {lengthPattern: '[0-9]{2}'}",
            ", lengthPattern: '[0-9]{8}'",
        ),
        "abcxyz122520260131",
        [("A", "abcxyz"), ("B", 12), ("C", Decimal(25)), ("D", date(2026, 1, 31))],
    ),
}
KINDS["data pattern"] = (
    KINDS["data pattern"][0]
    .replace("useDataPattern, lengthPattern: '[a-z]+'", "useDataPattern")
    .replace("T: {length: 4}", "T: {lengthPattern: '[a-z]+'}"),
    *KINDS["data pattern"][1:],
)

NESTED = {
    "groups with separators of their own": (
        """
formats: {T: {kind: TDS, separator: ";"}}
messages:
  M:
    sequence:
      - {name: A, type: string}
      - name: G
        T: {separator: ","}
        sequence: [{name: B, type: integer}, {name: C, type: integer, occurs: 0..1}]
      - {name: D, type: string}
""",
        "a;1,2;d",
        [("A", "a"), ("G", [("B", 1), ("C", 2)]), ("D", "d")],
    ),
    "an optional group that is absent": (
        """
formats: {T: {kind: TDS, separator: ";"}}
messages:
  M:
    sequence:
      - {name: A, type: string}
      - name: G
        occurs: 0..1
        T: {separator: ","}
        sequence: [{name: B, type: integer}]
      - {name: D, type: string}
""",
        "a;;d",
        [("A", "a"), ("D", "d")],
    ),
    "a group with a beginning and an end, and the same separator inside": (
        """
formats: {T: {kind: TDS, separator: ";"}}
messages:
  M:
    sequence:
      - name: G
        occurs: 1..*
        T: {initiator: "{", terminator: "}", repeatingElementDelimiter: "+"}
        sequence: [{name: B, type: integer}, {name: C, type: integer}]
      - {name: D, type: string}
""",
        "{1;2}+{3;4};d",
        [("G", [("B", 1), ("C", 2)]), ("G", [("B", 3), ("C", 4)]), ("D", "d")],
    ),
    "tagged groups inside a tagged group": (
        """
formats: {T: {kind: TDS, dataElementSeparation: taggedDelimited, separator: "<LF>", tagDataSeparator: ":"}}
messages:
  M:
    sequence:
      - name: G
        occurs: 0..*
        T: {tag: G, separator: ",", tagDataSeparator: "="}
        sequence: [{name: B, type: integer, T: {tag: B}}, {name: C, type: string, occurs: 0..1, T: {tag: C}}]
      - {name: D, type: string, T: {tag: D}}
""",
        "G:B=1,C=x\nD:d\nG:C=,B=2",
        [("G", [("B", 1), ("C", "x")]), ("D", "d"), ("G", [("C", ""), ("B", 2)])],
    ),
    "groups inside encoded lengths": (
        """
formats: {T: {kind: TDS, dataElementSeparation: taggedEncodedLength, lengthOfTag: 1, lengthOfEncodedLength: 2}}
messages:
  M:
    sequence:
      - name: G
        T: {tag: G}
        sequence: [{name: B, type: string, T: {tag: B}}, {name: C, type: string, occurs: 0..1, T: {tag: C}}]
      - {name: D, type: string, T: {tag: D}}
""",
        "G09B03xyzC00D01d",
        [("G", [("B", "xyz"), ("C", "")]), ("D", "d")],
    ),
    "fixed structures inside a delimited record": (
        """
formats: {T: {kind: TDS, separator: "<CR><LF>"}}
messages:
  M:
    sequence:
      - name: Line
        occurs: 1..*
        T: {dataElementSeparation: fixedLength}
        sequence:
          - {name: B, type: string, T: {length: 3}}
          - {name: C, type: integer, occurs: 2, T: {length: 2}}
""",
        "abc0102\r\nd  0304",
        [("Line", [("B", "abc"), ("C", 1), ("C", 2)]), ("Line", [("B", "d"), ("C", 3), ("C", 4)])],
    ),
    "a message in a message": (
        """
formats: {T: {kind: TDS, dataElementSeparation: undefined}}
messages:
  M:
    sequence:
      - name: Head
        T: {dataElementSeparation: fixedLength, initiator: "H"}
        sequence: [{name: B, type: string, T: {length: 2}}]
      - name: Body
        T: {dataElementSeparation: allElementsDelimited, separator: ",", initiator: "[", terminator: "]"}
        sequence: [{name: C, type: string}, {name: D, type: string}]
""",
        "Hab[c,d]",
        [("Head", [("B", "ab")]), ("Body", [("C", "c"), ("D", "d")])],
    ),
    "a choice between groups that begin differently": (
        """
formats: {T: {kind: TDS, separator: "<LF>"}}
messages:
  M:
    sequence:
      - name: Line
        occurs: 1..*
        T: {separator: ";", dataElementSeparation: allElementsDelimited}
        choice:
          - name: A
            T: {initiator: "A:", separator: ",", dataElementSeparation: allElementsDelimited}
            sequence: [{name: X, type: integer}, {name: Y, type: integer}]
          - {name: B, type: date}
""",
        "A:1,2\n2026-01-31\nA:3,4",
        [
            ("Line", [("A", [("X", 1), ("Y", 2)])]),
            ("Line", [("B", date(2026, 1, 31))]),
            ("Line", [("A", [("X", 3), ("Y", 4)])]),
        ],
    ),
    "patterns of groups": (
        """
formats: {T: {kind: TDS, dataElementSeparation: useDataPattern}}
messages:
  M:
    sequence:
      - name: G
        occurs: 0..*
        T: {lengthPattern: "[^;]*;", dataElementSeparation: allElementsDelimited, separator: ",", terminator: ";"}
        sequence: [{name: B, type: string}, {name: C, type: string, occurs: 0..1}]
      - {name: D, type: string, T: {lengthPattern: ".*"}}
""",
        "a,b;c;rest",
        [("G", [("B", "a"), ("C", "b")]), ("G", [("B", "c")]), ("D", "rest")],
    ),
    "repetitions with a delimiter of their own": (
        """
formats: {T: {kind: TDS, separator: ";"}}
messages:
  M:
    sequence:
      - {name: A, type: integer, occurs: 0..*, T: {repeatingElementDelimiter: "*"}}
      - {name: B, type: string}
""",
        "1*2*3;x",
        [("A", 1), ("A", 2), ("A", 3), ("B", "x")],
    ),
    "repetitions in places of their own": (
        """
formats: {T: {kind: TDS, separator: ";"}}
messages:
  M:
    sequence:
      - {name: A, type: integer, occurs: 0..3}
      - {name: B, type: string}
""",
        "1;2;;x",
        [("A", 1), ("A", 2), ("B", "x")],
    ),
}


class TestSeparations:
    @pytest.mark.parametrize(("model", "data", "tree"), list(KINDS.values()), ids=list(KINDS))
    def test_are_read(self, model: str, data: str, tree: Any) -> None:
        assert plain(Modelled(model).read(data.encode())) == tree

    @pytest.mark.parametrize(("model", "data", "tree"), list(KINDS.values()), ids=list(KINDS))
    def test_are_written(self, model: str, data: str, tree: Any) -> None:
        assert Modelled(model).write(tree) == data.encode()


class TestNesting:
    @pytest.mark.parametrize(("model", "data", "tree"), list(NESTED.values()), ids=list(NESTED))
    def test_is_read(self, model: str, data: str, tree: Any) -> None:
        assert plain(Modelled(model).read(data.encode())) == tree

    @pytest.mark.parametrize(("model", "data", "tree"), list(NESTED.values()), ids=list(NESTED))
    def test_is_written(self, model: str, data: str, tree: Any) -> None:
        assert Modelled(model).write(tree) == data.encode()

    @pytest.mark.parametrize(("model", "data", "tree"), list(NESTED.values()), ids=list(NESTED))
    def test_gives_its_bytes_again(self, model: str, data: str, tree: Any) -> None:
        assert rewritten(Modelled(model).read(data.encode())) == data.encode()

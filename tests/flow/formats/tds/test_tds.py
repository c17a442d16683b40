"""TDS: values, nulls and defaults, protected delimiters, problems, and that everything goes both ways."""

from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flow.formats.modelled import Modelled, build, plain, rewritten
from flow.formats.tds.one_field import one_field
from heliograph.flow.errors import FormatProblem


class TestProblems:
    def test_of_unknown_tags_list_those_that_are_known(self) -> None:
        model = Modelled("""
formats: {T: {kind: TDS, dataElementSeparation: taggedDelimited, separator: "*", tagDataSeparator: ":"}}
messages: {M: {sequence: [{name: A, type: string, T: {tag: AA}}, {name: B, type: string, occurs: 0..1, T: {tag: BB}}]}}
""")
        with pytest.raises(FormatProblem, match="offset 5: expected one of the tags AA, BB, found 'CC:2'"):
            plain(model.read(b"AA:1*CC:2"))
        with pytest.raises(FormatProblem, match="field A: expected tag 'AA'"):
            plain(model.read(b"BB:1"))
        with pytest.raises(FormatProblem, match="field A: expected at most 1 of A"):
            plain(model.read(b"AA:1*AA:2"))
        with pytest.raises(FormatProblem, match="field X: expected one of A, B, found X"):
            model.write([("A", "1"), ("X", "1")])

    def test_of_characters_name_the_character_set(self) -> None:
        with pytest.raises(FormatProblem, match="expected characters of iso8859-1, found '€'"):
            one_field("type: string").write([("A", "a"), ("V", "€"), ("Z", "z")], ccsid=819)
        with pytest.raises(FormatProblem, match="offset 2: expected text in utf-8, found byte 0xff"):
            plain(one_field("type: string").read(b"a;\xff;z"))


def both_ways(form: str, group: str = "", length: str = "") -> Modelled:
    """A model with values of all types, optional ones, repetitions and a group inside."""

    def field(name: str, kind: str, tag: str, size: int, more: str = "") -> str:
        extra = f", length: {size}" if length else ""
        return f"{{name: {name}, type: {kind}{more}, T: {{tag: {tag}{extra}}}}}"

    return Modelled(f"""
formats: {{T: {{kind: TDS, {form}}}}}
messages:
  M:
    sequence:
      - {field("S", "string", "s", 8)}
      - {field("I", "integer", "i", 12, ", occurs: 0..1")}
      - name: G
        T: {{tag: g, {group}}}
        sequence:
          - {field("T", "string", "t", 8)}
          - {field("D", "date", "d", 10, ", occurs: 0..1")}
      - {field("N", "decimal", "n", 12)}
      - {field("R", "string", "r", 8, ", occurs: 0..4")}
""")


SAFE = st.text(st.sampled_from("abcÄ09 -"), min_size=1, max_size=8).map(str.rstrip).filter(bool)
ANYTHING = st.text(st.sampled_from('ab;,"!<>\r\n é'), min_size=1, max_size=8)
CASES = {
    "tagged delimited": (
        both_ways(
            "dataElementSeparation: taggedDelimited, separator: ';', lengthOfTag: 1, escapeCharacter: '!'",
            "separator: ','",
        ),
        ANYTHING,
    ),
    "tagged delimited with a terminator": (
        both_ways(
            "dataElementSeparation: taggedDelimited, separator: ';', tagDataSeparator: '=', escapeCharacter: '!'",
            "initiator: '<', terminator: '>'",
        ),
        ANYTHING,
    ),
    "tagged fixed length": (
        both_ways(
            "dataElementSeparation: taggedFixedLength, lengthOfTag: 1", "dataElementSeparation: fixedLength", "x"
        ),
        SAFE,
    ),
    "tagged encoded length": (
        both_ways("dataElementSeparation: taggedEncodedLength, lengthOfTag: 1, lengthOfEncodedLength: 3"),
        ANYTHING,
    ),
    "all elements delimited": (
        both_ways("separator: ';', quoteCharacter: '\"'", "separator: ','"),
        ANYTHING,
    ),
    "variable length elements delimited": (
        both_ways(
            "dataElementSeparation: variableLengthElementsDelimited, separator: ';', escapeCharacter: '!'",
            "separator: ','",
        ),
        ANYTHING,
    ),
    "fixed length": (both_ways("dataElementSeparation: fixedLength", "", "x"), SAFE),
}


@st.composite
def messages(draw: st.DrawFn, texts: st.SearchStrategy[str]) -> list[tuple[str, Any]]:
    def maybe(name: str, values: st.SearchStrategy[Any]) -> list[tuple[str, Any]]:
        return [(name, value) for value in draw(st.lists(values, max_size=1))]

    numbers = st.decimals(-1000, 1000, places=2)
    days = st.dates(date(1970, 1, 1), date(2069, 12, 31))
    return [
        ("S", draw(texts)),
        *maybe("I", st.integers(-(10**9), 10**9)),
        ("G", [("T", draw(texts)), *maybe("D", days)]),
        ("N", draw(numbers)),
        *(("R", text) for text in draw(st.lists(texts, max_size=4))),
    ]


@pytest.mark.parametrize(("model", "texts"), list(CASES.values()), ids=list(CASES))
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_whatever_is_written_is_read_again(model: Modelled, texts: st.SearchStrategy[str], data: st.DataObject) -> None:
    values = data.draw(messages(texts))
    written = model.write(values)
    tree = model.read(written)
    assert plain(tree) == values
    assert rewritten(tree) == written


@pytest.mark.parametrize(("model", "texts"), list(CASES.values()), ids=list(CASES))
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_damaged_data_is_read_or_a_problem(model: Modelled, texts: st.SearchStrategy[str], data: st.DataObject) -> None:
    written = bytearray(model.write(data.draw(messages(texts))))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(written)))
        written[at : at + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=2))
    try:
        plain(model.read(bytes(written)))
    except FormatProblem as problem:
        assert problem.offset is None or 0 <= problem.offset <= len(written)  # noqa: PT017


def test_a_tree_of_another_format_can_be_written() -> None:
    """What conversion does: the same logical message, read in one format and written in another."""
    model = Modelled("""
formats:
  ROWS: {kind: TDS, separator: ";"}
  TAGS: {kind: TDS, dataElementSeparation: taggedDelimited, separator: "<LF>", tagDataSeparator: ":"}
messages:
  M:
    sequence:
      - {name: A, type: string, TAGS: {tag: a}}
      - {name: B, type: integer, TAGS: {tag: b}}
""")
    tree = model.new([], "TAGS")
    build(tree, plain(model.read(b"x;1", "ROWS")))
    assert tree.bytes() == b"a:x\nb:1"

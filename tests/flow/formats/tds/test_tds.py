"""TDS: values, nulls and defaults, protected delimiters, problems, and that everything goes both ways."""

from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flow.formats.modelled import Modelled, build, plain, rewritten
from flow.formats.tds.one_field import one_field
from heliograph.flow.formats.format_problem import FormatProblem
from heliograph.flow.formats.model import ModelProblem


class TestNullsAndDefaults:
    def test_an_explicit_null_has_a_text(self) -> None:
        model = one_field("type: integer, nillable: true, T: {nilValue: NIL}")
        tree = plain(model.read(b"a;NIL;z"))
        assert tree == [("A", "a"), ("V", None), ("Z", "z")]
        assert model.write(tree) == b"a;NIL;z"

    def test_an_implicit_null_leaves_adjacent_delimiters(self) -> None:
        model = one_field("type: integer, occurs: 0..1")
        assert model.write([("A", "a"), ("Z", "z")]) == b"a;;z"
        assert plain(model.read(b"a;;z")) == [("A", "a"), ("Z", "z")]

    def test_an_explicit_null_without_a_text_is_like_an_implicit_one(self) -> None:
        assert one_field("type: integer, occurs: 0..1").write([("A", "a"), ("V", None), ("Z", "z")]) == b"a;;z"

    def test_a_default_is_read_and_written_for_what_is_missing(self) -> None:
        model = one_field("type: integer, default: 7")
        assert plain(model.read(b"a;;z"))[1] == ("V", 7)
        assert model.write([("A", "a"), ("Z", "z")]) == b"a;7;z"

    def test_a_mandatory_element_that_is_missing_is_a_problem(self) -> None:
        with pytest.raises(FormatProblem, match="field V: expected an element V, found none"):
            one_field("type: integer").write([("A", "a"), ("Z", "z")])

    def test_a_fixed_structure_is_filled_for_what_is_absent(self) -> None:
        model = Modelled("""
formats: {T: {kind: TDS, dataElementSeparation: fixedLength}}
messages:
  M:
    sequence:
      - {name: A, type: string, occurs: 0..1, T: {length: 3}}
      - {name: B, type: integer, default: 7, T: {length: 3}}
      - {name: C, type: string, T: {length: 2, justification: right}}
""")
        assert model.write([("C", "c")]) == b"   007 c"
        assert plain(model.read(b"   007 c")) == [("B", 7), ("C", "c")]

    def test_a_tag_is_left_out_with_its_value(self) -> None:
        model = Modelled("""
formats: {T: {kind: TDS, dataElementSeparation: taggedDelimited, separator: "*", lengthOfTag: 1}}
messages:
  M:
    sequence:
      - {name: A, type: string, occurs: 0..1, T: {tag: A}}
      - {name: B, type: integer, nillable: true, T: {tag: B, nilValue: "-"}}
      - {name: C, type: integer, default: 3, T: {tag: C}}
""")
        assert model.write([("B", None)]) == b"B-*C3"
        assert plain(model.read(b"B-")) == [("B", None), ("C", 3)]


class TestProtection:
    ESCAPED = one_field("type: string", "separator: ';', escapeCharacter: '!'")
    QUOTED = one_field("type: string", "separator: ';', quoteCharacter: '\"', reservedCharacters: '#'")

    @pytest.mark.parametrize(
        ("model", "value", "text"),
        [
            (ESCAPED, "a;b!c", "a!;b!!c"),
            (QUOTED, 'a;"b"', '"a;""b"""'),
            (QUOTED, "#", '"#"'),
            (QUOTED, "plain", "plain"),
        ],
        ids=["escaped", "quoted", "reserved", "nothing to protect"],
    )
    def test_keeps_delimiters_in_data(self, model: Modelled, value: str, text: str) -> None:
        data = f"a;{text};z".encode()
        assert model.write([("A", "a"), ("V", value), ("Z", "z")]) == data
        assert plain(model.read(data))[1] == ("V", value)


class TestProblems:
    @pytest.mark.parametrize(
        ("model", "said"),
        [
            ("{kind: TDS}", "allElementsDelimited: expected a separator"),
            (
                "{kind: TDS, dataElementSeparation: taggedDelimited, separator: ';'}",
                "either tagDataSeparator or lengthOfTag",
            ),
            ("{kind: TDS, dataElementSeparation: taggedFixedLength, lengthOfTag: 2}", "A: expected a tag, found none"),
            ("{kind: TDS, dataElementSeparation: fixedLength}", "A: expected a length"),
            ("{kind: TDS, dataElementSeparation: useDataPattern}", "A: expected a lengthPattern"),
            ("{kind: TDS, dataElementSeparation: undefined}", "A: expected a group"),
            (
                "{kind: TDS, dataElementSeparation: taggedEncodedLength, lengthOfTag: 1}",
                "expected lengthOfEncodedLength",
            ),
            ("{kind: TDS, separator: '<WHAT>'}", "unknown character <WHAT>"),
            ("{kind: TDS, separator: ';', quoteCharacter: ab}", "expected one character"),
            ("{kind: TDS, separator: ';', lengthPattern: '('}", "lengthPattern"),
        ],
    )
    def test_of_models_name_the_line(self, model: str, said: str) -> None:
        with pytest.raises(ModelProblem, match=rf"m\.model\.yaml:[0-9]+:[0-9]+: .*{said}"):
            Modelled(f"""
formats:
  T: {model}
messages:
  M: {{sequence: [{{name: A, type: string}}, {{name: B, type: string}}]}}
""").read(b"")

    GROUPED = Modelled("""
formats: {T: {kind: TDS, separator: "<LF>"}}
messages:
  M:
    sequence:
      - name: G
        occurs: 1..*
        T: {separator: ",", initiator: "<LT>", terminator: "<GT>"}
        sequence: [{name: A, type: string}, {name: B, type: integer}]
""")

    @pytest.mark.parametrize(
        ("data", "path", "expected", "line", "column"),
        [
            ("<a,1>\n<b,x>", "G[2].B", "an integer of 64 bits", 2, 4),
            ("<a,1>\n<b,2", "G[2]", "'>', the group's end", 2, 5),
            ("<a,1>\nb,2>", "G[2]", "'<', the group's beginning", 2, 1),
            ("<a,1,2>\n", "G", "2 elements (there are 3)", 1, 2),
            ("", "G", "1 or more of G", None, None),
        ],
    )
    def test_of_data_say_where(self, data: str, path: str, expected: str, line: int | None, column: int | None) -> None:
        with pytest.raises(FormatProblem) as caught:
            plain(self.GROUPED.read(data.encode()))
        problem = caught.value
        assert (problem.path, problem.expected, problem.line, problem.column) == (path, expected, line, column)
        assert problem.format == "TDS T of M"

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

    def test_of_trees_name_elements_that_the_model_does_not_have(self) -> None:
        with pytest.raises(FormatProblem, match="field X: expected one of A, V, Z, found X"):
            one_field("type: string").write([("A", "a"), ("V", "v"), ("X", "x"), ("Z", "z")])

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

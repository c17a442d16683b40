"""Single members of messages in TDS: nulls, defaults, and what is missing."""

import pytest

from flow.formats.modelled import Modelled, plain
from flow.formats.tds.one_field import one_field
from heliograph.flow.errors import FormatProblem


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

"""Block 4 of SWIFT messages: fields and sequences."""

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flow.formats.swift.mt_messages import ANY, GENL, at, everything, message, part
from heliograph.flow.errors import FormatProblem
from heliograph.lab.flows.messages import mt543


@pytest.mark.parametrize(
    ("old", "new", "path", "expected", "found", "line"),
    [
        ("\r\n:23G:NEWM", "", "Block4.GENL", "field 23G", "field 98C", 4),
        (":16R:GENL", ":16R:GENX", "Block4", ":16S:GENX behind :16R:GENX", "the end of what is around it", 2),
        ("\r\n:35B:ISIN DE0001234567", "", "Block4.TRADDET", "field 35B", "sequence FIA", 26),
        (":23G:NEWM", ":23G:NEWMX", "Block4.GENL.F23G", "4!c[/4!c] in field 23G", "'NEWMX'", 4),
        (":11A::DENO", ":1A::DENO", "Block4.TRADDET.FIA", "a tag such as :20C:", ":1A::DENO//EUR", 30),
    ],
    ids=["missing field", "end of sequence", "missing in the middle", "bad content", "bad tag"],
)
def test_an_error_has_line_path_expected_and_found(
    old: str, new: str, path: str, expected: str, found: str, line: int
) -> None:
    tree = part(mt543().replace(old.encode(), new.encode(), 1))
    with pytest.raises(FormatProblem) as caught:
        everything(tree)
    problem = caught.value
    assert (problem.path, problem.expected, problem.found, problem.line) == (path, expected, found, line)
    assert problem.format == "SWIFT MT543"


def test_a_missing_sequence_is_named() -> None:
    data = mt543()
    start, end = data.index(b":16R:FIAC"), data.index(b":16R:REPO")
    with pytest.raises(FormatProblem, match="field Block4: expected sequence FIAC, found sequence REPO"):
        everything(part(data[:start] + data[end:]))


def test_a_component_that_does_not_fit_is_not_written() -> None:
    tree = part(mt543())
    at(tree, "Block4.TRADDET.F98A.Date").set_value("tomorrow")
    with pytest.raises(FormatProblem, match=r"field Block4.TRADDET.F98A: expected :4!c//8!n of Qualifier, Date"):
        tree.bytes()


def test_a_message_without_a_mandatory_field_is_not_written() -> None:
    tree = part(mt543())
    at(tree, "Block4.GENL.F20C").delete()
    with pytest.raises(FormatProblem, match=r"field Block4\.GENL: expected field 20C, found field 23G"):
        tree.bytes()


def test_sequences_may_be_inside_sequences_of_the_same_code() -> None:
    tree = part(message(":16R:A", ":16R:A", ":20C::SEME//X", ":16S:A", ":16S:A", ":16R:A", ":16S:A"), ANY)
    assert at(tree, "Block4.A.A.F20C.Value").value == "X"
    assert at(tree, "Block4").count("A") == 2


def test_only_what_was_changed_is_written_anew() -> None:
    data = mt543()
    tree = part(data)
    at(tree, "Block4.SETDET.AMT[5].F19A.Amount").set_value(Decimal("12.50"))
    before, after = data.split(b"\r\n"), tree.bytes().split(b"\r\n")
    assert [line for old, line in zip(before, after, strict=True) if old != line] == [b":19A::SETT//EUR12,50"]


VALUES = st.text(st.sampled_from("AB09/-?:().,'+ "), min_size=1, max_size=30)
SEQUENCES = st.recursive(
    st.lists(VALUES.map(lambda text: [f":70E::ABCD//{text}"]), max_size=4),
    lambda inner: st.lists(inner.map(lambda lines: [[":16R:SEQ"], *lines, [":16S:SEQ"]]).map(
        lambda pieces: [line for piece in pieces for line in piece]), max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(SEQUENCES)
@settings(max_examples=50, deadline=None)
def test_any_nesting_without_a_model_comes_back(pieces: list[list[str]]) -> None:
    data = message(*GENL, *(line for piece in pieces for line in piece))
    tree = part(data, ANY)
    for element in list(tree.descendants()):
        element.touch()
    assert tree.bytes() == data

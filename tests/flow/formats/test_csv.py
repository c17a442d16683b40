"""CSV: records in lines, quoting of RFC 4180, header lines."""

import csv
import io
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flow.formats.modelled import Modelled, plain, rewritten
from heliograph.flow.errors import FormatProblem, ModelProblem

MODEL = """
formats:
  PLAIN: {kind: CSV}
  HEADED: {kind: CSV, header: true, separator: ";", recordSeparator: "<LF>"}
messages:
  M:
    sequence:
      - name: Record
        occurs: 0..*
        sequence:
          - {name: Article, type: string}
          - {name: Price, type: decimal, occurs: 0..1, HEADED: {decimalSeparator: ","}}
          - {name: Note, type: string, occurs: 0..1}
"""
MODELLED = Modelled(MODEL)


def record(*values: tuple[str, Any]) -> tuple[str, Any]:
    return ("Record", list(values))


def test_each_line_is_a_record() -> None:
    tree = plain(MODELLED.read(b"nut,1.50,small\r\nbolt,,\r\n", "PLAIN"))
    assert tree == [
        record(("Article", "nut"), ("Price", Decimal("1.50")), ("Note", "small")),
        record(("Article", "bolt")),
    ]


def test_quoted_values_may_have_separators_quotes_and_line_ends() -> None:
    data = b'"a,b",1,"say ""hi""\r\nto all"\r\n'
    tree = MODELLED.read(data, "PLAIN")
    assert plain(tree) == [record(("Article", "a,b"), ("Price", Decimal(1)), ("Note", 'say "hi"\r\nto all'))]
    assert rewritten(tree) == data


def test_the_last_line_needs_no_end() -> None:
    assert len(MODELLED.read(b"a,1,x\r\nb,2,y", "PLAIN").children) == 2


def test_a_header_without_a_line_end_is_a_header() -> None:
    tree = MODELLED.read(b"Article;Price;Note", "HEADED")
    assert tree.children == []
    assert tree.bytes() == b"Article;Price;Note"


def test_no_lines_are_no_records() -> None:
    assert MODELLED.read(b"", "PLAIN").children == []
    assert MODELLED.write([], "HEADED") == b"Article;Price;Note\n"


def test_a_header_line_has_the_names() -> None:
    data = b'Article;Price;Note\nnut;1,50;"a;b"\n'
    tree = MODELLED.read(data, "HEADED")
    assert plain(tree) == [record(("Article", "nut"), ("Price", Decimal("1.50")), ("Note", "a;b"))]
    assert rewritten(tree) == data


def test_another_header_line_is_a_problem() -> None:
    with pytest.raises(FormatProblem, match=r"line 1, column 1.*expected 'Article;Price;Note"):
        plain(MODELLED.read(b"Article;Cost;Note\nnut;1;x\n", "HEADED"))


def test_records_are_read_one_by_one() -> None:
    tree = MODELLED.read(b"a,1,x\r\nb,wrong,y\r\n", "PLAIN")
    first = tree.first("Record")
    assert first is not None
    assert plain(first)[0] == ("Article", "a")
    with pytest.raises(FormatProblem, match=r"line 2, column 3.*field Record\[2\].Price: expected a decimal number"):
        tree.nth("Record", 2)


def test_too_many_values_are_a_problem() -> None:
    with pytest.raises(FormatProblem, match=r"line 2.*expected 3 elements \(there are 4\)"):
        plain(MODELLED.read(b"a,1,x\r\nb,2,y,z\r\n", "PLAIN"))


def test_a_model_that_is_no_table_is_refused() -> None:
    with pytest.raises(ModelProblem, match="expected one repeating group of single fields"):
        Modelled("formats: {C: {kind: CSV}}\nmessages: {M: {sequence: [{name: A, type: string}]}}").read(b"")


PAIRS = Modelled("""
formats: {C: {kind: CSV}}
messages:
  M: {sequence: [{name: R, occurs: 0..*, sequence: [{name: A, type: string}, {name: B, type: string}]}]}
""")
TEXTS = st.text(st.sampled_from('ab,;"\r\n\x00é '), max_size=6)


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=5))
@settings(max_examples=100, deadline=None)
def test_what_python_writes_is_read_and_written_alike(rows: list[tuple[str, str]]) -> None:
    buffer = io.StringIO(newline="")
    csv.writer(buffer, quoting=csv.QUOTE_ALL).writerows(rows)
    tree = plain(PAIRS.read(buffer.getvalue().encode()))
    assert tree == [("R", [("A", first), ("B", second)]) for first, second in rows]
    written = PAIRS.write(tree).decode()
    assert list(csv.reader(io.StringIO(written, newline=""))) == [list(row) for row in rows]


def test_a_quote_that_is_never_closed_is_a_problem() -> None:
    with pytest.raises(
        FormatProblem, match=r"line 2, column 3.*field Record\[2\]\.Price: expected a text that is ended"
    ):
        _ = MODELLED.read(b'a,1,x\r\nb,"2,y\r\n', "PLAIN").children


LINE_ENDS = Modelled(MODEL.replace("{kind: CSV}", "{kind: CSV, header: true}"))


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(("modelled", "header"), [(MODELLED, ""), (LINE_ENDS, "Article,Price,Note<end>")])
def test_a_model_without_a_record_separator_reads_either_line_end(modelled: Modelled, header: str, end: str) -> None:
    data = f'{header}nut,1,"a<end>b"<end>bolt,2,c'.replace("<end>", end).encode()
    tree = modelled.read(data, "PLAIN")
    assert plain(tree) == [
        record(("Article", "nut"), ("Price", Decimal(1)), ("Note", f"a{end}b")),
        record(("Article", "bolt"), ("Price", Decimal(2)), ("Note", "c")),
    ]
    assert tree.bytes() == data


def test_lines_that_were_read_with_lf_are_written_as_the_model_says() -> None:
    assert rewritten(MODELLED.read(b"a,1,x\nb,2,y\n", "PLAIN")) == b"a,1,x\r\nb,2,y\r\n"


def test_a_line_end_in_quotes_does_not_say_what_ends_lines() -> None:
    tree = MODELLED.read(b'a,1,"x\ny"\r\nb,2,z\r\n', "PLAIN")
    assert [line.first("Note").value for line in tree.children] == ["x\ny", "z"]


def test_a_model_with_a_record_separator_reads_no_other() -> None:
    strict = Modelled(MODEL.replace("{kind: CSV}", '{kind: CSV, recordSeparator: "<CR><LF>"}'))
    assert len(strict.read(b"a,1,x\r\nb,2,y", "PLAIN").children) == 2
    with pytest.raises(FormatProblem):
        plain(strict.read(b"a,1,x\nb,2,y", "PLAIN"))


def test_what_is_wrong_in_lines_with_lf_is_said_where_it_is() -> None:
    with pytest.raises(FormatProblem, match=r"line 2, column 3, offset 8, field Record.*Price: expected a decimal"):
        plain(MODELLED.read(b"a,1,x\nb,dear,y\n", "PLAIN"))


def test_every_line_is_written_with_all_its_columns() -> None:
    data = b"nut,1.50,small\r\nbolt,,\r\nscrew,2,\r\n"
    tree = MODELLED.read(data, "PLAIN")
    assert rewritten(tree) == data
    changed = MODELLED.read(data, "PLAIN")
    changed.children[0].children[0].value = "NUT"
    changed.children[0].children[0].touch()
    assert changed.bytes() == data.replace(b"nut", b"NUT")


def test_a_line_without_its_last_columns_can_be_read() -> None:
    tree = MODELLED.read(b'nut\r\n"a,b",1\r\n', "PLAIN")
    assert plain(tree) == [record(("Article", "nut")), record(("Article", "a,b"), ("Price", Decimal(1)))]
    assert rewritten(tree) == b'nut,,\r\n"a,b",1,\r\n'

"""Generated readers of structures: counts, branches, early fields, and data of the wrong length."""

import pytest

from flow.formats.cwf.structures import CHOICE, TABLE, model_of, parsed, read, written, written_again
from heliograph.flow.errors import FormatProblem
from heliograph.flow.tree import Element


def test_nothing_is_read_where_the_count_is_zero() -> None:
    models = model_of(TABLE % "")
    assert read(models, b"\0z") == {"N": 0, "End": "z"}
    assert written_again(models, b"\0z") == b"\0z"


def test_the_number_of_the_occurrence_is_in_the_path() -> None:
    with pytest.raises(FormatProblem, match=r"field Item\[2\].A: expected text in utf-8 in 2 bytes"):
        written(model_of(TABLE % ""), {"N": 2, "Item": [{"A": "ab", "B": 1}, {"A": "abc", "B": 1}], "End": "z"})


def test_without_a_key_the_first_branch_that_fits_is_taken() -> None:
    models = model_of(CHOICE % ("", "", ""))
    assert read(models, b"?abcdz") == {"Kind": "?", "Text": "abcd", "End": "z"}
    data = b"?\xff\xfe\0\0z"
    assert read(models, data) == {"Kind": "?", "Pair": {"X": -1, "Y": -2}, "End": "z"}
    assert written_again(models, data) == data


def test_allowed_values_decide_whether_a_branch_fits() -> None:
    models = model_of(
        "- choice:\n    - {name: A, type: string, values: [x, y], CWF1: {length: 1}}\n"
        "    - {name: B, type: string, CWF1: {length: 1}}"
    )
    assert read(models, b"x") == {"A": "x"}
    assert read(models, b"z") == {"B": "z"}


def test_a_message_that_is_too_short_names_the_first_field_that_is_not_there() -> None:
    models = model_of("\n".join(f"- {{name: F{n}, type: integer, CWF1: {{length: 4}}}}" for n in range(5)))
    with pytest.raises(FormatProblem, match="offset 8, field F2: expected 4 bytes, found 3 bytes"):
        read(models, bytes(11))


def test_a_message_that_is_too_long_is_a_problem() -> None:
    with pytest.raises(FormatProblem, match="offset 1: expected the end of the message, found 2 bytes more"):
        read(model_of("- {name: F, type: integer, CWF1: {length: 1}}"), b"\1\2\3")


def test_early_fields_do_not_decode_the_rest() -> None:
    lines = [f"- {{name: F{n}, type: string, CWF1: {{length: 1}}}}" for n in range(100)]
    part = parsed(model_of("\n".join(lines)), b"x" * 50 + b"\xff" * 50)
    first = part.first("F0")
    assert first is not None
    assert first.value == "x"
    assert len(part.loaded or []) < 50


def test_records_are_read_one_by_one() -> None:
    models = model_of("- name: G\n  occurs: 0..*\n  sequence:\n    - {name: A, type: string, CWF1: {length: 1}}")
    part = parsed(models, b"abcdef")
    assert part.nth("G", 2) is not None
    assert len(part.loaded or []) == 2


def test_elements_that_were_read_know_their_parents() -> None:
    part = parsed(model_of(TABLE % ""), b"\1ab\1z")
    item = part.first("Item")
    assert isinstance(item, Element)
    assert [child.parent is item for child in item.children] == [True, True]
    assert item.parent is part

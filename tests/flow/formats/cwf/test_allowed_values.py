"""Values that the model lists: no others are read or written."""

import pytest

from flow.formats.cwf.structures import model_of, read, written, written_again
from heliograph.flow.errors import FormatProblem

ALLOWED = """
- {name: Kind, type: string, values: [A, BB, ""], CWF1: {length: 2}}
- {name: Level, type: integer, values: [1, 2], CWF1: {length: 1, nilKind: logicalValue, nilValue: 0}}
"""


def test_values_that_the_model_lists_are_read_and_written() -> None:
    models = model_of(ALLOWED)
    for data, values in (
        (b"A \1", {"Kind": "A", "Level": 1}),
        (b"BB\2", {"Kind": "BB", "Level": 2}),
        (b"  \0", {"Kind": "", "Level": None}),
    ):
        assert read(models, data) == values
        assert written(models, values) == data
    assert written(models, {"Kind": "A ", "Level": "2"}) == b"A \2"


def test_other_values_are_problems_of_the_reader() -> None:
    with pytest.raises(FormatProblem, match=r"CWF1 of M, offset 0, field Kind: expected one of A, BB, '', found 'C'"):
        read(model_of(ALLOWED), b"C \1")
    with pytest.raises(FormatProblem, match=r"offset 2, field Level: expected one of 1, 2, found 3"):
        read(model_of(ALLOWED), b"A \3")


def test_other_values_are_problems_of_the_writer() -> None:
    with pytest.raises(FormatProblem, match=r"CWF1 of M, field Kind: expected one of A, BB, '', found 'C'"):
        written(model_of(ALLOWED), {"Kind": "C", "Level": 1})
    with pytest.raises(FormatProblem, match=r"field Level: expected one of 1, 2, found 3"):
        written(model_of(ALLOWED), {"Kind": "A", "Level": 3})


def test_a_format_can_leave_values_unchecked() -> None:
    models = model_of(ALLOWED, "checkValues: false")
    assert read(models, b"C \3") == {"Kind": "C", "Level": 3}
    assert written_again(models, b"C \3") == b"C \3"

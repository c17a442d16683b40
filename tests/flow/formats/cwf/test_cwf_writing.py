"""Generated writers of structures: defaults, counts, order, and values that cannot be written."""

import pytest

from flow.formats.cwf.structures import LITTLE, TABLE, built, model_of, parsed, read, written
from heliograph.flow.errors import FormatProblem
from heliograph.flow.tree import Text


def test_missing_occurrences_have_the_default() -> None:
    models = model_of("- {name: F, type: integer, occurs: 3, default: 9, CWF1: {length: 1}}")
    assert written(models, {"F": 1}) == b"\1\x09\x09"


def test_a_count_that_nobody_has_set_is_counted() -> None:
    models = model_of(TABLE % "")
    assert written(models, {"Item": [{"A": "ab", "B": 1}], "End": "z"}) == b"\1ab\1z"


def test_a_count_that_says_something_else_is_a_problem() -> None:
    with pytest.raises(FormatProblem, match="field Item: expected as many occurrences as N says, found 1"):
        written(model_of(TABLE % ""), {"N": 2, "Item": [{"A": "ab", "B": 1}], "End": "z"})


def test_a_count_above_the_largest_is_a_problem() -> None:
    with pytest.raises(FormatProblem, match="offset 1, field Item: expected 0 to 3 occurrences in N, found 4"):
        read(model_of(TABLE % ""), b"\4" + b"ab\1" * 4 + b"z")


def test_a_missing_field_has_its_default() -> None:
    models = model_of("- {name: A, type: string, default: no, CWF1: {length: 3}}")
    assert written(models, {}) == b"no "


def test_a_missing_field_without_a_default_is_a_problem() -> None:
    with pytest.raises(FormatProblem, match=r"field A: expected text .*, found nothing, and the model has no default"):
        written(model_of("- {name: A, type: string, CWF1: {length: 3}}"), {})


@pytest.mark.parametrize("values", [{"A": "x", "B": "y"}, {"A": ["x", "y"]}])
def test_what_the_model_does_not_have_cannot_be_written(values: dict[str, object]) -> None:
    with pytest.raises(FormatProblem, match=r"expected only what the model has \(A\), found [AB]"):
        written(model_of("- {name: A, type: string, CWF1: {length: 1}}"), values)


def test_children_may_stand_in_another_order() -> None:
    models = model_of("- {name: A, type: string, CWF1: {length: 1}}\n- {name: B, type: string, CWF1: {length: 1}}")
    assert written(models, {"B": "b", "A": "a"}) == b"ab"


def test_unchanged_messages_keep_their_bytes() -> None:
    models = model_of("- {name: A, type: integer, CWF1: {length: 2, binaryNumberRep: packed}}")
    part = parsed(models, b"\x12\x3e")  # a sign that we would not write
    assert part.children[0].value == 123
    assert part.bytes() == b"\x12\x3e"


def test_the_character_set_and_encoding_of_the_part_are_those_of_now() -> None:
    models = model_of("- {name: A, type: string, CWF1: {length: 1}}\n- {name: N, type: integer, CWF1: {length: 2}}")
    part = built(models, {"A": "a", "N": 1})
    text = Text(500, LITTLE)
    part.become(models.format(text), text)
    assert part.bytes() == b"\x81\1\0"

"""What stands where: repetition, references, alignment, choices, and what is missing."""

import pickle

import pytest

from flow.formats.cwf.structures import CHOICE, TABLE, model_of, read, written, written_again
from heliograph.flow.errors import FormatProblem
from heliograph.flow.tree import Text


def test_a_fixed_number_of_fields_is_read_and_written() -> None:
    models = model_of("- {name: F, type: integer, occurs: 3, CWF1: {length: 1}}")
    assert read(models, b"\1\2\3") == {"F": [1, 2, 3]}
    assert written(models, {"F": [1, 2, 3]}) == b"\1\2\3"


def test_a_field_says_how_often_a_group_comes() -> None:
    models = model_of(TABLE % "")
    data = b"\2ab\1cd\2z"
    values = {"N": 2, "Item": [{"A": "ab", "B": 1}, {"A": "cd", "B": 2}], "End": "z"}
    assert read(models, data) == values
    assert written(models, values) == data


def test_a_group_repeats_to_the_end_of_the_message() -> None:
    models = model_of(
        "- name: G\n  occurs: 0..*\n  sequence:\n    - {name: A, type: integer, CWF1: {length: 1}}\n"
        "    - {name: T, type: string, CWF1: {lengthKind: prefixed, prefixLength: 1}}"
    )
    data = b"\1\0\2\1x\3\2yz"
    assert read(models, data) == {"G": [{"A": 1, "T": ""}, {"A": 2, "T": "x"}, {"A": 3, "T": "yz"}]}
    assert written_again(models, data) == data


def test_a_field_says_the_length_of_another() -> None:
    models = model_of(
        "- {name: L, type: integer, CWF1: {length: 1}}\n"
        '- name: G\n  sequence:\n    - {name: T, type: string, CWF1: {length: "{../../L}"}}\n'
        '    - {name: B, type: binary, CWF1: {length: "{/L}"}}'
    )
    data = b"\2ab\0\1"
    assert read(models, data) == {"L": 2, "G": {"T": "ab", "B": b"\0\1"}}
    assert written_again(models, data) == data
    assert written(models, {"G": {"T": "ab", "B": b"\0\1"}}) == data
    with pytest.raises(FormatProblem, match=r"field G.T: expected as many bytes as L says, found 3 bytes"):
        written(models, {"L": 2, "G": {"T": "abc", "B": b"\0\1"}})


DISPATCHED = CHOICE % (
    ", choiceBranchKey: T U",
    "CWF1: {choiceBranchKey: P}",
    'CWF1: {choiceDispatchKey: "{../Kind}"}',
)


def test_a_field_says_which_branch_it_is() -> None:
    models = model_of(DISPATCHED)
    for data, values in (
        (b"Pab\0\0z", {"Kind": "P", "Pair": {"X": 97, "Y": 98}, "End": "z"}),
        (b"Uabcdz", {"Kind": "U", "Text": "abcd", "End": "z"}),
    ):
        assert read(models, data) == values
        assert written(models, values) == data


def test_a_branch_that_nobody_knows_is_a_problem() -> None:
    with pytest.raises(FormatProblem, match="field Kind: expected one of T, U, P, found 'X'"):
        read(model_of(DISPATCHED), b"Xabcdz")


def test_a_part_can_be_pickled_with_its_models() -> None:
    models = pickle.loads(pickle.dumps(model_of("- {name: A, type: string, CWF1: {length: 1}}")))
    assert read(models, b"x") == {"A": "x"}
    form = pickle.loads(pickle.dumps(models.format(Text())))
    assert form.domain == "MRM"

"""What stands where in a structure: alignment, skipped bytes, reserved room, and models that cannot be."""

import struct

import pytest

from flow.formats.cwf.structures import LITTLE, TABLE, model_of, read, written, written_again
from heliograph.flow.errors import ModelProblem
from heliograph.flow.tree import Text


def test_a_table_can_take_the_room_of_all_its_items() -> None:
    models = model_of(TABLE % ", occursPadding: occurrences")
    data = b"\1ab\1" + bytes(6) + b"z"
    assert read(models, data)["End"] == "z"
    assert written_again(models, data) == data


def test_a_record_can_be_filled_up_behind_a_table() -> None:
    models = model_of(TABLE % ", occursPadding: record")
    data = b"\1ab\1z" + bytes(6)
    assert read(models, data)["End"] == "z"
    assert written_again(models, data) == data


def test_numbers_are_aligned_as_c_does() -> None:
    models = model_of(
        "- {name: A, type: integer, CWF1: {length: 1}}\n- name: S\n  occurs: 2\n  sequence:\n"
        "    - {name: D, type: float, CWF1: {length: 8}}\n    - {name: C, type: string, CWF1: {length: 1}}\n"
        "- {name: Z, type: integer, CWF1: {length: 2}}",
        "alignment: implicit",
    )

    data = struct.pack("<b7xdc7xdc7xh", 1, 1.5, b"x", 2.5, b"y", 3)
    values = {"A": 1, "S": [{"D": 1.5, "C": "x"}, {"D": 2.5, "C": "y"}], "Z": 3}
    assert read(models, data, encoding=LITTLE) == values
    assert written(models, values, encoding=LITTLE) == data


def test_alignment_is_found_behind_a_field_of_any_length() -> None:
    models = model_of(
        "- {name: T, type: string, CWF1: {lengthKind: delimited}}\n"
        "- {name: N, type: integer, CWF1: {length: 2, alignment: 4, fillByte: 255}}"
    )
    data = b"abcde\0\xff\xff\0\1"
    assert read(models, data) == {"T": "abcde", "N": 1}
    assert written_again(models, data) == data


def test_skipped_bytes_are_before_and_behind_a_field() -> None:
    models = model_of("- {name: N, type: integer, CWF1: {length: 1, leadingSkip: 2, trailingSkip: 1}}")
    assert read(models, b"..\1.") == {"N": 1}
    assert written(models, {"N": 1}) == b"\0\0\1\0"


@pytest.mark.parametrize(
    ("members", "text"),
    [
        ("- {name: A, type: string}", "expected a length"),
        ("- {name: A, type: integer, CWF1: {length: 3}}", "a binary number has a length of 1, 2, 4 or 8, found 3"),
        ("- {name: A, type: float, CWF1: {length: 5}}", "a length of 4 or 8, found 5"),
        ("- {name: A, type: integer, CWF1: {lengthKind: delimited}}", "only strings and binary fields"),
        ("- {name: A, type: string, CWF1: {length: 1, encoding: klingon}}", "encoding: unknown encoding: klingon"),
        ("- {name: A, type: string, CWF1: {length: '{../B}'}}", "length: expected an earlier field, found B"),
        ("- {name: A, type: string, CWF1: {length: 1, padCharacter: ab}}", "expected one character, found 'ab'"),
        ("- {name: A, type: date, CWF1: {calendarPattern: EEE}}", "calendarPattern: cannot read 'EEE'"),
        (
            "- {name: A, type: integer, CWF1: {length: 2, binaryNumberRep: packed, digits: 9}}",
            "digits: expected 1 to 3 in 2 bytes, found 9",
        ),
    ],
)
def test_what_cannot_be_is_said_with_file_and_line(members: str, text: str) -> None:
    with pytest.raises(ModelProblem) as problem:
        model_of(members).format(Text())
    assert str(problem.value).startswith("M.model.yaml:6:9: A in CWF1: ")
    assert text in str(problem.value)

"""What stands where: repetition, references, alignment, choices, and what is missing."""

import pickle
import struct

import pytest

from flow.formats.cwf.structures import LITTLE, built, model_of, parsed, read, written, written_again
from heliograph.flow.formats import FormatProblem
from heliograph.flow.formats.model import ModelProblem
from heliograph.flow.tree import Element, Text

TABLE = """
- {name: N, type: integer, CWF1: {length: 1}}
- name: Item
  occurs: 0..3
  CWF1: {occursCount: "{../N}"%s}
  sequence:
    - {name: A, type: string, CWF1: {length: 2}}
    - {name: B, type: integer, CWF1: {length: 1}}
- {name: End, type: string, CWF1: {length: 1}}
"""


def test_a_fixed_number_of_fields_is_read_and_written() -> None:
    models = model_of("- {name: F, type: integer, occurs: 3, CWF1: {length: 1}}")
    assert read(models, b"\1\2\3") == {"F": [1, 2, 3]}
    assert written(models, {"F": [1, 2, 3]}) == b"\1\2\3"


def test_missing_occurrences_have_the_default() -> None:
    models = model_of("- {name: F, type: integer, occurs: 3, default: 9, CWF1: {length: 1}}")
    assert written(models, {"F": 1}) == b"\1\x09\x09"


def test_a_field_says_how_often_a_group_comes() -> None:
    models = model_of(TABLE % "")
    data = b"\2ab\1cd\2z"
    values = {"N": 2, "Item": [{"A": "ab", "B": 1}, {"A": "cd", "B": 2}], "End": "z"}
    assert read(models, data) == values
    assert written(models, values) == data


def test_nothing_is_read_where_the_count_is_zero() -> None:
    models = model_of(TABLE % "")
    assert read(models, b"\0z") == {"N": 0, "End": "z"}
    assert written_again(models, b"\0z") == b"\0z"


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


def test_a_count_that_nobody_has_set_is_counted() -> None:
    models = model_of(TABLE % "")
    assert written(models, {"Item": [{"A": "ab", "B": 1}], "End": "z"}) == b"\1ab\1z"


def test_a_count_that_says_something_else_is_a_problem() -> None:
    with pytest.raises(FormatProblem, match="field Item: expected as many occurrences as N says, found 1"):
        written(model_of(TABLE % ""), {"N": 2, "Item": [{"A": "ab", "B": 1}], "End": "z"})


def test_a_count_above_the_largest_is_a_problem() -> None:
    with pytest.raises(FormatProblem, match="offset 1, field Item: expected 0 to 3 occurrences in N, found 4"):
        read(model_of(TABLE % ""), b"\4" + b"ab\1" * 4 + b"z")


def test_the_number_of_the_occurrence_is_in_the_path() -> None:
    with pytest.raises(FormatProblem, match=r"field Item\[2\].A: expected text in utf-8 in 2 bytes"):
        written(model_of(TABLE % ""), {"N": 2, "Item": [{"A": "ab", "B": 1}, {"A": "abc", "B": 1}], "End": "z"})


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


CHOICE = """
- {name: Kind, type: string, CWF1: {length: 1}}
- choice:
    - {name: Text, type: string, CWF1: {length: 4%s}}
    - name: Pair
      %s
      sequence:
        - {name: X, type: integer, CWF1: {length: 1}}
        - {name: Y, type: integer, CWF1: {length: 1}}
  %s
- {name: End, type: string, CWF1: {length: 1}}
"""
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


def test_a_part_can_be_pickled_with_its_models() -> None:
    models = pickle.loads(pickle.dumps(model_of("- {name: A, type: string, CWF1: {length: 1}}")))
    assert read(models, b"x") == {"A": "x"}
    form = pickle.loads(pickle.dumps(models.format(Text())))
    assert form.domain == "MRM"


def test_elements_that_were_read_know_their_parents() -> None:
    part = parsed(model_of(TABLE % ""), b"\1ab\1z")
    item = part.first("Item")
    assert isinstance(item, Element)
    assert [child.parent is item for child in item.children] == [True, True]
    assert item.parent is part


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

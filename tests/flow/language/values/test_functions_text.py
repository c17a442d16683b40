"""String functions, on CHARACTER, BLOB and BIT alike."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.flow.errors import BAD_ARGUMENT, INCOMPATIBLE_TYPES, ExpressionError
from heliograph.flow.language.values.bits import Bits
from heliograph.flow.language.values.functions import FUNCTIONS


def call(name: str, *arguments: Any) -> Any:
    return FUNCTIONS[name].call(*arguments)


# On strings of 0 and 1, so that each case is one of CHARACTER, of BLOB and of BIT.
ALIKE = [
    ("LENGTH", ("0110",), 4),
    ("LENGTH", ("",), 0),
    ("LEFT", ("0110", 3), "011"),
    ("LEFT", ("0110", 0), ""),
    ("LEFT", ("0110", 9), "0110"),
    ("RIGHT", ("0110", 3), "110"),
    ("RIGHT", ("0110", 0), ""),
    ("RIGHT", ("0110", 9), "0110"),
    ("REPLICATE", ("01", 3), "010101"),
    ("REPLICATE", ("01", 0), ""),
    ("CONTAINS", ("0110", "11"), True),
    ("CONTAINS", ("0110", "00"), False),
    ("CONTAINS", ("0110", ""), True),
    ("STARTSWITH", ("0110", "01"), True),
    ("STARTSWITH", ("0110", "10"), False),
    ("ENDSWITH", ("0110", "10"), True),
    ("ENDSWITH", ("0110", "01"), False),
    ("POSITION", ("1", "0110"), 2),
    ("POSITION", ("00", "0110"), 0),
    ("POSITION", ("", "0110"), 1),
    ("POSITION", ("1", ""), 0),
    ("POSITION", ("1", "0110", 3), 3),
    ("POSITION", ("1", "0110", 4), 0),
    ("POSITION", ("1", "0110", 9), 0),
    ("POSITION", ("1", "0110", 1, 2), 3),
    ("POSITION", ("1", "0110", 1, 3), 0),
    ("POSITION", ("1", "0110", 0, 2), 3),
    ("POSITION", ("1", "0110", 0, -1), 3),
    ("POSITION", ("1", "0110", 0, -2), 2),
    ("POSITION", ("1", "0110", 0, -3), 0),
    ("POSITION", ("0", "0110", 3, -1), 1),
    ("POSITION", ("10", "0110", 9, -1), 3),
    ("POSITION", ("1", "", 0, -1), 0),
    ("SUBSTRING", ("0110", 2, 2), "11"),
    ("SUBSTRING", ("0110", 3), "10"),
    ("SUBSTRING", ("0110", 0, 2), "0"),
    ("SUBSTRING", ("0110", -1, 3), "0"),
    ("SUBSTRING", ("0110", -5, 3), ""),
    ("SUBSTRING", ("0110", -5), "0110"),
    ("SUBSTRING", ("0110", 9, 2), ""),
    ("SUBSTRING", ("0110", 2, 0), ""),
    ("SUBSTRING", ("0110", 2, -1), ""),
    ("SUBSTRING", ("0110", 3, 99), "10"),
    ("SUBSTRING_BEFORE", ("00110", "11"), "00"),
    ("SUBSTRING_BEFORE", ("00110", "11", 1), "0"),
    ("SUBSTRING_BEFORE", ("00110", "111"), ""),
    ("SUBSTRING_AFTER", ("01101", "11"), "01"),
    ("SUBSTRING_AFTER", ("01101", "11", 1), "0"),
    ("SUBSTRING_AFTER", ("01101", "00"), ""),
    ("OVERLAY", ("0000", "11", 2), "0110"),
    ("OVERLAY", ("0000", "11", 2, 1), "01100"),
    ("OVERLAY", ("0000", "11", 2, 0), "011000"),
    ("OVERLAY", ("0000", "11", 2, 99), "011"),
    ("OVERLAY", ("0000", "11", 9), "000011"),
    ("REPLACE", ("0110", "1", "00"), "000000"),
    ("REPLACE", ("0110", "1"), "00"),
    ("REPLACE", ("0110", "", "1"), "0110"),
    ("TRANSLATE", ("0110", "01", "10"), "1001"),
    ("TRANSLATE", ("0110", "1", ""), "00"),
    ("TRIM", ("00100", "0"), "1"),
    ("TRIM", ("00100", "1"), "00100"),
    ("TRIM", ("0000", "0"), ""),
    ("TRIM", ("0100", ""), "0100"),
    ("LTRIM", ("00100", "0"), "100"),
    ("RTRIM", ("00100", "0"), "001"),
    ("RTRIM", ("01010", "10"), "0"),
]
FORMS: dict[str, Any] = {"character": str, "blob": str.encode, "bit": Bits}


def in_form(value: Any, form: str) -> Any:
    return FORMS[form](value) if type(value) is str else value


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("name", "arguments", "result"), ALIKE)
def test_all_string_types_alike(name: str, arguments: tuple[Any, ...], result: Any, form: str) -> None:
    found = call(name, *[in_form(argument, form) for argument in arguments])
    assert found == in_form(result, form)
    assert type(found) is type(in_form(result, form))


@pytest.mark.parametrize(
    ("name", "arguments", "result"),
    [
        ("UPPER", ("Straße é",), "STRASSE É"),
        ("UCASE", ("ab",), "AB"),
        ("LOWER", ("ÄB",), "äb"),
        ("LCASE", ("AB",), "ab"),
        ("SPACE", (3,), "   "),
        ("SPACE", (0,), ""),
        ("TRIM", ("  a b  ",), "a b"),
        ("TRIM", (b"\0a\0",), b"a"),
        ("TRIM", (Bits("0010"),), Bits("1")),
        ("LTRIM", ("  a  ",), "a  "),
        ("RTRIM", ("  a  ",), "  a"),
        ("TRIM", ("\ta ",), "\ta"),
        ("TRANSLATE", ("a-b-c", "-", "+"), "a+b+c"),
        ("TRANSLATE", ("abc", "ab", "x"), "xc"),
        ("TRANSLATE", ("abc", "b"), "ac"),
        ("TRANSLATE", ("ABCDE", "BCD", "XY"), "AXYE"),
        ("TRANSLATE", ("ABCDE", "BCD", "WXYZ"), "AWXYE"),
        ("POSITION", ("B", "ABCABCABCABCABC", 0, -1), 14),
        ("POSITION", ("CA", "ABCABCABCABCABC", 0, -1), 12),
        ("POSITION", ("BC", "ABCABCABCABCABC", 0, -3), 8),
        ("POSITION", ("A", "ABCABCABCABCABC", 0, -2), 10),
        ("POSITION", ("B", "ABCABCABCABCABC", 10, -1), 8),
        ("POSITION", ("BC", "ABCABCABCABCABC", 10, -3), 2),
        ("POSITION", ("BC", "ABCABCABCABCABC", 12, -3), 5),
        ("TRANSLATE", ("aab", "aa", "xy"), "xxb"),
        ("TRANSLATE", (b"abc", b"ab", b"x"), b"xc"),
        ("SUBSTRING", ("Hello World!", 7, 4), "Worl"),
        ("POSITION", ("Village", "Hursley Village"), 9),
        ("OVERLAY", ("ABCDEFGHIJ", "1234", 4, 3), "ABC1234GHIJ"),
        ("REPLACE", ("aaa", "aa", "b"), "ba"),
    ],
)
def test_results(name: str, arguments: tuple[Any, ...], result: Any) -> None:
    assert call(name, *arguments) == result


@pytest.mark.parametrize(
    ("name", "arguments", "number"),
    [
        ("LENGTH", (5,), INCOMPATIBLE_TYPES),
        ("UPPER", (5,), INCOMPATIBLE_TYPES),
        ("UPPER", (b"a",), INCOMPATIBLE_TYPES),
        ("LOWER", (Bits("1"),), INCOMPATIBLE_TYPES),
        ("LEFT", ("a", "1"), INCOMPATIBLE_TYPES),
        ("LEFT", ("a", -1), BAD_ARGUMENT),
        ("RIGHT", ("a", -1), BAD_ARGUMENT),
        ("SPACE", (-1,), BAD_ARGUMENT),
        ("REPLICATE", ("a", -1), BAD_ARGUMENT),
        ("CONTAINS", ("a", b"a"), INCOMPATIBLE_TYPES),
        ("STARTSWITH", (b"a", "a"), INCOMPATIBLE_TYPES),
        ("POSITION", ("a", "a", -1), BAD_ARGUMENT),
        ("POSITION", ("a", "a", 1, 0), BAD_ARGUMENT),
        ("POSITION", ("a", 5), INCOMPATIBLE_TYPES),
        ("SUBSTRING", ("a", 1.0), INCOMPATIBLE_TYPES),
        ("SUBSTRING", ("a", 1, "1"), INCOMPATIBLE_TYPES),
        ("SUBSTRING", (12, 1, 1), INCOMPATIBLE_TYPES),
        ("SUBSTRING_AFTER", ("a", b"a"), INCOMPATIBLE_TYPES),
        ("SUBSTRING_AFTER", ("a", "a", -1), BAD_ARGUMENT),
        ("OVERLAY", ("a", "a", 0), BAD_ARGUMENT),
        ("REPLACE", ("a", "a", b""), INCOMPATIBLE_TYPES),
        ("TRANSLATE", (1, "a", "b"), INCOMPATIBLE_TYPES),
        ("TRIM", (5,), INCOMPATIBLE_TYPES),
        ("TRIM", ("a", b" "), INCOMPATIBLE_TYPES),
    ],
)
def test_errors(name: str, arguments: tuple[Any, ...], number: int) -> None:
    with pytest.raises(ExpressionError) as caught:
        call(name, *arguments)
    assert caught.value.number == number
    assert name.partition("_")[0] in str(caught.value)


@given(st.text(max_size=10), st.integers(-5, 15), st.integers(-5, 15))
def test_substring_is_what_overlaps(text: str, start: int, count: int) -> None:
    places = range(start, start + max(count, 0))
    expected = "".join(character for place, character in enumerate(text, 1) if place in places)
    assert call("SUBSTRING", text, start, count) == expected


@given(st.text("ab", max_size=10), st.text("ab", min_size=1, max_size=3))
def test_before_mark_and_after_are_the_whole(text: str, mark: str) -> None:
    if call("POSITION", mark, text):
        assert call("SUBSTRING_BEFORE", text, mark) + mark + call("SUBSTRING_AFTER", text, mark) == text


@given(st.text("ab", max_size=10), st.text("ab", min_size=1, max_size=3), st.integers(1, 4))
def test_position_finds_what_is_there(text: str, part: str, repeat: int) -> None:
    place = call("POSITION", part, text, 1, repeat)
    if place:
        assert call("SUBSTRING", text, place, len(part)) == part
    back = call("POSITION", part, text, 0, -repeat)
    assert bool(back) is bool(place)

"""Values of fields as text, both ways."""

from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import pytest

from flow.formats.modelled import plain, rewritten
from flow.formats.tds.one_field import one_field
from heliograph.flow.errors import FormatProblem


class TestValues:
    @pytest.mark.parametrize(
        ("field", "text", "value"),
        [
            ("type: string", "some text", "some text"),
            ("type: integer", "-12", -12),
            ("type: decimal", "12.50", Decimal("12.50")),
            ("type: decimal, T: {decimalSeparator: ','}", "12,50", Decimal("12.50")),
            ("type: float", "1.25", 1.25),
            ("type: float", "1e+300", 1e300),
            ("type: boolean", "true", True),
            ("type: boolean, T: {textBooleanTrueRep: J, textBooleanFalseRep: N}", "N", False),
            ("type: binary", "00FF", b"\x00\xff"),
            ("type: date", "2026-01-31", date(2026, 1, 31)),
            ("type: time", "23:59:58", time(23, 59, 58)),
            ("type: dateTime", "2026-01-31T23:59:58", datetime(2026, 1, 31, 23, 59, 58)),
            ("type: date, T: {calendarPattern: dd.MM.yyyy}", "31.01.2026", date(2026, 1, 31)),
            ("type: string, values: [X, Y]", "Y", "Y"),
            ("type: string, T: {padCharacter: '_'}", "x", "x"),
        ],
    )
    def test_are_typed(self, field: str, text: str, value: Any) -> None:
        model = one_field(field)
        data = f"a;{text};z".encode()
        tree = plain(model.read(data))
        assert tree == [("A", "a"), ("V", value), ("Z", "z")]
        assert type(tree[1][1]) is type(value)
        assert model.write(tree) == data

    @pytest.mark.parametrize(
        ("field", "text", "value"),
        [
            ("type: integer", "+0012 ", 12),
            ("type: decimal", " 1.", Decimal(1)),
            ("type: string, T: {padCharacter: '_'}", "x__", "x"),
            ("type: string, T: {padCharacter: '_', justification: right}", "__x", "x"),
        ],
    )
    def test_are_read_generously(self, field: str, text: str, value: Any) -> None:
        assert plain(one_field(field).read(f"a;{text};z".encode()))[1] == ("V", value)

    @pytest.mark.parametrize(
        ("field", "text", "expected"),
        [
            ("type: integer", "1_0", "an integer of 64 bits"),
            ("type: integer", "1.0", "an integer of 64 bits"),
            ("type: integer, T: {strictNumericChecking: true}", "+1", "an integer of 64 bits"),
            ("type: integer, T: {strictNumericChecking: true}", " 1", "an integer of 64 bits"),
            ("type: decimal", "1,5", "a decimal number"),
            ("type: decimal", "NaN", "a decimal number"),
            ("type: decimal, T: {decimalSeparator: ','}", "1.5", "a decimal number"),
            ("type: decimal, T: {strictNumericChecking: true}", "1.", "a decimal number"),
            ("type: float", "inf", "a number"),
            ("type: boolean", "yes", "true or false"),
            ("type: binary", "0", "hexadecimal digits"),
            ("type: date", "31.01.2026", "a date of ISO 8601"),
            ("type: date, T: {calendarPattern: yyyyMMdd}", "20261301", "a date like yyyyMMdd"),
            ("type: string, values: [X, Y]", "Z", "one of X, Y"),
            ("type: integer", "", "an integer of 64 bits"),
        ],
    )
    def test_that_do_not_fit_are_a_problem(self, field: str, text: str, expected: str) -> None:
        with pytest.raises(FormatProblem) as caught:
            plain(one_field(field).read(f"a;{text};z".encode()))
        problem = caught.value
        assert (problem.path, problem.expected, problem.offset) == ("V", expected, 2)
        if text:
            assert problem.found == repr(text)

    @pytest.mark.parametrize(
        ("field", "value", "text"),
        [
            ("type: integer", "12", "12"),
            ("type: integer", Decimal("12.9"), "12"),
            ("type: decimal", 1.5, "1.5"),
            ("type: string", 44.72, "4.472E+1"),
            ("type: date", datetime(2026, 1, 31, 1), "2026-01-31"),
        ],
    )
    def test_of_other_types_are_converted_when_written(self, field: str, value: Any, text: str) -> None:
        assert one_field(field).write([("A", "a"), ("V", value), ("Z", "z")]) == f"a;{text};z".encode()

    @pytest.mark.parametrize(
        ("field", "value", "expected"),
        [
            ("type: integer", "many", "an integer of 64 bits"),
            ("type: date", "tomorrow", "a date of ISO 8601"),
            ("type: string, values: [X]", "Y", "one of X"),
            ("type: string", "a;b", "text without delimiters"),
        ],
    )
    def test_that_cannot_be_written_are_a_problem(self, field: str, value: Any, expected: str) -> None:
        with pytest.raises(FormatProblem) as caught:
            one_field(field).write([("A", "a"), ("V", value), ("Z", "z")])
        assert (caught.value.path, caught.value.expected) == ("V", expected)


class TestCharacterSets:
    def test_ebcdic_is_read_and_written(self) -> None:
        model = one_field("type: integer")
        data = "a;12;z".encode("cp500")
        tree = model.read(data, ccsid=500)
        assert plain(tree)[1] == ("V", 12)
        assert rewritten(tree) == data

    def test_a_format_may_say_its_own(self) -> None:
        assert one_field("type: string", "separator: ';', encoding: latin-1").write(
            [("A", "a"), ("V", "ä"), ("Z", "z")]
        ) == "a;ä;z".encode("latin-1")

"""SWIFT's notation for fields, both ways."""

from decimal import Decimal

import pytest

from heliograph.flow.formats.swift.swift_fields import FieldFormat
from heliograph.flow.tree import Element


class TestNotation:
    @pytest.mark.parametrize(
        ("notation", "text", "values"),
        [
            (":4!c//16x", ":SEME//A B", ["SEME", "A B"]),
            (":4!c/[8c]/4!c", ":STCO//NPAR", ["STCO", "NPAR"]),
            (":4!c/[8c]/4!c", ":STCO/DSS1/NPAR", ["STCO", "DSS1", "NPAR"]),
            (":4!c//[N]3!a15d", ":SETT//NEUR1,5", ["SETT", "N", "EUR", Decimal("1.5")]),
            ("[ISIN1!e12!c][$4*35x]", "ISIN DE0001234567", ["DE0001234567"]),
            ("[ISIN1!e12!c][$4*35x]", "ONLY TEXT", ["ONLY TEXT"]),
            ("[ISIN1!e12!c][$4*35x]", "ISIN DE0001234567\r\nA\r\nB", ["DE0001234567", "A\r\nB"]),
            ("3*5x", "A\nB\nC", ["A\nB\nC"]),
        ],
    )
    def test_takes_apart_and_puts_together(self, notation: str, text: str, values: list[object]) -> None:
        form = FieldFormat("20C", notation, [f"N{number}" for number in range(5)][: _count(notation)])
        children = form.read(Element("F20C"), text)
        assert children is not None
        assert [child.value for child in children] == values
        line_end = "\r\n" if "\r\n" in text else "\n"
        assert form.write({child.name: child.value for child in children}, line_end) == text

    @pytest.mark.parametrize(
        ("notation", "text"),
        [
            ("4!c", "ABC"), ("4!c", "ABCDE"), ("4!c", "abcd"), ("3n", "A"), ("3n", ""), ("5d", "12345,"), ("5d", "5"),
            ("2*3x", "A\r\nB\r\nC"), ("2*3x", "ABCD"), ("16x", "{"),
        ],
    )  # fmt: skip
    def test_refuses_what_does_not_fit(self, notation: str, text: str) -> None:
        assert FieldFormat("20C", notation).fits(text) is None


def _count(notation: str) -> int:
    return {":4!c//16x": 2, ":4!c/[8c]/4!c": 3, ":4!c//[N]3!a15d": 4, "[ISIN1!e12!c][$4*35x]": 2}.get(notation, 1)

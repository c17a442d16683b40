"""What pictures mean."""

import re

import pytest

from heliograph.flow.formats.copybook.copybook_items import Picture, picture


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("X", Picture("text", 1)),
        ("X(10)", Picture("text", 10)),
        ("XX(3)X", Picture("text", 5)),
        ("A(3)9(2)", Picture("text", 5)),
        ("9(8)", Picture("numeric", 8)),
        ("s9(7)v99", Picture("numeric", 9, 2, True)),
        ("S9(5)V9(2)", Picture("numeric", 7, 2, True)),
        ("V999", Picture("numeric", 3, 3)),
        ("9(3)PP", Picture("numeric", 3, -2)),
        ("9(3)P(2)V", Picture("numeric", 3, -2)),
        ("PP9(3)", Picture("numeric", 3, 5)),
        ("VPP9(3)", Picture("numeric", 3, 5)),
        ("9(4)V", Picture("numeric", 4)),
        ("N(4)", Picture("national", 4)),
        ("G(4)", Picture("dbcs", 4)),
        ("ZZ,ZZ9.99", Picture("edited", 9)),
        ("-(5)9", Picture("edited", 6)),
        ("9(3)CR", Picture("edited", 5)),
        ("99/99/9999", Picture("edited", 10)),
    ],
)
def test_a_picture_is_counted(text: str, expected: Picture) -> None:
    assert picture(text) == expected


@pytest.mark.parametrize("text", ["Q(3)", "S", "SX", "9V9V9", "NX"])
def test_what_is_no_picture_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(text)):
        picture(text)

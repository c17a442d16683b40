"""The properties of TDS: characters by name."""

import pytest

from heliograph.errors import Problem
from heliograph.flow.formats.tds.tds_properties import characters


class TestMnemonics:
    @pytest.mark.parametrize(
        ("text", "meant"),
        [
            ("<CR><LF>", "\r\n"),
            ("a<LT>b<GT>", "a<b>"),
            ("<U+20AC>", "€"),
            ("<HT>", "\t"),
            ("<b", "<b"),
            ("<NUL>", "\0"),
        ],
    )
    def test_stand_for_characters(self, text: str, meant: str) -> None:
        assert characters(text) == meant

    def test_that_nobody_knows_are_a_problem(self) -> None:
        with pytest.raises(Problem, match="unknown character <XYZ>"):
            characters("<XYZ>")

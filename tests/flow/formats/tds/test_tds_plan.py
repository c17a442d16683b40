"""Mistakes in models of TDS."""

import pytest

from flow.formats.modelled import Modelled
from heliograph.errors import Problem
from heliograph.flow.errors import ModelProblem
from heliograph.flow.formats.tds.tds_plan import characters


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("{kind: TDS}", "allElementsDelimited: expected a separator"),
        (
            "{kind: TDS, dataElementSeparation: taggedDelimited, separator: ';'}",
            "either tagDataSeparator or lengthOfTag",
        ),
        ("{kind: TDS, dataElementSeparation: taggedFixedLength, lengthOfTag: 2}", "A: expected a tag, found none"),
        ("{kind: TDS, dataElementSeparation: fixedLength}", "A: expected a length"),
        ("{kind: TDS, dataElementSeparation: useDataPattern}", "A: expected a lengthPattern"),
        ("{kind: TDS, dataElementSeparation: undefined}", "A: expected a group"),
        (
            "{kind: TDS, dataElementSeparation: taggedEncodedLength, lengthOfTag: 1}",
            "expected lengthOfEncodedLength",
        ),
        ("{kind: TDS, separator: '<WHAT>'}", "unknown character <WHAT>"),
        ("{kind: TDS, separator: ';', quoteCharacter: ab}", "expected one character"),
        ("{kind: TDS, separator: ';', lengthPattern: '('}", "lengthPattern"),
    ],
)
def test_a_mistake_in_a_model_is_said_with_its_line(model: str, said: str) -> None:
    with pytest.raises(ModelProblem, match=rf"m\.model\.yaml:[0-9]+:[0-9]+: .*{said}"):
        Modelled(f"""
formats:
  T: {model}
messages:
  M: {{sequence: [{{name: A, type: string}}, {{name: B, type: string}}]}}
""").read(b"")


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

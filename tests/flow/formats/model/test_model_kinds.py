"""Properties and references of physical formats, whatever their kind."""

import pytest

from flow.formats.model.order_model import SEVERAL, loaded
from heliograph.flow.errors import ModelProblem
from heliograph.flow.formats.model import Reference, reference
from heliograph.flow.tree import Text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{../n}", Reference(0, ("n",))),
        ("{../../g/n}", Reference(1, ("g", "n"))),
        ("{/g/n}", Reference(None, ("g", "n"))),
        ("{n}", None),
        ("5", None),
        (5, None),
    ],
)
def test_references(text: object, expected: Reference | None) -> None:
    assert reference(text) == expected


def test_a_property_for_all_formats_holds_for_those_that_know_it() -> None:
    field = loaded(SEVERAL).find(Text(message_format="C"))[0].content.members[0]
    assert field.physical["C"] == {"representation": "text", "length": 1, "textBooleanTrueRep": "Y"}
    assert field.physical["X"] == {"maxLength": 9}


def test_a_property_for_all_formats_is_known_to_one_of_them() -> None:
    with pytest.raises(
        ModelProblem, match=r"m\.model\.yaml:8:\d+: no format of the model knows property maxLen; known"
    ):
        loaded(SEVERAL.replace("maxLength", "maxLen"))

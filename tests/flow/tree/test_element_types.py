"""Types of elements: which of them a path means, and what they are in other domains."""

import pytest

from heliograph.flow.tree import Element, Step
from heliograph.flow.tree.element_types import NAME, NAME_VALUE, Xmlnsc


@pytest.mark.parametrize(
    ("wanted", "actual", "expected"),
    [
        (Xmlnsc.FIELD, Xmlnsc.CDATA_FIELD, True),
        (Xmlnsc.CDATA_FIELD, Xmlnsc.FIELD, False),
        (Xmlnsc.ATTRIBUTE, Xmlnsc.SINGLE_ATTRIBUTE, True),
        (Xmlnsc.ATTRIBUTE, Xmlnsc.NAMESPACE_DECL, False),
        (Xmlnsc.COMMENT, Xmlnsc.PI, False),
        (Xmlnsc.FOLDER, Xmlnsc.FIELD, False),
        (NAME_VALUE, NAME, False),
    ],
)
def test_type_of_a_step_means_its_variants_too(wanted: int, actual: int, expected: bool) -> None:
    assert Step(None, None, wanted).matches(Element("e", None, actual)) is expected

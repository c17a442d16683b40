"""Generated writers of TDS: trees that cannot be written."""

import pytest

from flow.formats.tds.one_field import one_field
from heliograph.flow.errors import FormatProblem


def test_an_element_that_the_model_does_not_have_is_refused() -> None:
    with pytest.raises(FormatProblem, match="field X: expected one of A, V, Z, found X"):
        one_field("type: string").write([("A", "a"), ("V", "v"), ("X", "x"), ("Z", "z")])

"""Reading modelled XML: errors, and both ways to read."""

from typing import Any

import pytest
from hypothesis import given, settings

from flow.formats.modelled import plain
from flow.formats.mrm_xml.xml_values import VALUES, messages
from heliograph.flow.errors import FormatProblem


def test_the_first_of_two_mistakes_is_said() -> None:
    # Long enough to be read in pieces: the tag that never ends is in another one.
    document = b'<message><text>a</text>\n<G A="x">text<L>y</L></G>' + b'<G A="x"><L>y</L></G>' * 30 + b"<G"
    with pytest.raises(FormatProblem, match="line 2, field G: expected elements L, found text 'text'"):
        plain(VALUES.read(document))


@given(messages())
@settings(max_examples=80, deadline=None)
def test_usual_documents_are_read_as_all_others(values: list[tuple[str, Any]]) -> None:
    data = VALUES.write(values)
    commented = data.replace(b"<message>", b"<message><!-- unusual -->")
    assert plain(VALUES.read(data)) == plain(VALUES.read(commented))

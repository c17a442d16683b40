"""Writing modelled XML."""

from typing import Any

import pytest
from hypothesis import given, settings
from lxml import etree

from flow.formats.modelled import plain, rewritten
from flow.formats.mrm_xml.xml_values import VALUES, has_empty_groups, messages
from heliograph.flow.errors import FormatProblem


def test_characters_that_xml_does_not_have_are_not_written() -> None:
    with pytest.raises(FormatProblem, match=r"field S: expected characters that XML allows, found U\+0001"):
        VALUES.write([("S", "a\x01")])


@given(messages())
@settings(max_examples=150, deadline=None)
def test_what_is_written_is_read_again(values: list[tuple[str, Any]]) -> None:
    data = VALUES.write(values)
    etree.fromstring(data)
    tree = VALUES.read(data)
    assert plain(tree) == [(name, value) for name, value in values if value != []] or has_empty_groups(values)
    assert rewritten(tree) == data

"""What holds for every format: bytes stay, trees survive, the beginning can be had when the end is broken."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flow.formats.every_format import WAYS
from flow.formats.modelled import plain, rewritten
from heliograph.flow.errors import FormatProblem
from heliograph.flow.tree import Element

every = pytest.mark.parametrize("name", WAYS)


def read_everything(element: Element) -> None:
    for _ in element.descendants():
        pass


@every
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_a_message_that_is_only_read_keeps_its_bytes(name: str, data: Any) -> None:
    message = data.draw(WAYS[name].messages)
    part = WAYS[name].part(message)
    read_everything(part)
    assert part.bytes() == message


@every
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_a_message_that_is_written_anew_has_the_same_tree(name: str, data: Any) -> None:
    part = WAYS[name].part(data.draw(WAYS[name].messages))
    before = plain(part)
    assert plain(WAYS[name].part(rewritten(part))) == before


@every
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_a_message_that_we_wrote_is_written_anew_with_the_same_bytes(name: str, data: Any) -> None:
    message = rewritten(WAYS[name].part(data.draw(WAYS[name].messages)))
    assert rewritten(WAYS[name].part(message)) == message


@pytest.mark.parametrize("name", [name for name in WAYS if name != "MQRFH2"])
def test_a_filter_on_an_early_field_does_not_read_the_rest(name: str) -> None:
    broken, path, value = WAYS[name].broken
    part = WAYS[name].part(broken)
    element: Element | None = part
    for step in path:
        assert element is not None
        element = element.first(step)
    assert element is not None
    assert element.value == value
    with pytest.raises(FormatProblem):
        read_everything(part)


@every
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_broken_bytes_are_a_problem_or_a_message_but_never_another_error(name: str, data: Any) -> None:
    message = bytearray(data.draw(WAYS[name].messages))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(message)))
        message[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    try:
        read_everything(WAYS[name].part(bytes(message)))
    except FormatProblem as problem:
        said = problem
    else:
        return
    assert said.expected
    assert said.found
    assert said.line is not None or said.offset is not None, str(said)

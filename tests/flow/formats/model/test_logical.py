"""Logical messages: fields and groups."""

import pytest

from heliograph.common.documents import Place
from heliograph.flow.formats.model import Field, Group, Occurs, Order, Type

HERE = Place("m.model.yaml", 1, 1)


def test_a_group_has_the_fields_of_its_inner_groups_in_order() -> None:
    a, b, c = (Field(name, Type.STRING, HERE) for name in "abc")
    inner = Group("", Order.CHOICE, (b,), HERE)
    assert list(Group("g", Order.SEQUENCE, (a, inner, c), HERE).fields()) == [a, b, c]


@pytest.mark.parametrize(("most", "repeats"), [(1, False), (2, True), (None, True)])
def test_what_may_come_more_than_once_repeats(most: int | None, *, repeats: bool) -> None:
    assert Occurs(0, most).repeats is repeats

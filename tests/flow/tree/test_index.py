"""Work on many siblings grows with their number, not with its square: counted in look-ups of names, not in time."""

import pytest

from heliograph.flow.tree import Element, Step


class CountedName(str):
    """A name that counts how often it is compared or hashed."""

    __slots__ = ()
    looked_at = 0

    def __eq__(self, other: object) -> bool:
        CountedName.looked_at += 1
        return str.__eq__(self, other)  # type: ignore[arg-type]

    def __hash__(self) -> int:
        CountedName.looked_at += 1
        return str.__hash__(self)


def _by_number(root: Element, count: int) -> None:
    for number in range(1, count + 1):
        assert root.nth("item", number) is not None


def _by_typed_step(root: Element, count: int) -> None:
    step = Step("item", "", root.children[0].type)
    for number in range(1, count + 1):
        assert root.match_nth(step, number) is not None


def _by_sibling(root: Element, count: int) -> None:
    element, step = root.nth("item", 1), Step("item")
    for _ in range(count - 1):
        assert element is not None
        element = element.next_sibling(step)
    assert element is not None


def _by_ensure(root: Element, count: int) -> None:
    for number in range(1, count + 1):
        made = root.ensure_nth("item", count + number)
        assert made is not None
        made.name = CountedName("item")


def _delete_first(root: Element, count: int) -> None:
    for _ in range(count):
        found = root.first("item")
        assert found is not None
        found.delete()


@pytest.mark.parametrize("work", [_by_number, _by_typed_step, _by_sibling, _by_ensure, _delete_first])
def test_work_on_all_siblings_is_linear(work: object) -> None:
    counts = []
    for size in (200, 2000):
        root = Element("root")
        for _ in range(size):
            root.append(Element(CountedName("item")))
        CountedName.looked_at = 0
        work(root, size)  # type: ignore[operator]
        counts.append(CountedName.looked_at)
    assert counts[1] <= counts[0] * 15

"""Sizes of items, and the slack bytes that SYNC puts before them."""

from typing import NamedTuple

from heliograph.flow.formats.copybook.items import Item
from heliograph.flow.formats.model import ModelProblem

MOST_DIGITS = 18
SMALL, MEDIUM = 4, 9
"""Digits up to which a binary number has 2 and 4 bytes."""


class Boundary(NamedTuple):
    """The bytes of an item, and what SYNC aligns it to."""

    size: int
    alignment: int


def boundary(item: Item) -> Boundary:
    """Of an item without others below it, once."""
    usage, pic = item.usage or "DISPLAY", item.picture
    if usage in ("SINGLE", "INDEX"):
        return Boundary(4, 4)
    if usage == "DOUBLE":
        return Boundary(8, 8)
    assert pic is not None
    if pic.kind in ("national", "dbcs") or usage == "NATIONAL":
        return Boundary(2 * pic.size, 1)
    if pic.kind != "numeric":
        return Boundary(pic.size, 1)
    if usage in ("BINARY", "NATIVE"):
        if pic.size > MOST_DIGITS:
            raise ModelProblem(item.place, f"{item.name}: a binary number has at most {MOST_DIGITS} digits")
        size = 2 if pic.size <= SMALL else 4 if pic.size <= MEDIUM else 8
        return Boundary(size, min(size, 4))
    if usage == "PACKED":
        return Boundary(pic.size // 2 + 1, 1)
    if usage == "UNSIGNED-PACKED":
        return Boundary((pic.size + 1) // 2, 1)
    if usage != "DISPLAY":
        raise ModelProblem(item.place, f"{item.name}: a number cannot have usage {usage}")
    return Boundary(pic.size + (pic.signed and item.sign.endswith("Separate")), 1)


def slack_of(record: Item) -> dict[Item, tuple[int, int]]:
    """Slack bytes before items, and behind each occurrence of those in tables."""
    found: dict[Item, tuple[int, int]] = {}
    if any(item.sync for item in record.below()):
        _lay(record, 0, found)
    return found


def _lay(item: Item, offset: int, found: dict[Item, tuple[int, int]]) -> int:
    """Where the item ends that begins here, with all its occurrences."""
    count = item.occurs.most if item.occurs is not None else 1
    before = -offset % _first_alignment(item)
    offset += before
    if not item.children:
        found[item] = (before, 0)
        return offset + count * boundary(item).size
    end = _lay_members(item, offset, found)
    behind = -(end - offset) % _widest(item) if item.occurs is not None else 0
    found[item] = (before, behind)
    return offset + count * (end - offset + behind)


def _lay_members(item: Item, offset: int, found: dict[Item, tuple[int, int]]) -> int:
    starts: dict[str, int] = {}
    end = offset
    for child in item.children:
        start = starts.get(child.redefines, end) if child.redefines else end
        if not child.redefines:
            starts = {}
        starts[child.name] = start
        end = max(end, _lay(child, start, found)) if child.redefines else _lay(child, start, found)
    return end


def _first_alignment(item: Item) -> int:
    """What the first elementary item in it is aligned to: slack before that goes before the group."""
    while item.children:
        item = item.children[0]
    return boundary(item).alignment if item.sync else 1


def _widest(item: Item) -> int:
    aligned = [boundary(each).alignment for each in item.below() if each.sync and not each.children]
    return max(aligned, default=1)

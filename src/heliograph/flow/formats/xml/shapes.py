"""Shapes: documents that differ only in the texts of their leaves are read by filling in a template.

Messages of one kind mostly have the same tags in the same order. A document is cut into tags and texts in one go; if
its tags are those of a document that came before, its elements are copies of those of that document, with other values.
That the tags are the same is all that has to be checked about them. The template is what the reader has made of the
first such document, so a shape can hold everything that the reader can read.

A shape is learned when its tags come for the second time: documents that are all different must not pay for it.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from operator import itemgetter
from typing import Any

from heliograph.flow.formats.xml.dialect import Dialect
from heliograph.flow.tree import Element, Part
from heliograph.flow.tree.index import FirstPlaces

_LONGEST = 16_384
_MOST_TAGS = 200
_MARK = "\0"
"""Stands before every tag in the key of a shape, so that what came before a `>` is never taken for a tag."""
_USUAL_TAG = re.compile(r"""/?[A-Za-z_:][\w:.-]*(?:\s+[\w:.-]+\s*=\s*(?:"[^"]*"|'[^']*'))*\s*/?""", re.ASCII).fullmatch

_FEW = 8
"""Elements with more children get the places of their names with them."""

_Plan = list[tuple[str, int, str, Any, bool, Any, FirstPlaces | None]]
"""Children: name, type, namespace, value, whether that is filled in instead; the plan of the children below, and their
places."""


class Cut:
    """A document, cut into tags and the text behind each."""

    __slots__ = ("tags", "texts")

    def __init__(self, text: str) -> None:
        pieces = text.replace("<", ">" + _MARK).split(">")
        self.tags = tuple(pieces[1::2])
        self.texts = pieces[2::2] if not pieces[0] and len(pieces) % 2 else []


def cut(text: str) -> Cut | None:
    """The document in pieces, if it is one that may have a shape."""
    if len(text) > _LONGEST:
        return None
    made = Cut(text)
    return made if 1 < len(made.tags) == len(made.texts) <= _MOST_TAGS else None


class Shape:
    """What documents with the same tags have in common; empty before it is learned."""

    __slots__ = ("_between", "_get_between", "_get_values", "_plan", "_seen")

    def __init__(self) -> None:
        self._seen = 0
        self._plan: _Plan | None = None
        self._get_values: Callable[[list[str]], tuple[str, ...]]
        self._get_between: Callable[[list[str]], tuple[str, ...]]
        self._between: tuple[str, ...] = ()

    def values(self, texts: list[str]) -> tuple[str, ...] | None:
        """The texts of the leaves; None if this shape is not known, or has other texts between its elements."""
        if self._plan is None or self._get_between(texts) != self._between:
            return None
        return self._get_values(texts)

    def fill(self, part: Part, values: Iterator[str]) -> None:
        """Put the elements under the part."""
        assert self._plan is not None
        part._children = _filled(self._plan, part, values)
        part._open = None

    def learn(self, part: Part, dialect: Dialect, document: Cut) -> None:
        """Take the elements that were read from a document for a template, if these tags have been seen before."""
        self._seen += 1
        if self._seen != 2:
            return
        leaves = _leaves(document.tags)
        if leaves is None:
            return
        indices = [at for at in leaves if at >= 0]
        others = sorted(set(range(len(document.texts))) - set(indices))
        # With a text that is always there, these give tuples even for a single index.
        self._get_values = itemgetter(*indices, -1)
        self._get_between = itemgetter(*others, -1)
        self._between = self._get_between(document.texts)
        self._plan = _planned(part._children or [], dialect, iter(leaves))


@lru_cache(maxsize=256)
def shape_of(domain: str, tags: tuple[str, ...]) -> Shape:
    """The shape of documents with these tags."""
    return Shape()


def _leaves(tags: tuple[str, ...]) -> list[int] | None:
    """For every element in order, the index of the text that is its value, or -1; None if a tag is unusual."""
    leaves = []
    for at, tag in enumerate(tags):
        name = tag[1:]
        if at == 0 and name.startswith("?xml "):
            continue
        if not tag.startswith(_MARK) or _USUAL_TAG(name) is None:
            return None
        if name.startswith("/"):
            continue
        is_leaf = not name.endswith("/") and tags[at + 1].startswith(_MARK + "/")
        leaves.append(at if is_leaf else -1)
    return leaves


def _planned(elements: list[Element], dialect: Dialect, leaves: Iterator[int]) -> _Plan:
    plan: _Plan = []
    for element in elements:
        is_element = element.type in (dialect.leaf, dialect.folder)
        fill = is_element and next(leaves) >= 0
        below = _planned(element._children, dialect, leaves) if element._children else None
        plan.append((element.name, element.type, element.namespace, element.value, fill, below, _places(below)))
    return plan


def _places(plan: _Plan | None) -> FirstPlaces | None:
    if plan is None or len(plan) <= _FEW:
        return None
    return FirstPlaces([None if namespace else name for name, _, namespace, *_ in plan])


def _filled(plan: _Plan, parent: Element, values: Iterator[str], new: Any = Element.__new__) -> list[Element]:
    """Elements as planned. They are made without a call of `__init__`: this loop is most of what reading costs."""
    children = []
    for name, kind, namespace, value, fill, below, places in plan:
        element = new(Element)
        element.name = name
        element.value = next(values) if fill else value
        element.type = kind
        element.namespace = namespace
        element.parent = parent
        element._open = None
        element._index = places
        element._at = 0
        element._children = _filled(below, element, values) if below is not None else None
        children.append(element)
    return children

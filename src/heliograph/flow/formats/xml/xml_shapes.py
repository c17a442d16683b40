"""Shapes: documents that differ only in the texts of their leaves have the same layout.

Messages of one kind mostly have the same tags in the same order. A document is cut into tags and texts in one go; if
its tags are those of a document that came before, what is left to do is to pick the values from the texts: its elements
stay packed. That the tags are the same is all that has to be checked about them. The layout is what the reader has made
of the first such document, so a shape can hold everything that the reader can read.

Of the shapes that documents with the same root had lately, an expression for the whole document finds the values
without even cutting out the tags: that is faster still, unless the document is long.

A shape is learned when its tags come for the second time: documents that are all different must not pay for it.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from operator import itemgetter

from heliograph.flow.formats.xml.dialect import Dialect
from heliograph.flow.tree import Element
from heliograph.flow.tree.packed import Layout, PackedField

_WINDOW = 4096
_MOST_TAGS = 400
_LONGEST_MATCHED = 16_384
"""In longer documents `cut` is faster than an expression."""
_MOST_LIKELY = 4
_ROOT = re.compile(r"(?:<\?xml [^>]*\?>\s*)?<([^\s/>]+)").match
_MARK = "\0"
"""Stands before every tag in the key of a shape, so that what came before a `>` is never taken for a tag."""
_USUAL_TAG = re.compile(r"""/?[A-Za-z_:][\w:.-]*(?:\s+[\w:.-]+\s*=\s*(?:"[^"]*"|'[^']*'))*\s*/?""", re.ASCII).fullmatch


class Cut:
    """A document, cut into tags and the text behind each."""

    __slots__ = ("tags", "texts")

    def __init__(self, pieces: list[str]) -> None:
        self.tags = tuple(pieces[1::2])
        self.texts = pieces[2::2] if not pieces[0] and len(pieces) % 2 else []


def cut(text: str) -> Cut | None:
    """The document in pieces, if it is one that may have a shape."""
    pieces = text.replace("<", ">" + _MARK).split(">") if len(text) <= _WINDOW else _pieces(text)
    if pieces is None:
        return None
    made = Cut(pieces)
    return made if 1 < len(made.tags) == len(made.texts) <= _MOST_TAGS else None


def _pieces(text: str) -> list[str] | None:
    """As for a short text. But `replace` and `split` look at each character, and `find` does not: so long texts, of
    which most of a long document with few tags consists, are left out of that.
    """
    pieces = [""]
    at = 0
    while at < len(text):
        stop = text.find("<", at + _WINDOW)
        window = text[at : stop if stop >= 0 else len(text)]
        behind = window.rfind(">") + 1
        found = window[:behind].replace("<", ">" + _MARK).split(">")
        pieces[-1] += found[0]
        pieces += found[1:]
        pieces[-1] += window[behind:]
        if len(pieces) > 2 * _MOST_TAGS + 1:
            return None
        at += len(window)
    return pieces


class Shape:
    """What documents with the same tags have in common; empty before it is learned."""

    __slots__ = ("_between", "_get_between", "_get_values", "_seen", "layout", "match")

    def __init__(self) -> None:
        self._seen = 0
        self.match: Callable[[str], re.Match[str] | None]
        """Finds the values in a whole document of this shape."""
        self.layout: Layout | None = None
        """The children of the part."""
        self._get_values: Callable[[list[str]], tuple[str, ...]]
        self._get_between: Callable[[list[str]], tuple[str, ...]]
        self._between: tuple[str, ...] = ()

    def is_due(self) -> bool:
        """Whether this is the time to learn it."""
        self._seen += 1
        return self._seen == 2

    def values(self, texts: list[str]) -> tuple[str, ...] | None:
        """The texts of the leaves; None if this shape is not known, or has other texts between its elements."""
        if self.layout is None or self._get_between(texts) != self._between:
            return None
        return self._get_values(texts)

    def learn(self, elements: list[Element], dialect: Dialect, document: Cut) -> None:
        """Take the elements that were read from a document for what all of this shape have."""
        leaves = _leaves(document.tags)
        if leaves is None:
            return
        indices = [at for at in leaves if at >= 0]
        others = sorted(set(range(len(document.texts))) - set(indices))
        # With a text that is always there, these give tuples even for a single index.
        self._get_values = itemgetter(*indices, -1)
        self._get_between = itemgetter(*others, -1)
        self._between = self._get_between(document.texts)
        self.match = _expression(document, set(indices)).fullmatch
        places = {at: place for place, at in enumerate(indices)}
        self.layout = _layout(elements, dialect, iter([places.get(at, -1) for at in leaves]))


@lru_cache(maxsize=256)
def shape_of(domain: str, tags: tuple[str, ...]) -> Shape:
    """The shape of documents with these tags."""
    return Shape()


class Likely:
    """Shapes that documents with the same root had lately, the last one first."""

    __slots__ = ("_shapes",)

    def __init__(self) -> None:
        self._shapes: tuple[Shape, ...] = ()

    def find(self, text: str) -> tuple[Layout, tuple[str, ...]] | None:
        """The layout of this document and its values; None if it has none of these shapes."""
        for shape in self._shapes:
            found = shape.match(text)
            if found is not None and shape.layout is not None:
                if shape is not self._shapes[0]:
                    self.add(shape)
                return shape.layout, found.groups()
        return None

    def add(self, shape: Shape) -> None:
        """A document had this shape."""
        self._shapes = (shape, *(other for other in self._shapes if other is not shape))[:_MOST_LIKELY]


def likely_shapes(domain: str, text: str) -> Likely | None:
    """Those to try on a document; None if it is too long for that."""
    root = _ROOT(text) if len(text) <= _LONGEST_MATCHED else None
    return _likely(domain, root[1]) if root is not None else None


@lru_cache(maxsize=256)
def _likely(domain: str, root: str) -> Likely:
    return Likely()


def _expression(document: Cut, leaves: set[int]) -> re.Pattern[str]:
    """Matches documents of a shape, and nothing else; each group is a value."""
    pieces = []
    for at, (tag, text) in enumerate(zip(document.tags, document.texts, strict=True)):
        pieces.append(re.escape(f"<{tag[1:]}>"))
        pieces.append("([^<]*+)" if at in leaves else re.escape(text))
    return re.compile("".join(pieces))


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


def _layout(elements: list[Element], dialect: Dialect, places: Iterator[int]) -> Layout:
    fields = []
    for element in elements:
        is_element = element.type in (dialect.leaf, dialect.folder)
        place = next(places) if is_element else -1
        below = _layout(element.loaded, dialect, places) if element.loaded else None
        value = None if place >= 0 else element.value
        fields.append(PackedField(element.name, element.type, element.namespace, value, place, below))
    return Layout(fields)

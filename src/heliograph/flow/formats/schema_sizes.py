"""How many elements the types of an XML schema have, before the library builds them.

The library compares each element of a type with each other one, through all groups that the type refers to, which
multiply. That is bounded here, where counting takes no longer than reading the schema.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from xml.etree.ElementTree import Element

from heliograph.common.documents import Place
from heliograph.flow.formats.model.problem import ModelProblem

XSD = "{http://www.w3.org/2001/XMLSchema}"
MOST_PAIRS = 4_000_000
"""Pairs of elements of one type, in all types: some 3 seconds. It is one type with 2,000 elements, or 4,400 with 30."""

_PARTICLES = (f"{XSD}element", f"{XSD}any")
_HOLDERS = (f"{XSD}sequence", f"{XSD}choice", f"{XSD}all", f"{XSD}complexContent", f"{XSD}restriction")


def check_sizes(roots: Sequence[Element], place: Callable[[str], Place]) -> None:
    """A ModelProblem if types of the schema in these files have too many elements; `place` finds a name."""
    sizes = _Sizes(roots)
    pairs = 0
    for component in (one for root in roots for one in root):
        name = component.get("name", "")
        for kind in component.iter(f"{XSD}complexType"):
            pairs += sizes.inside(kind) ** 2
            if pairs > MOST_PAIRS:
                raise ModelProblem(
                    place(name),
                    f"{name}: the types up to here have too many elements: "
                    f"expected at most {MOST_PAIRS} pairs of elements of the same type",
                )


class _Sizes:
    def __init__(self, roots: Sequence[Element]) -> None:
        self._named: defaultdict[tuple[str, str], list[Element]] = defaultdict(list)
        """Global groups and types by tag and name, whatever their namespace."""
        for root in roots:
            for one in root:
                self._named[one.tag, one.get("name", "")].append(one)
        self._known: dict[tuple[str, str], int] = {}

    def inside(self, holder: Element) -> int:
        """Elements inside, at all depths of groups; what is inside of these elements belongs to other types."""
        count = 0
        for one in holder:
            if one.tag in _PARTICLES:
                count += 1
            elif one.tag in _HOLDERS:
                count += self.inside(one)
            elif one.tag == f"{XSD}group":
                count += self._of(one.tag, one.get("ref", ""))
            elif one.tag == f"{XSD}extension":
                count += self._of(f"{XSD}complexType", one.get("base", "")) + self.inside(one)
        return count

    def _of(self, tag: str, reference: str) -> int:
        key = tag, reference.rpartition(":")[2]
        if key not in self._known:
            self._known[key] = 0  # for those that contain themselves, which the library refuses
            self._known[key] = max(map(self.inside, self._named.get(key, ())), default=0)
        return self._known[key]

"""The files that an XML schema is made of: `xs:include` and `xs:import` of files beside it, and of no others.

A relative path means the file of this name beside it, whatever folders it names: models have one folder.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from warnings import catch_warnings, simplefilter
from xml.etree.ElementTree import Element
from xml.parsers import expat

import xmlschema
from xmlschema.exceptions import XMLSchemaWarning

from heliograph.common.documents import Place
from heliograph.flow.errors import ModelProblem

# How many elements the types of an XML schema have, before the library builds them.
#
# The library compares each element of a type with each other one, through all groups that the type refers to, which
# multiply. That is bounded here, where counting takes no longer than reading the schema.

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


MOST_FILES = 200
XML_NAMESPACE = "http://www.w3.org/XML/1998/namespace"
"""Of xml:lang and the like: every schema may import it, from wherever it says."""

_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_REFERENCE = re.compile(r"<((?:[\w.-]+:)?)(include|import|redefine|override)\b([^>]*?)(?:/>|>.*?</\1\2\s*>)", re.DOTALL)
_ATTRIBUTE = re.compile(r"""([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_ABSOLUTE = re.compile(r"/|[A-Za-z][\w+.-]*:").match
_NAME = re.compile(r"""\bname\s*=\s*["']([^"']*)["']""")
_NAMESPACE = re.compile(r"""<(?:[\w.-]+:)?schema\b[^>]*?\btargetNamespace\s*=\s*["']([^"']*)["']""", re.DOTALL)


class SchemaFiles:
    """A schema and all that it takes in."""

    def __init__(self, text: str, file: str, others: Mapping[str, str]) -> None:
        self._others = others
        self.texts: dict[str, str] = {}
        """By file, the schema itself first; without their references to each other."""
        self._namespaces: dict[str, str] = {}
        self._places: dict[str, Place] = {}
        self._take(text, file, "")

    def schema(self) -> xmlschema.XMLSchema:
        """The schema. Nothing is looked for outside these texts."""
        (_, first), *rest = self.texts.items()
        with catch_warnings():
            simplefilter("ignore", XMLSchemaWarning)  # what cannot be used for that, the schema says itself
            schema = xmlschema.XMLSchema(first, allow="none", defuse="always", build=False)
            roots = [schema.root]
            for file, text in rest:
                roots.append(schema.add_schema(text, namespace=self._namespaces[file] or None).root)
            check_sizes(roots, self.place)
            schema.build()
        return schema

    def place(self, name: str) -> Place:
        """Where a name is first given to something: the library does not keep lines."""
        if not self._places:
            for file, text in self.texts.items():
                line, at = 1, 0
                for found in _NAME.finditer(text):
                    line, at = line + text.count("\n", at, found.start()), found.start()
                    self._places.setdefault(found[1], Place(file, line))
        return self._places.get(name) or Place(next(iter(self.texts)), 1)

    def _take(self, text: str, file: str, around: str) -> None:
        """Take a file in; `around` is the namespace of the file that includes it."""
        if len(self.texts) == MOST_FILES:
            raise ModelProblem(Place(file, 1), f"expected at most {MOST_FILES} files in one schema")
        _check(text, file)
        text = _COMMENT.sub(_lines_of, text)
        found = _NAMESPACE.search(text)
        namespace = found[1] if found is not None else around
        self.texts[file] = _REFERENCE.sub(_without_location, text)
        self._namespaces[file] = namespace
        for reference in _REFERENCE.finditer(text):
            place = Place(file, text.count("\n", 0, reference.start()) + 1)
            self._follow(reference, place, namespace)

    def _follow(self, reference: re.Match[str], place: Place, namespace: str) -> None:
        kind = reference[2]
        if kind not in ("include", "import"):
            raise ModelProblem(place, f"expected xs:include or xs:import, found xs:{kind}")
        given = _attributes(reference)
        location = _location(given)
        if kind == "import" and (location is None or given.get("namespace") == XML_NAMESPACE):
            return
        if location is None or location not in self._others:
            expected = "expected the name of a file beside this one"
            raise ModelProblem(place, f"schemaLocation: {expected}, found {given.get('schemaLocation')!r}")
        if location not in self.texts:
            self._take(self._others[location], location, namespace if kind == "include" else "")


def files_taken_in(text: str) -> frozenset[str]:
    """The files that a schema names itself; none if it is no XML."""
    try:
        _check(text, "")
    except ModelProblem:
        return frozenset()
    references = _REFERENCE.finditer(_COMMENT.sub("", text))
    return frozenset(location for one in references if (location := _location(_attributes(one))) is not None)


def _attributes(reference: re.Match[str]) -> dict[str, str]:
    return {name: first or second for name, first, second in _ATTRIBUTE.findall(reference[3])}


def _location(given: Mapping[str, str]) -> str | None:
    """Where a reference says that its file is: without folders, for all files of a model are in one."""
    location = given.get("schemaLocation")
    return location if location is None or _ABSOLUTE(location) else location.rpartition("/")[2]


def _check(text: str, file: str) -> None:
    """Only well-formed XML is searched, and taken apart by the library: what is not, is told with its line."""
    parser = expat.ParserCreate("utf-8")
    try:
        parser.Parse(text.encode(), True)
    except expat.ExpatError as error:
        raise ModelProblem(
            Place(file, error.lineno), f"cannot use this XML schema: {expat.ErrorString(error.code)}"
        ) from None


def _lines_of(found: re.Match[str]) -> str:
    """Nothing, but as many lines."""
    return "\n" * found[0].count("\n")


def _without_location(found: re.Match[str]) -> str:
    """What is left of a reference: which namespaces a schema imports, in as many lines."""
    given = _attributes(found)
    if found[2] != "import" or "namespace" not in given:
        return _lines_of(found)
    return f'<{found[1]}import namespace="{given["namespace"]}"/>{_lines_of(found)}'

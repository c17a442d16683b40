"""The writer: elements as a document. What it writes is read again as the same elements."""

import re
from base64 import b64encode
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from heliograph.flow.errors import CANNOT_WRITE, FormatProblem
from heliograph.flow.formats.xml.dialect import NO_PREFIXES, Dialect, ascii_name, has_any, writable
from heliograph.flow.tree import Element, Part
from heliograph.flow.tree.element_types import ROLES, Role, Xmlnsc, role_of
from heliograph.flow.tree.packed import Layout, Packed

_TEXT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
_ATTRIBUTE = str.maketrans(
    {
        "&": "&amp;",
        "<": "&lt;",
        ">": "&gt;",
        '"': "&quot;",
        "'": "&apos;",
        "\r": "&#13;",
        "\n": "&#10;",
        "\t": "&#9;",
    }
)
_ATTRIBUTE_CARE = re.compile("[\"'\r\n\t]").search
_NEEDS_CARE = re.compile("[\x00-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff]").search
"""Characters that must not be in a document, and the one that would not be read again as it is."""
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]").search
_MARK = "\0"
"""Stands on both sides of the number of a value, as it can be in none."""
_MOST_TEMPLATES = 64
"""Of one layout: names of elements may come from anywhere."""
_CARE_ASCII = bytes((*range(9), *range(11, 32)))
# The most frequent roles as globals: accessing a member of an enumeration takes as long as a call.
_ELEMENT, _CDATA_ELEMENT, _ATTRIBUTE_ROLE, _NAMESPACE = (
    Role.ELEMENT,
    Role.CDATA_ELEMENT,
    Role.ATTRIBUTE,
    Role.NAMESPACE,
)
_ASIDE_TYPES = {
    domain: frozenset(kind for kind, role in roles.items() if role in (_ATTRIBUTE_ROLE, _NAMESPACE))
    for domain, roles in ROLES.items()
}


def write_document(part: Part, dialect: Dialect) -> tuple[str, str | None]:
    """The document, and the encoding that it declares."""
    declared = None
    pieces = _packed_pieces(part, dialect)
    if pieces is None:
        writer = _Writer(dialect)
        declared = writer.write_top(part)
        pieces = writer.out
    document = "".join(pieces)
    if _may_need_care(document):
        writer = _Writer(dialect, careful=True)
        writer.write_top(part)
        document = "".join(writer.out)
    return document, declared


def _may_need_care(document: str) -> bool:
    if not document.isascii():
        return _NEEDS_CARE(document) is not None
    return has_any(document, _CARE_ASCII)


def _packed_pieces(part: Part, dialect: Dialect) -> Sequence[str] | None:
    """Of a document with one element, whose children are packed; None if it is another, or not that simple."""
    children = part.loaded
    if children is None or len(children) != 1 or part.pending is not None:
        return None
    top = children[0]
    packed = top.pending
    if type(packed) is not Packed or top.value is not None or top.type not in (dialect.folder, dialect.leaf):
        return None
    template = _known_template(dialect, top, packed.layout)
    return template.pieces_with(packed.values, dialect) if template is not None else None


class _Template(NamedTuple):
    """What is written of elements with one layout."""

    pieces: list[str]
    """Of the document; every second is the place of a value."""
    get_values: Callable[[Sequence[Any]], Sequence[Any]]
    escapes: Sequence[dict[int, str]]
    """What is to be written otherwise in each value."""
    has_attributes: bool

    def pieces_with(self, packed: Sequence[Any], dialect: Dialect) -> list[str] | None:
        """The pieces with these values in their places; None if that is not how they are written."""
        pieces, get_values, escapes, has_attributes = self
        values = get_values(packed)
        if "" in values:
            return None  # is written in another way
        try:
            text = "".join(values)
        except TypeError:
            text_of = dialect.text_of
            values = [value if type(value) is str else text_of(value) for value in values]
            text = "".join(values)
        if "&" in text or "<" in text or ">" in text or (has_attributes and _ATTRIBUTE_CARE(text)):
            values = [value.translate(escape) for value, escape in zip(values, escapes, strict=True)]
        pieces = pieces.copy()
        pieces[1::2] = values
        return pieces


def _known_template(dialect: Dialect, element: Element, layout: Layout) -> _Template | None:
    """The template of an element with this layout, made when it is needed for the first time."""
    written = layout.written
    key = (dialect.domain, element.name, element.type, element.namespace)
    try:
        template: _Template | None = written[key]
    except KeyError:
        if len(written) > _MOST_TEMPLATES:
            written.clear()
        template = written[key] = _template(dialect, element, layout)
    return template


def _template(dialect: Dialect, element: Element, layout: Layout) -> _Template | None:
    """What the writer makes of an element with this layout, whatever its values; None if that depends on more."""
    leaves = [field for field in layout.all_fields() if field.place >= 0]
    plain = (dialect.folder, dialect.leaf, dialect.attribute)
    if not leaves or any(leaf.type not in plain for leaf in leaves):
        return None
    marked = Element(element.name, None, element.type, element.namespace)
    marks = {leaf.place: f"{_MARK}{at}{_MARK}" for at, leaf in enumerate(leaves)}
    marked.unpack(Packed(layout, [marks.get(place, "") for place in range(max(marks) + 1)]))
    writer = _Writer(dialect)
    try:
        writer.write([marked])
    except FormatProblem:
        return None
    pieces = "".join(writer.out).split(_MARK)
    if len(pieces) != 2 * len(leaves) + 1 or writer.made_prefixes:
        return None
    written = [leaves[int(mark)] for mark in pieces[1::2]]  # attributes come first, wherever they are
    places = [leaf.place for leaf in written]
    escapes = [_ATTRIBUTE if leaf.type == dialect.attribute else _TEXT for leaf in written]
    get_values = itemgetter(*places) if len(places) > 1 else itemgetter(slice(places[0], places[0] + 1))
    return _Template(pieces, get_values, escapes, any(escape is _ATTRIBUTE for escape in escapes))


class _Writer:
    """Writes one document. Only a careful one looks for characters that need care in every single value."""

    def __init__(self, dialect: Dialect, *, careful: bool = False) -> None:
        self.out: list[str] = []
        self._dialect = dialect
        self._domain = dialect.domain
        self._roles = ROLES[dialect.domain]
        self._careful = careful
        # Types of leaves that need no second look; there are none for a careful writer.
        self._plain = () if careful else (dialect.folder, dialect.leaf)
        self._asides = _ASIDE_TYPES[dialect.domain]
        self._text_of = dialect.text_of
        self._made = 0

    def write_top(self, part: Part) -> str | None:
        """The children of the part; the encoding that is declared among them."""
        declared = None
        tops = 0
        for child in part.children:
            role = self._role(child)
            if role is _ELEMENT or role is _CDATA_ELEMENT or role is Role.ARRAY:
                tops += 1
                self.write([child])
            elif role is Role.DECLARATION:
                declared = self._declaration(child)
            elif role in (Role.COMMENT, Role.INSTRUCTION):
                self.write([child])
            elif role is not Role.WHITE_SPACE:
                raise self._problem(child, "elements at the top of the document", f"{role.name.lower()} {child.name}")
        if tops != 1:
            names = ", ".join(child.name for child in part.children if self._role(child) is Role.ELEMENT) or "none"
            raise self._problem(part, "one element at the top of the document", names)
        return declared

    def write(self, elements: Sequence[Element]) -> None:
        """Elements where no namespaces are declared."""
        self._content(elements, NO_PREFIXES)

    @property
    def made_prefixes(self) -> bool:
        """Whether the writer has invented prefixes, which are numbered."""
        return self._made > 0

    def _content(self, children: Sequence[Element], prefixes: dict[str, str]) -> None:
        """Children that are no attributes.

        The usual leaf is written here: this loop is what writing costs.
        """
        append, plain = self.out.append, self._plain
        default = prefixes[""]
        for child in children:
            packed = child.pending
            if type(packed) is Packed and prefixes is NO_PREFIXES and self._packed(child, packed):
                continue
            if child.loaded is None and child.pending is None and child.type in plain and child.namespace == default:
                name = ascii_name(child.name)
                if name is not None and not name.prefix:
                    value = child.value
                    if value is None or value == "":
                        append(name.empty)
                        continue
                    if type(value) is not str:
                        value = self._text_of(value)
                    if "&" in value or "<" in value or ">" in value:
                        value = value.translate(_TEXT)
                    append(f"{name.start}{value}{name.end}")
                    continue
            self._other(child, prefixes)

    def _packed(self, element: Element, packed: Packed) -> bool:
        """An element whose children are packed, without unpacking them; False if that cannot be done."""
        if self._careful or element.value is not None:
            return False
        template = _known_template(self._dialect, element, packed.layout)
        pieces = template.pieces_with(packed.values, self._dialect) if template is not None else None
        if pieces is None:
            return False
        self.out += pieces
        return True

    def _other(self, child: Element, prefixes: dict[str, str]) -> None:
        if child.type in self._asides:
            return
        role = self._role(child)
        if role is _ELEMENT or role is _CDATA_ELEMENT or role is Role.ARRAY:
            self._element(child, role, prefixes)
        elif role is Role.TEXT or role is Role.WHITE_SPACE:
            self.out.append(self._text(child))
        elif role is Role.CDATA:
            self.out.append(self._cdata(child))
        elif role is Role.COMMENT:
            text = self._characters(child)
            if "--" in text or text.endswith("-"):
                raise self._problem(child, "a comment without --", repr(text))
            self.out.append(f"<!--{text}-->")
        elif role is Role.INSTRUCTION:
            self._instruction(child)
        else:
            raise self._problem(child, "an XML declaration at the top only", child.name)

    def _element(self, element: Element, role: Role, prefixes: dict[str, str]) -> None:
        children = element.children
        aside_types = self._asides
        asides = [child for child in children if child.type in aside_types]
        if asides or element.namespace != prefixes[""]:
            name, attributes, prefixes = self._start(element, asides, prefixes)
        else:
            name, attributes = self._name(element), ""
        out = self.out
        out.append(f"<{name}{attributes}>")
        begun = len(out)
        if element.value is not None and (element.value != "" or role is _CDATA_ELEMENT):
            out.append(self._cdata(element) if role is _CDATA_ELEMENT else self._text(element))
        if len(children) > len(asides):
            self._content(children, prefixes)
        if len(out) == begun:
            out[-1] = out[-1][:-1] + "/>"
        else:
            out.append(f"</{name}>")

    def _start(
        self, element: Element, asides: list[Element], prefixes: dict[str, str]
    ) -> tuple[str, str, dict[str, str]]:
        """The name in the tag of an element, what follows it there, and what prefixes mean inside."""
        made: list[str] = []
        declared = self._declared(asides, prefixes)
        name, prefixes = self._qualified(element, declared, made)
        tag: list[str] = []
        for aside in asides:
            if self._role(aside) is _ATTRIBUTE_ROLE:
                prefixes = self._attribute(aside, prefixes, tag, made)
            elif prefixes[""] == declared[""] or _prefix_of(aside):
                self._declare(aside, _prefix_of(aside), self._characters(aside), tag)
        return name, "".join(made) + "".join(tag), prefixes

    def _declared(self, asides: list[Element], prefixes: dict[str, str]) -> dict[str, str]:
        """What prefixes mean inside an element with these attributes and declarations."""
        for aside in asides:
            if self._role(aside) is _NAMESPACE:
                prefixes = {**prefixes, _prefix_of(aside): self._characters(aside)}
        return prefixes

    def _declare(self, element: Element, prefix: str, uri: str, tag: list[str]) -> None:
        if prefix and not (uri and writable(prefix, colons=False)):
            raise self._problem(element, "a prefix with its namespace", f"{prefix!r} for {uri!r}")
        name = f"xmlns:{prefix}" if prefix else "xmlns"
        tag.append(f' {name}="{uri.translate(_ATTRIBUTE)}"')

    def _qualified(self, element: Element, prefixes: dict[str, str], made: list[str]) -> tuple[str, dict[str, str]]:
        """How the name of an element is written, and what prefixes mean inside."""
        name = self._name(element)
        namespace = element.namespace
        if prefixes[""] == namespace:
            return name, prefixes
        if not namespace:
            # Whatever the tree declares for inside it: this element has no namespace.
            made.append(' xmlns=""')
            return name, {**prefixes, "": ""}
        prefix, prefixes = self._prefix(element, prefixes, made)
        return f"{prefix}:{name}", prefixes

    def _attribute(
        self, attribute: Element, prefixes: dict[str, str], tag: list[str], made: list[str]
    ) -> dict[str, str]:
        name = self._name(attribute)
        if attribute.namespace:
            prefix, prefixes = self._prefix(attribute, prefixes, made)
            name = f"{prefix}:{name}"
        value = self._characters(attribute)
        written = f' {name}="'
        if any(known.startswith(written) for known in tag):
            raise self._problem(attribute, "every attribute once", f"{name} twice")
        tag.append(f'{written}{value.translate(_ATTRIBUTE)}"')
        return prefixes

    def _prefix(self, element: Element, prefixes: dict[str, str], made: list[str]) -> tuple[str, dict[str, str]]:
        """A prefix for the namespace of an element; one is declared if there is none."""
        for prefix, uri in prefixes.items():
            if prefix and uri == element.namespace:
                return prefix, prefixes
        while True:
            self._made += 1
            prefix = f"NS{self._made}"
            if prefix not in prefixes:
                break
        self._declare(element, prefix, element.namespace, made)
        return prefix, {**prefixes, prefix: element.namespace}

    def _instruction(self, child: Element) -> None:
        data = self._characters(child)
        name = self._name(child)
        if "?>" in data or name.lower() == "xml":
            raise self._problem(child, "a processing instruction", repr(f"<?{name} {data}?>"))
        self.out.append(f"<?{name} {data}?>" if data else f"<?{name}?>")

    def _declaration(self, declaration: Element) -> str | None:
        said: dict[str, str] = {}
        for child in declaration.children:
            if child.value is not None:
                role = self._role(child)
                said[child.name.lower() if role is Role.ATTRIBUTE else role.name.lower()] = self._characters(child)
        pieces = [f' version="{said.get("version", "1.0")}"']
        pieces += [f' {name}="{said[name]}"' for name in ("encoding", "standalone") if name in said]
        text = "".join(pieces)
        if "?" in text or "<" in text or text.count('"') != 2 * len(pieces):
            raise self._problem(declaration, "an XML declaration", text.strip())
        self.out.append(f"<?xml{text}?>")
        return said.get("encoding")

    def _name(self, element: Element) -> str:
        name = element.name
        plain = ascii_name(name)
        colons = not self._dialect.namespaces
        if (plain is None or plain.prefix != "") and not writable(name, colons=colons):
            raise self._problem(element, "a name that XML allows", repr(name))
        return name

    def _text(self, element: Element) -> str:
        return self._characters(element).translate(_TEXT)

    def _cdata(self, element: Element) -> str:
        text = self._characters(element)
        return "<![CDATA[" + text.replace("]]>", "]]]]><![CDATA[>") + "]]>"

    def _characters(self, element: Element) -> str:
        value = element.value
        if value is None:
            return ""
        if type(value) is bytes and self._domain == "XMLNSC" and element.type & Xmlnsc.BASE64 == Xmlnsc.BASE64:
            return b64encode(value).decode()
        text = value if type(value) is str else self._text_of(value)
        if self._careful:
            bad = _FORBIDDEN(text)
            if bad is not None:
                raise self._problem(element, "characters that XML allows", f"U+{ord(bad[0]):04X}")
        return text

    def _role(self, element: Element) -> Role:
        return self._roles.get(element.type) or role_of(element.type, self._domain)

    def _problem(self, element: Element, expected: str, found: str) -> FormatProblem:
        return FormatProblem(self._domain, expected, found, path=element.path(), number=CANNOT_WRITE)


def _prefix_of(declaration: Element) -> str:
    """The prefix that it declares; the empty one for the default namespace."""
    return declaration.name if declaration.namespace or declaration.name != "xmlns" else ""

"""The builder: makes the elements of a dialect from the events of a reader. Both readers use it."""

from heliograph.flow.formats.xml.dialect import NO_PREFIXES, XML_NAMESPACE, XMLNS_NAMESPACE, Dialect
from heliograph.flow.tree import Element, Part, building
from heliograph.flow.tree.building import attach

DEEPEST = 256
"""The deepest nesting of elements that is accepted: flows go through them by recursion."""
_BLANKS = " \t\n\r"


class MalformedDocument(Exception):
    """A document that is not well-formed, or nested too deeply; the reader knows where."""

    def __init__(self, expected: str, found: str) -> None:
        super().__init__(expected, found)
        self.expected = expected
        self.found = found


class Builder:
    """Knows where in the tree the reader is.

    It keeps its own state and does not ask the elements, because the flow may change elements that exist while the rest
    of the document is not parsed yet.
    """

    __slots__ = ("_outer", "dialect", "leaf", "part", "prefixes", "rooted", "stack", "text_at")

    def __init__(self, part: Part, dialect: Dialect) -> None:
        self.part = part
        self.dialect = dialect
        self.stack: list[Element] = [part]
        """The part, and the elements that are open."""
        self.leaf = False
        """Whether the innermost element has no children but attributes, comments and instructions so far."""
        self.rooted = False
        """Whether the top element has begun."""
        self.text_at = 0
        """How many children that element had before its value."""
        self.prefixes: dict[str, str] = NO_PREFIXES
        self._outer: list[tuple[int, dict[str, str]]] = []
        """Prefixes outside of elements that declare some, with the depth of those."""
        part.loaded = []

    @property
    def at_rest(self) -> bool:
        """Whether nothing that is there now can still turn out to be something else."""
        return not self.leaf

    def path(self) -> str:
        """The path of the innermost element, in its part."""
        return ".".join(element.name for element in self.stack[1:])

    def start(self, name: str, attributes: list[tuple[str, str]]) -> None:
        """An element begins."""
        stack = self.stack
        if len(stack) > DEEPEST:
            raise MalformedDocument(f"at most {DEEPEST} elements inside each other", "more")
        prefixes = self._declared(attributes) if self.dialect.namespaces and attributes else self.prefixes
        local, namespace = self._resolve(name, prefixes, "")
        element = Element(local, "", self.dialect.leaf, namespace)
        if attributes:
            element.loaded = self._attributes(element, attributes, prefixes)
        self.add(element)
        element.pending = self.part
        if prefixes is not self.prefixes:
            self._outer.append((len(stack), self.prefixes))
            self.prefixes = prefixes
        stack.append(element)
        self.leaf = self.rooted = True
        self.text_at = len(attributes)

    def end(self) -> None:
        """The innermost element ends."""
        self.stack.pop().pending = None
        self.leaf = False
        if self._outer and self._outer[-1][0] == len(self.stack):
            self.prefixes = self._outer.pop()[1]

    def text(self, text: str) -> None:
        """All the text between two other things."""
        if self.leaf and self._has_no_text():
            self._set_value(text)
            return
        dialect = self.dialect
        if not text.strip(_BLANKS):
            if dialect.keeps_space:
                self.add(Element("", text, dialect.white_space))
        else:
            self.add(Element("", text, dialect.text))

    def cdata(self, text: str) -> None:
        """A CDATA section."""
        if self.leaf and self._has_no_text():
            self._set_value(text)
            self.stack[-1].type = self.dialect.cdata_leaf
        else:
            self.add(Element("", text, self.dialect.cdata))

    def comment(self, text: str) -> None:
        """A comment."""
        self._add_aside(Element("", text, self.dialect.comment))

    def instruction(self, target: str, data: str) -> None:
        """A processing instruction."""
        self._add_aside(Element(target, data, self.dialect.instruction))

    def declaration(self, version: str, encoding: str | None, standalone: str | None) -> None:
        """The XML declaration."""
        dialect = self.dialect
        declaration = Element(dialect.declaration_name, None, dialect.declaration)
        for name, value, kind in (
            ("Version", version, dialect.version),
            ("Encoding", encoding, dialect.encoding),
            ("Standalone", standalone, dialect.standalone),
        ):
            if value is not None:
                attach(declaration, Element(name, value, kind))
        attach(self.part, declaration)

    def add(self, child: Element) -> None:
        """A child that is no attribute, comment or instruction: what holds it is not a leaf."""
        parent = self.stack[-1]
        if self.leaf:
            self.make_folder(parent)
        attach(parent, child)

    def _has_no_text(self) -> bool:
        """Whether the innermost element, a leaf, has no value yet, or one that would be left out as a child."""
        element, dialect = self.stack[-1], self.dialect
        if element.type != dialect.leaf:
            return False
        return not element.value or (not dialect.keeps_space and not str(element.value).strip(_BLANKS))

    def _set_value(self, text: str) -> None:
        element = self.stack[-1]
        element.value = text
        self.text_at = len(element.loaded or ())

    def _add_aside(self, child: Element) -> None:
        """A child beside which a leaf keeps its value."""
        attach(self.stack[-1], child)

    def make_folder(self, element: Element) -> None:
        """What was taken for its value is only the first text among its children."""
        dialect, text = self.dialect, element.value or ""
        assert isinstance(text, str)
        is_cdata = element.type == dialect.cdata_leaf
        self.leaf = False
        element.type = dialect.folder
        element.value = None
        if not text and not is_cdata:
            return
        blank = not is_cdata and not text.strip(_BLANKS)
        if blank and not dialect.keeps_space:
            return
        child = Element("", text, dialect.cdata if is_cdata else dialect.white_space if blank else dialect.text)
        building.attach_at(element, self.text_at, child)

    def _declared(self, attributes: list[tuple[str, str]]) -> dict[str, str]:
        """The prefixes inside an element with these attributes."""
        prefixes = self.prefixes
        for name, value in attributes:
            if name == "xmlns":
                prefixes = {**prefixes, "": value}
            elif name.startswith("xmlns:"):
                prefix = name[6:]
                if not value or prefix == "xmlns" or (prefix == "xml") != (value == XML_NAMESPACE):
                    raise MalformedDocument("a prefix with its namespace", f'{name}="{value}"')
                prefixes = {**prefixes, prefix: value}
            else:
                continue
            if value == XMLNS_NAMESPACE or (name == "xmlns" and value == XML_NAMESPACE):
                raise MalformedDocument("a namespace that may be declared", f'{name}="{value}"')
        return prefixes

    def _attributes(
        self, element: Element, attributes: list[tuple[str, str]], prefixes: dict[str, str]
    ) -> list[Element]:
        dialect = self.dialect
        children: list[Element] = []
        for name, value in attributes:
            if dialect.namespaces and name == "xmlns":
                child = Element("xmlns", value, dialect.namespace_declaration)
            elif dialect.namespaces and name.startswith("xmlns:"):
                child = Element(name[6:], value, dialect.namespace_declaration, "xmlns")
            else:
                local, namespace = self._resolve(name, prefixes, None)
                child = Element(local, value, dialect.attribute, namespace)
                if namespace and any(
                    known.name == local and known.namespace == namespace and known.type == dialect.attribute
                    for known in children
                ):
                    raise MalformedDocument("every attribute once", f"{local} of namespace {namespace} twice")
            child.parent = element
            children.append(child)
        return children

    def _resolve(self, name: str, prefixes: dict[str, str], default: str | None) -> tuple[str, str]:
        """The local name and the namespace; attributes (default is None) have none without a prefix."""
        if not self.dialect.namespaces:
            return name, ""
        if ":" not in name:
            return name, "" if default is None else prefixes[""]
        prefix, _, local = name.partition(":")
        if not prefix or not local or ":" in local:
            raise MalformedDocument("a name with one colon at most", name)
        if prefix not in prefixes:
            raise MalformedDocument(f"a declaration xmlns:{prefix}", name)
        return local, prefixes[prefix]

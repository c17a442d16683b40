"""Files `NAME.xsd`: each global element of a complex type is a message, in a physical format of kind XML.

Types, occurrences, choices, defaults, nillable elements, namespaces and facets (enumerations, lengths, patterns,
limits) come from the schema. A type that others extend may have what they add, as `xsi:type` allows. `format:` beside
`file:` in a model file says what the physical format is called; it is XML1 otherwise. Files beside the schema can be
included and imported. Types that contain themselves, mixed content, xs:any and xs:anyAttribute are refused: fields of a
model have names, and its groups an end. Global elements that have such things are no messages; the others are.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import xmlschema
from xmlschema.validators import (
    XsdAnyElement,
    XsdAtomicBuiltin,
    XsdAttribute,
    XsdComplexType,
    XsdElement,
    XsdGroup,
    XsdSimpleType,
)

from heliograph.common.documents import Place
from heliograph.flow.errors import ModelProblem
from heliograph.flow.formats.model import logical
from heliograph.flow.formats.model.field_values import CONVERSIONS
from heliograph.flow.formats.model.model_kinds import Imported, Members
from heliograph.flow.formats.schema_files import SchemaFiles, files_taken_in
from heliograph.flow.language.values.literals import MAX_INTEGER, MIN_INTEGER

__all__ = ["files_taken_in", "import_messages"]

Component = Any
"""A component of the library's: told apart by isinstance, for its declared types are wider than what schemas have."""

DEFAULT_FORMAT = "XML1"
LIBRARY_PATTERN = re.compile(r"\^?\(\?:(.*)\)\$\(\?!\\n\\Z\)", re.DOTALL)
"""What the library puts around the patterns of a schema."""
OPTIONS = ("format", "xmlDeclaration")
XSD = "{http://www.w3.org/2001/XMLSchema}"
TYPES = {
    "decimal": logical.Type.DECIMAL,
    "float": logical.Type.FLOAT,
    "double": logical.Type.FLOAT,
    "boolean": logical.Type.BOOLEAN,
    "date": logical.Type.DATE,
    "time": logical.Type.TIME,
    "dateTime": logical.Type.DATETIME,
    "hexBinary": logical.Type.BINARY,
    "base64Binary": logical.Type.BINARY,
}
LENGTHS = {"length": ("minLength", "maxLength"), "minLength": ("minLength",), "maxLength": ("maxLength",)}
LIMITS = ("minInclusive", "maxInclusive", "minExclusive", "maxExclusive")
ORDERS = {"sequence": logical.Order.SEQUENCE, "choice": logical.Order.CHOICE, "all": logical.Order.ALL}


class _Content(NamedTuple):
    """What is inside elements of one complex type."""

    order: logical.Order
    members: tuple[logical.Member, ...]
    size: int
    """Members at all depths."""


def import_messages(
    text: str, file: str, options: Mapping[str, Any], place: Place, others: Mapping[str, str]
) -> Imported:
    """The messages of a schema."""
    for name in options:
        if name not in OPTIONS:
            raise ModelProblem(place, f"unknown key {name}; known are {', '.join(OPTIONS)}")
    form = str(options.get("format", DEFAULT_FORMAT))
    files = SchemaFiles(text, file, others)
    try:
        schema = files.schema()
    except (xmlschema.XMLSchemaException, SyntaxError, ValueError, OverflowError) as error:
        line = getattr(error, "sourceline", None) or getattr(error, "lineno", None) or 1
        raise ModelProblem(Place(file, line), _said(error)) from None
    reader = _Schema(schema, files, form)
    messages: dict[str, logical.Message] = {}
    refused: dict[str, ModelProblem] = {}
    for element in reader.roots():
        try:
            messages[element.local_name] = reader.message(element)
        except ModelProblem as problem:
            refused[element.local_name] = problem
        except xmlschema.XMLSchemaException as error:  # groups or extensions too deep for the library
            refused[element.local_name] = ModelProblem(files.place(element.local_name), _said(error))
    if refused and not messages:
        raise next(iter(refused.values()))
    if not messages:
        raise ModelProblem(Place(file, 1), "expected global elements of complex types, found none")
    properties = {"xmlDeclaration": bool(options["xmlDeclaration"])} if "xmlDeclaration" in options else {}
    others_of = frozenset(files.texts) - {file}
    return Imported(messages, {form: logical.PhysicalFormat(form, "XML", place, properties)}, others_of, refused)


def _said(error: Exception) -> str:
    """What the library says, without the piece of the schema that it says it of."""
    said = getattr(error, "message", None) or str(error)
    return f"cannot use this XML schema: {str(said).splitlines()[0]}"


class _Schema:
    def __init__(self, schema: Component, files: SchemaFiles, form: str) -> None:
        self.schema = schema
        self._place = files.place
        self.form = form
        self._within: list[Component] = []
        self._contents: dict[int, _Content] = {}
        """By identity of the type."""
        self._sizes: dict[int, int] = {}
        """By identity of the members of a group."""
        self._made = Members()
        self._derived: defaultdict[int, list[Component]] = defaultdict(list)
        """Complex types that are derived from a type, at any distance, by identity of that type."""
        for kind in schema.types.values():
            base = kind.base_type if isinstance(kind, XsdComplexType) else None
            while isinstance(base, XsdComplexType):
                self._derived[id(base)].append(kind)
                base = base.base_type

    def roots(self) -> Iterator[Component]:
        """Global elements with members."""
        for element in self.schema.elements.values():
            if isinstance(element.type, XsdComplexType):
                yield element

    def message(self, element: Component) -> logical.Message:
        """The message whose root is this element."""
        self._within.clear()
        group = self._group(element, element.type)
        return logical.Message(element.local_name, group)

    def _element(self, element: Component) -> logical.Member:
        if isinstance(element.type, XsdComplexType):
            return self._group(element, element.type)
        return self._field(element, element.type, _occurs(element), {})

    def _group(self, element: Component, kind: Component) -> logical.Group:
        content = self._content(element, kind)
        return logical.Group(
            element.local_name,
            content.order,
            content.members,
            self._place(element.local_name),
            _occurs(element),
            _namespace(element),
            {self.form: {}},
            bool(element.nillable),
        )

    def _content(self, element: Component, kind: Component) -> _Content:
        known = self._contents.get(id(kind))
        if known is not None:
            return known
        place = self._place(element.local_name)
        if kind in self._within:
            raise ModelProblem(place, f"{element.local_name} contains itself, which no model can")
        if kind.name == f"{XSD}anyType":
            raise ModelProblem(place, f"{element.local_name} has no type")
        self._within.append(kind)
        attributes: list[logical.Member] = [
            self._attribute(one, place) for name, one in kind.attributes.items() if name
        ]
        order, members = self._inside(element, kind, bool(attributes), place)
        self._within.pop()
        members = (*attributes, *members)
        content = self._contents[id(kind)] = _Content(order, members, sum(map(self._size, members)))
        Members().add(place, element.local_name, content.size)
        return content

    def _inside(
        self, element: Component, kind: Component, attributes: bool, place: Place
    ) -> tuple[logical.Order, tuple[logical.Member, ...]]:
        """Order and members of a type, without its attributes."""
        content = kind.content
        if isinstance(content, XsdSimpleType):
            return logical.Order.SEQUENCE, (self._own_value(content, place),)
        inside = tuple(self._members(content, place))
        if kind.mixed and inside:
            raise ModelProblem(place, f"{element.local_name} has text among its elements, which no model can")
        if kind.mixed:
            return logical.Order.SEQUENCE, (self._own_value(self.schema.meta_schema.types["string"], place),)
        more = tuple(self._extensions(kind, place))
        occurs = _occurs(content)
        if not (attributes or more) and occurs == logical.ONCE:
            return ORDERS[content.model], inside
        if inside and (content.model != "sequence" or occurs != logical.ONCE):
            inside = (logical.Group("", ORDERS[content.model], inside, place, occurs),)
        return logical.Order.SEQUENCE, (*inside, *more)

    def _size(self, member: logical.Member) -> int:
        """Members at all depths, and itself. Types are counted once: their members are shared."""
        if isinstance(member, logical.Field):
            return 1
        known = self._sizes.get(id(member.members))
        if known is None:
            known = self._sizes[id(member.members)] = 1 + sum(map(self._size, member.members))
        return known

    def _members(self, group: Component, place: Place) -> Iterator[logical.Member]:
        for one in group:
            self._made.add(place, group.name or "a group")
            if one.max_occurs == 0:
                continue
            if isinstance(one, XsdElement):
                yield self._element(one)
            elif isinstance(one, XsdGroup):
                inner = tuple(self._members(one, place))
                if inner:
                    yield logical.Group("", ORDERS[one.model], inner, place, _occurs(one))
            elif isinstance(one, XsdAnyElement):
                raise ModelProblem(place, "xs:any: a model must know its elements")

    def _extensions(self, kind: Component, place: Place) -> Iterator[logical.Member]:
        """What types that extend this one add: it may be there, as `xsi:type` says."""
        known = {one.name for one in kind.content.iter_elements()}
        for other in self._derived[id(kind)] if kind.name is not None else ():
            if other.is_derived(kind, "extension") and isinstance(other.content, XsdGroup):
                for one in other.content.iter_elements():
                    if isinstance(one, XsdElement) and one.name not in known:
                        known.add(one.name)
                        yield _optional(self._element(one))

    def _attribute(self, attribute: Component, place: Place) -> logical.Field:
        if attribute.name is None or not isinstance(attribute, XsdAttribute):
            raise ModelProblem(place, "xs:anyAttribute: a model must know its attributes")
        occurs = logical.Occurs(1 if attribute.use == "required" else 0, 1)
        return self._field(attribute, attribute.type, occurs, {"rendering": "attribute"})

    def _own_value(self, kind: Component, place: Place) -> logical.Field:
        type_, given, values = self._simple(kind, place)
        return logical.Field(
            "", type_, place, logical.Occurs(), None, False, values, "", {self.form: {**given, "rendering": "content"}}
        )

    def _field(
        self, one: Component, kind: Component, occurs: logical.Occurs, properties: logical.Properties
    ) -> logical.Field:
        place = self._place(one.local_name)
        type_, given, values = self._simple(kind, place)
        default = one.default if one.default is not None else one.fixed
        if default is not None:
            default = _converted(default, type_, place, one.local_name)
        if one.fixed is not None:
            values = (default,)
        return logical.Field(
            one.local_name,
            type_,
            place,
            occurs,
            default,
            bool(getattr(one, "nillable", False)),
            values,
            _namespace(one),
            {self.form: {**given, **properties}},
        )

    def _simple(self, kind: Component, place: Place) -> tuple[logical.Type, dict[str, Any], tuple[Any, ...]]:
        """Type, properties for facets, and allowed values of a simple type; lists and unions are text."""
        if not kind.is_atomic():
            return logical.Type.STRING, {}, ()
        atom = getattr(kind, "primitive_type", None)  # a union has none, and its restrictions have the union
        primitive = str(atom.local_name) if isinstance(atom, XsdAtomicBuiltin) else ""
        type_ = TYPES.get(primitive, logical.Type.STRING)
        if type_ is logical.Type.DECIMAL and kind.is_derived(self.schema.meta_schema.types["integer"]):
            type_ = logical.Type.INTEGER
        given: dict[str, Any] = {"binaryEncoding": "base64"} if primitive == "base64Binary" else {}
        for name, facet in kind.facets.items():
            local = (name or "").removeprefix(XSD)
            if local in LENGTHS:
                given |= dict.fromkeys(LENGTHS[local], int(facet.value))
            elif local in LIMITS and type_ is not logical.Type.STRING and not _wider(type_, facet.value):
                given[local] = str(facet.value)
            elif local == "pattern":
                patterns = [LIBRARY_PATTERN.sub(r"\1", one.pattern) for one in facet.patterns]
                given["pattern"] = patterns[0] if len(patterns) == 1 else "|".join(f"(?:{one})" for one in patterns)
        values = tuple(_converted(value, type_, place, "enumeration") for value in kind.enumeration or ())
        return type_, given, values


def _wider(kind: logical.Type, limit: Any) -> bool:
    """Whether a limit is outside of what our integers can be, as those of xs:unsignedLong are."""
    return kind is logical.Type.INTEGER and not MIN_INTEGER <= limit <= MAX_INTEGER


def _converted(value: Any, kind: logical.Type, place: Place, name: str) -> Any:
    """A default or an allowed value, in the type of its field."""
    try:
        return CONVERSIONS[kind](_plain(value))
    except ValueError:
        raise ModelProblem(place, f"{name}: expected a value of type {kind.value}, found {value}") from None


def _plain(value: Any) -> Any:
    """Dates and times are objects of the library, which print as XML has them."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str | int | float | bytes) or hasattr(value, "as_tuple") else str(value)


def _namespace(one: Component) -> str:
    name: str = one.name or ""
    return name[1:].partition("}")[0] if name.startswith("{") else ""


def _occurs(one: Component) -> logical.Occurs:
    return logical.Occurs(one.min_occurs, one.max_occurs)


def _optional(member: logical.Member) -> logical.Member:
    return replace(member, occurs=logical.Occurs(0, member.occurs.most))

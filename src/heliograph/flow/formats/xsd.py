"""Files `NAME.xsd`: each global element of a complex type is a message, in a physical format of kind XML.

Types, occurrences, choices, defaults, nillable elements, namespaces and facets (enumerations, lengths, patterns,
limits) come from the schema. A type that others extend may have what they add, as `xsi:type` allows. `format:` beside
`file:` in a model file says what the physical format is called; it is XML1 otherwise.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import xmlschema
from xmlschema.validators import (
    XsdAnyElement,
    XsdAttribute,
    XsdComplexType,
    XsdElement,
    XsdGroup,
    XsdSimpleType,
)

from heliograph.flow.formats.model.conversion import CONVERSIONS
from heliograph.flow.formats.model.kinds import Imported
from heliograph.flow.formats.model.logical import (
    Field,
    Group,
    Member,
    Message,
    Occurs,
    Order,
    PhysicalFormat,
    Place,
    Properties,
    Type,
)
from heliograph.flow.formats.model.problem import ModelProblem

Component = Any
"""A component of the library's: told apart by isinstance, for its declared types are wider than what schemas have."""

DEFAULT_FORMAT = "XML1"
LIBRARY_PATTERN = re.compile(r"\^?\(\?:(.*)\)\$\(\?!\\n\\Z\)", re.DOTALL)
"""What the library puts around the patterns of a schema."""
OPTIONS = ("format", "xmlDeclaration")
XSD = "{http://www.w3.org/2001/XMLSchema}"
TYPES = {
    "decimal": Type.DECIMAL,
    "float": Type.FLOAT,
    "double": Type.FLOAT,
    "boolean": Type.BOOLEAN,
    "date": Type.DATE,
    "time": Type.TIME,
    "dateTime": Type.DATETIME,
    "hexBinary": Type.BINARY,
    "base64Binary": Type.BINARY,
}
LENGTHS = {"length": ("minLength", "maxLength"), "minLength": ("minLength",), "maxLength": ("maxLength",)}
LIMITS = ("minInclusive", "maxInclusive", "minExclusive", "maxExclusive")
ORDERS = {"sequence": Order.SEQUENCE, "choice": Order.CHOICE, "all": Order.ALL}


def import_messages(text: str, file: str, options: Mapping[str, Any], place: Place) -> Imported:
    """The messages of a schema."""
    for name in options:
        if name not in OPTIONS:
            raise ModelProblem(place, f"unknown key {name}; known are {', '.join(OPTIONS)}")
    form = str(options.get("format", DEFAULT_FORMAT))
    try:
        schema = xmlschema.XMLSchema(text, allow="none")
    except (xmlschema.XMLSchemaException, SyntaxError) as error:
        line = getattr(error, "sourceline", None) or getattr(error, "lineno", None) or 1
        said = getattr(error, "message", None) or str(error)
        raise ModelProblem(Place(file, line), f"cannot use this XML schema: {str(said).splitlines()[0]}") from None
    reader = _Schema(schema, text, file, form)
    messages = {element.local_name: reader.message(element) for element in reader.roots()}
    if not messages:
        raise ModelProblem(Place(file, 1), "expected global elements of complex types, found none")
    properties = {"xmlDeclaration": bool(options["xmlDeclaration"])} if "xmlDeclaration" in options else {}
    return Imported(messages, {form: PhysicalFormat(form, "XML", place, properties)})


class _Schema:
    def __init__(self, schema: Component, text: str, file: str, form: str) -> None:
        self.schema = schema
        self.text = text
        self.file = file
        self.form = form
        self._within: list[Component] = []

    def roots(self) -> Iterator[Component]:
        """Global elements with members."""
        for element in self.schema.elements.values():
            if isinstance(element.type, XsdComplexType):
                yield element

    def message(self, element: Component) -> Message:
        """The message whose root is this element."""
        group = self._group(element, element.type)
        return Message(element.local_name, group)

    def _place(self, name: str) -> Place:
        """Where a name first stands: the library does not keep lines."""
        found = re.search(rf"""\bname\s*=\s*["']{re.escape(name)}["']""", self.text)
        return Place(self.file, self.text.count("\n", 0, found.start()) + 1 if found else 1)

    def _element(self, element: Component) -> Member:
        if isinstance(element.type, XsdComplexType):
            return self._group(element, element.type)
        return self._field(element, element.type, _occurs(element), {})

    def _group(self, element: Component, kind: Component) -> Group:
        place = self._place(element.local_name)
        if kind in self._within:
            raise ModelProblem(place, f"{element.local_name} contains itself, which no model can")
        if kind.mixed:
            raise ModelProblem(place, f"{element.local_name} has text among its elements, which no model can")
        if kind.name == f"{XSD}anyType":
            raise ModelProblem(place, f"{element.local_name} has no type")
        self._within.append(kind)
        members: list[Member] = [self._attribute(one, place) for name, one in kind.attributes.items() if name]
        order = Order.SEQUENCE
        if isinstance(kind.content, XsdSimpleType):
            members.append(self._own_value(element, kind.content, place))
        else:
            inside = list(self._members(kind.content, place)) + list(self._extensions(kind, place))
            if members or len(inside) != len(list(kind.content)):
                if kind.content.model != "sequence":
                    inside = [Group("", ORDERS[kind.content.model], tuple(inside), place, _occurs(kind.content))]
            else:
                order = ORDERS[kind.content.model]
            members += inside
        self._within.pop()
        return Group(
            element.local_name, order, tuple(members), place, _occurs(element), _namespace(element), {self.form: {}}
        )

    def _members(self, group: Component, place: Place) -> Iterator[Member]:
        for one in group:
            if isinstance(one, XsdElement):
                yield self._element(one)
            elif isinstance(one, XsdGroup):
                inner = tuple(self._members(one, place))
                if inner:
                    yield Group("", ORDERS[one.model], inner, place, _occurs(one))
            elif isinstance(one, XsdAnyElement):
                raise ModelProblem(place, "xs:any: a model must know its elements")

    def _extensions(self, kind: Component, place: Place) -> Iterator[Member]:
        """What types that extend this one add: it may be there, as `xsi:type` says."""
        known = {one.name for one in kind.content.iter_elements()}
        for other in self.schema.types.values():
            derived = isinstance(other, XsdComplexType) and other is not kind and kind.name is not None
            if derived and other.is_derived(kind, "extension") and isinstance(other.content, XsdGroup):
                for one in other.content.iter_elements():
                    if isinstance(one, XsdElement) and one.name not in known:
                        known.add(one.name)
                        yield _optional(self._element(one))

    def _attribute(self, attribute: Component, place: Place) -> Field:
        if attribute.name is None or not isinstance(attribute, XsdAttribute):
            raise ModelProblem(place, "xs:anyAttribute: a model must know its attributes")
        occurs = Occurs(1 if attribute.use == "required" else 0, 1)
        return self._field(attribute, attribute.type, occurs, {"rendering": "attribute"})

    def _own_value(self, element: Component, kind: Component, place: Place) -> Field:
        type_, given, values = self._simple(kind, place)
        return Field(
            "", type_, place, Occurs(), None, False, values, "", {self.form: {**given, "rendering": "content"}}
        )

    def _field(self, one: Component, kind: Component, occurs: Occurs, properties: Properties) -> Field:
        place = self._place(one.local_name)
        type_, given, values = self._simple(kind, place)
        default = one.default if one.default is not None else one.fixed
        if one.fixed is not None:
            values = (CONVERSIONS[type_](one.fixed),)
        return Field(
            one.local_name,
            type_,
            place,
            occurs,
            CONVERSIONS[type_](default) if default is not None else None,
            bool(getattr(one, "nillable", False)),
            values,
            _namespace(one),
            {self.form: {**given, **properties}},
        )

    def _simple(self, kind: Component, place: Place) -> tuple[Type, dict[str, Any], tuple[Any, ...]]:
        """Type, properties for facets, and allowed values of a simple type; lists and unions are text."""
        if not kind.is_atomic():
            return Type.STRING, {}, ()
        primitive = kind.primitive_type.local_name
        type_ = TYPES.get(primitive, Type.STRING)
        if type_ is Type.DECIMAL and kind.is_derived(self.schema.meta_schema.types["integer"]):
            type_ = Type.INTEGER
        given: dict[str, Any] = {"binaryEncoding": "base64"} if primitive == "base64Binary" else {}
        for name, facet in kind.facets.items():
            local = (name or "").removeprefix(XSD)
            if local in LENGTHS:
                given |= dict.fromkeys(LENGTHS[local], int(facet.value))
            elif local in LIMITS and type_ is not Type.STRING:
                given[local] = str(facet.value)
            elif local == "pattern":
                patterns = [LIBRARY_PATTERN.sub(r"\1", one.pattern) for one in facet.patterns]
                given["pattern"] = patterns[0] if len(patterns) == 1 else "|".join(f"(?:{one})" for one in patterns)
        values = tuple(CONVERSIONS[type_](_plain(value)) for value in kind.enumeration or ())
        return type_, given, values


def _plain(value: Any) -> Any:
    """Dates and times are objects of the library, which print as XML has them."""
    return value if isinstance(value, str | int | float | bytes) or hasattr(value, "as_tuple") else str(value)


def _namespace(one: Component) -> str:
    name: str = one.name or ""
    return name[1:].partition("}")[0] if name.startswith("{") else ""


def _occurs(one: Component) -> Occurs:
    return Occurs(one.min_occurs, one.max_occurs)


def _optional(member: Member) -> Member:
    occurs = Occurs(0, member.occurs.most)
    if isinstance(member, Field):
        return Field(
            member.name,
            member.type,
            member.place,
            occurs,
            member.default,
            member.nillable,
            member.values,
            member.namespace,
            member.physical,
        )
    return Group(member.name, member.order, member.members, member.place, occurs, member.namespace, member.physical)

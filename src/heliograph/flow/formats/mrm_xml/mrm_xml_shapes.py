"""The XML form of a message: the element or attribute of each member, and the allowed order of elements."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from heliograph.flow.errors import ModelProblem
from heliograph.flow.formats.model import Field, Group, Member, Message, Order, PhysicalFormat, Property
from heliograph.flow.formats.mrm_xml.mrm_xml_values import XmlValues, values_of
from heliograph.flow.formats.xml.dialect import writable

# The order of elements inside an element: each element is one character (its code), and the allowed sequences are a
# regular expression over these characters.
#
# The sender of a message controls the length of the sequence, so the expression must not backtrack: it uses atomic
# groups and decides by the next element alone, as XML Schema requires (section 3.8.6, "Unique Particle Attribution").
# The groups of a model file need not satisfy that rule. So a sequence that the expression refuses is checked once more
# by `Particle.ends`, which follows all alternatives at the same time and takes polynomial time.

MOST = 1 << 31
"""Repetitions that a pattern can count; no message has as many."""


@dataclass(frozen=True)
class Particle:
    """A node of the content model: an element (its code), a sequence, or a choice; with its number of occurrences."""

    code: str = ""
    inside: "tuple[Particle, ...]" = ()
    choice: bool = False
    least: int = 1
    most: int | None = 1

    @cached_property
    def first(self) -> str:
        """The codes that it can begin with."""
        found = dict.fromkeys(self.code)
        for one in self.inside:
            found |= dict.fromkeys(one.first)
            if not (self.choice or one.optional):
                break
        return "".join(found)

    @cached_property
    def optional(self) -> bool:
        """Whether it can be empty or absent."""
        return not self.least or self._empty

    @cached_property
    def _empty(self) -> bool:
        """Whether one occurrence of it can be empty."""
        return not self.code and (any if self.choice else all)(one.optional for one in self.inside)

    def pattern(self) -> str:
        """Return a regular expression that never backtracks."""
        if self.most == 0 or not self.first:
            return ""
        once = self._once()
        if (self.least, self.most) == (1, 1):
            return once
        least = 0 if self._empty else min(self.least, MOST)
        most = "" if self.most is None or self.most > MOST else self.most
        if not self.code:
            once = f"(?:(?=[{self.first}]){once})"
        return f"(?>{once}{{{least},{most}}})"

    def _once(self) -> str:
        if self.code:
            return self.code
        if not self.choice:
            return "".join(one.pattern() for one in self.inside)
        if all(one.code and (one.least, one.most) == (1, 1) for one in self.inside):
            return f"[{self.first}]"
        branches = [f"(?=[{one.first}]){one.pattern()}" for one in self.inside if one.first]
        return f"(?>{'|'.join(branches)}{'|' if self._empty else ''})"

    def ends(self, text: str, starts: set[int]) -> set[int]:
        """Return the positions where it can end, if it can begin at any of `starts`."""
        least = 0 if self._empty else self.least
        found = set(starts) if least == 0 else set()
        here, count = starts, 0
        while here and (self.most is None or count < self.most):
            here, count = self._ends_once(text, here), count + 1
            if count >= least:
                here = here - found
                found |= here
        return found

    def _ends_once(self, text: str, starts: set[int]) -> set[int]:
        if self.code:
            return {start + 1 for start in starts if text.startswith(self.code, start)}
        if self.choice:
            return set().union(*(one.ends(text, starts) for one in self.inside))
        for one in self.inside:
            starts = one.ends(text, starts)
        return starts


class Following:
    """The content model of one element."""

    def __init__(self, whole: Particle) -> None:
        self._whole = whole
        self.surely: Callable[[str], re.Match[str] | None] = re.compile(whole.pattern()).fullmatch
        """A fast test: a match means that the sequence is allowed; None means that `fits` must decide."""

    def fits(self, codes: str) -> bool:
        """Whether this sequence of codes is allowed."""
        return self.surely(codes) is not None or len(codes) in self._whole.ends(codes, {0})


XSI = "http://www.w3.org/2001/XMLSchema-instance"

PROPERTIES: Mapping[str, Property] = {
    "xmlName": Property(),  # of the element or attribute, if not the name of the member; of a message, its root tag
    "rendering": Property(choices=("element", "attribute", "content")),  # content: the value of the element around it
    "xmlDeclaration": Property(bool),
    "binaryEncoding": Property(choices=("hex", "base64")),
    "pattern": Property(),
    "minLength": Property(int),
    "maxLength": Property(int),
    "minInclusive": Property(),
    "maxInclusive": Property(),
    "minExclusive": Property(),
    "maxExclusive": Property(),
}
FIRST_CODE = 0xE000
"""The first code. Codes are in the private use area of Unicode, where no character has a meaning in patterns."""


@dataclass(slots=True)
class Shape:
    """One element or attribute."""

    member: Member
    tag: str
    namespace: str
    values: XmlValues | None = None
    """Of a field."""
    inner: "Content | None" = None
    """Of a group."""
    code: str = ""
    direct: bool = False
    """Whether no group without a name is between it and the element that it is in."""

    @property
    def name(self) -> str:
        """Its name in the tree."""
        return self.member.name

    @property
    def default(self) -> Any:
        """The value that an empty or missing one has."""
        return self.member.default if isinstance(self.member, Field) else None

    @property
    def nillable(self) -> bool:
        """Whether it may be null."""
        return self.member.nillable


@dataclass(slots=True)
class Content:
    """The content of an element."""

    group: Group
    elements: dict[str, Shape] = field(default_factory=dict)
    """By tag."""
    attributes: dict[str, Shape] = field(default_factory=dict)
    value: Shape | None = None
    """Its own value, beside which there are only attributes."""
    counted: list[tuple[Shape, int, int | None]] = field(default_factory=list)
    """Members whose number is not in the order: those that may come in any order."""
    counted_if_any: bool = False
    """Whether those need not be there at all."""
    order: Following = field(default_factory=lambda: Following(Particle()))

    def to_count(self, codes: list[str]) -> list[tuple[Shape, int, int | None]]:
        """Members whose number of occurrences must be checked, if these are present."""
        return [] if self.counted_if_any and not codes else self.counted

    def known(self) -> list[str]:
        """The tags of all members."""
        return [*self.elements, *(f"@{name}" for name in self.attributes)]


@dataclass(slots=True)
class Document:
    """A message."""

    title: str
    tag: str
    namespace: str
    content: Content
    declaration: bool

    def namespaces(self) -> list[str]:
        """All that are in use, that of the root first."""
        found: dict[str, None] = {self.namespace: None}
        todo = [self.content]
        while todo:
            content = todo.pop()
            for shape in (*content.elements.values(), *content.attributes.values()):
                found.setdefault(shape.namespace)
                if shape.inner is not None:
                    todo.append(shape.inner)
        return list(found)


def document(message: Message, form: PhysicalFormat) -> Document:
    """Return the XML form of a message; raise ModelProblem if it cannot be XML."""
    content = message.content
    given = content.physical.get(form.name, {})
    tag = given.get("xmlName", message.name)
    _check_name(tag, content)
    return Document(
        f"{form.kind} {form.name} of {message.name}",
        tag,
        content.namespace,
        _content(content, form.name),
        bool(form.properties.get("xmlDeclaration", False)),
    )


def _content(group: Group, form: str) -> Content:
    result = Content(group)
    result.order = Following(_particle(group, form, result))
    if result.value is not None and result.elements:
        raise ModelProblem(group.place, f"{group.name}: expected either a value of its own, or elements inside")
    return result


def _particle(group: Group, form: str, content: Content) -> Particle:
    """Return the content model of one occurrence of a group; its elements are added to `content`."""
    inside: list[Particle] = []
    for member in group.members:
        if isinstance(member, Group) and not member.name:
            inner = _particle(member, form, content)
            if inner.inside:
                inside.append(replace(inner, least=member.occurs.least, most=member.occurs.most))
            continue
        shape = _shape(member, form)
        rendering = member.physical.get(form, {}).get("rendering", "element")
        if rendering == "attribute":
            content.attributes[shape.tag] = shape
        elif rendering == "content":
            content.value = shape
        else:
            known = content.elements.get(shape.tag)
            if known is not None and known.member != member and known.member.name != member.name:
                raise ModelProblem(member.place, f"{member.name}: element {shape.tag} is there twice")
            shape = content.elements.setdefault(shape.tag, shape)
            shape.code = shape.code or chr(FIRST_CODE + len(content.elements))
            shape.direct = shape.direct or group is content.group
            # an element with a default may be missing: the writer adds it
            least = 0 if isinstance(member, Field) and member.default is not None else member.occurs.least
            if group.order is Order.ALL:
                content.counted.append((shape, member.occurs.least, member.occurs.most))
                inside.append(Particle(shape.code))
            else:
                inside.append(Particle(shape.code, (), False, least, member.occurs.most))
    if group.order is Order.ALL:
        content.counted_if_any = content.counted_if_any or not (group.name or group.occurs.least)
        anything = Particle("", tuple(inside), choice=True, least=0, most=None)
        return Particle("", (anything,) if inside else ())
    return Particle("", tuple(inside), group.order is Order.CHOICE)


def _shape(member: Member, form: str) -> Shape:
    given = member.physical.get(form, {})
    tag = given.get("xmlName", member.name)
    if given.get("rendering") == "content":
        assert isinstance(member, Field)
        return Shape(member, "", "", values_of(member, given))
    _check_name(tag, member)
    if given.get("rendering") == "attribute" and (isinstance(member, Group) or member.occurs.repeats):
        raise ModelProblem(member.place, f"{member.name}: expected a single field as an attribute")
    if isinstance(member, Field):
        return Shape(member, tag, member.namespace, values_of(member, given))
    return Shape(member, tag, member.namespace, None, _content(member, form))


def _check_name(tag: str, member: Member) -> None:
    if not writable(tag, colons=False):
        raise ModelProblem(member.place, f"{tag!r} cannot be a name in XML; an xmlName would help")


def members_in_order(group: Group) -> Iterator[Member]:
    """Iterate over the members in the order of the model, with those of unnamed groups in place of the groups."""
    for member in group.members:
        if isinstance(member, Group) and not member.name:
            yield from members_in_order(member)
        else:
            yield member

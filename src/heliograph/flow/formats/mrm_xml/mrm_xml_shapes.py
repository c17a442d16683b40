"""A message as XML: which element or attribute each member is, and which may follow each other."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from heliograph.flow.errors import ModelProblem
from heliograph.flow.formats.model import Field, Group, Member, Message, Order, PhysicalFormat, Property
from heliograph.flow.formats.mrm_xml.mrm_xml_values import XmlValues, values_of
from heliograph.flow.formats.xml.dialect import writable

# Which elements may follow each other inside an element: each is one character, and what may be is a pattern of them.
#
# A message chooses how many elements there are, so the pattern must not try again and again: in it the next element
# alone tells which way to go, as XML Schema demands of its groups. Groups of a model file need not be so clear. So
# what the pattern refuses is gone through once more, with all ways at the same time.

MOST = 1 << 31
"""Repetitions that a pattern can count; no message has as many."""


@dataclass(frozen=True)
class Particle:
    """An element by its character; or others in a sequence, or one of them."""

    code: str = ""
    inside: "tuple[Particle, ...]" = ()
    choice: bool = False
    least: int = 1
    most: int | None = 1

    @cached_property
    def first(self) -> str:
        """The characters that it can begin with."""
        found = dict.fromkeys(self.code)
        for one in self.inside:
            found |= dict.fromkeys(one.first)
            if not (self.choice or one.optional):
                break
        return "".join(found)

    @cached_property
    def optional(self) -> bool:
        """Whether it can be nothing at all."""
        return not self.least or self._empty

    @cached_property
    def _empty(self) -> bool:
        """Whether it can be there, with nothing in it."""
        return not self.code and (any if self.choice else all)(one.optional for one in self.inside)

    def pattern(self) -> str:
        """A regular expression that never goes back."""
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
        """Where it can end in the text, if it can begin at any of these places."""
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
    """What a whole element may have inside."""

    def __init__(self, whole: Particle) -> None:
        self._whole = whole
        self.surely: Callable[[str], re.Match[str] | None] = re.compile(whole.pattern()).fullmatch
        """A fast test: not None if the characters are what may be. None says nothing yet."""

    def fits(self, codes: str) -> bool:
        """Whether these characters are what may be."""
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
"""Each member of a group is one character in the pattern of what may be in it."""


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
    """What is inside an element."""

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
        """Members whose number is to be checked, if these are there."""
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
    """The shape of a message; a ModelProblem if XML cannot have it."""
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
    """What may be in a group, once; its elements are added to the content."""
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
            # what has a default may be missing: the writer gives it
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
    """The members in the order of the model, those of groups without a name in their places."""
    for member in group.members:
        if isinstance(member, Group) and not member.name:
            yield from members_in_order(member)
        else:
            yield member

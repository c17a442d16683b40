"""The steps of a plan: what the bytes of a message are, one after the other."""

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import isnan
from typing import Any

from heliograph.flow.formats.cwf.cwf_shapes import FloatShape, Shape, TextShape
from heliograph.flow.formats.cwf.shape_selection import ENTITY, Properties, characters_of
from heliograph.flow.formats.model import Field, Group, Member
from heliograph.flow.formats.model.field_values import CONVERSIONS

# Null in a structure: the bytes, or the value, that mean "null".
#
# `nilKind` is as in DFDL: `logicalValue` (a value of the field's type means null), `literalValue` (this
# text, padded like other text) and `literalCharacter` (the field is filled with this character). A byte that is not a
# character is written `%#rFF;`, as in DFDL.

LOGICAL, LITERAL, FILL = "logicalValue", "literalValue", "literalCharacter"
MEASURED = ("prefixed", "delimited", "endOfParent")
"""Kinds of length that go by the data itself."""
RAW_BYTE = re.compile(r"%#r([0-9A-Fa-f]{2});")


@dataclass(frozen=True)
class Nil:
    """The representation of null."""

    logical: bool
    value: Any
    """A value of the field; or else what `struct` makes of the bytes."""


def nil_of(field: Field, shape: Shape, properties: Properties) -> Nil | None:
    """Return the representation of null for a field: its own property, or that of the format if the field is
    nillable."""
    holder = properties.get if field.nillable else properties.own.get
    text = holder("nilValue")
    if text is None:
        return None
    if shape.size is None and properties.get("lengthKind", "explicit") not in MEASURED:
        raise properties.problem("nilValue: expected a length that is fixed, prefixed, delimited or endOfParent")
    kind = properties.get("nilKind", LITERAL)
    if kind == LOGICAL:
        return Nil(True, _logical(field, shape, text, properties))
    if isinstance(shape, FloatShape):
        raise properties.problem(f"nilKind: expected {LOGICAL} for a floating-point number, found {kind}")
    data = _filled(shape, text, properties) if kind == FILL else _literal(shape, text, properties)
    if shape.size is None:
        return Nil(False, data)
    return Nil(False, struct.unpack((shape.code_order or ">") + shape.code, data)[0])


def _logical(field: Field, shape: Shape, text: str, properties: Properties) -> Any:
    try:
        value = CONVERSIONS[field.type](characters_of(text))
        if isinstance(value, float) and isnan(value):
            raise ValueError("it equals nothing")
    except ValueError:
        raise properties.problem(f"nilValue: expected a value of type {field.type.value}, found {text!r}") from None
    return shape.trimmed(value)


def _literal(shape: Shape, text: str, properties: Properties) -> bytes:
    data = _encoded(text, properties)
    if isinstance(shape, TextShape):
        data = shape.fitted(data)
    if shape.size not in (None, len(data)):
        raise properties.problem(f"nilValue: expected {shape.size} bytes, found {len(data)} in {text!r}")
    return data


def _filled(shape: Shape, text: str, properties: Properties) -> bytes:
    unit = _encoded(text, properties)
    if shape.size is None:
        raise properties.problem(f"nilKind: expected another than {FILL} for a length that is not fixed")
    if len(RAW_BYTE.sub("x", ENTITY.sub("x", text))) != 1 or shape.size % len(unit):
        raise properties.problem(f"nilValue: expected one character that fills {shape.size} bytes, found {text!r}")
    return unit * (shape.size // len(unit))


def _encoded(text: str, properties: Properties) -> bytes:
    """Encode a text that may contain single bytes as `%#rFF;`."""
    pieces = RAW_BYTE.split(text)  # text and numbers in turn
    try:
        return b"".join(
            bytes.fromhex(piece) if at % 2 else properties.charset.encode(characters_of(piece))
            for at, piece in enumerate(pieces)
        )
    except UnicodeError:
        raise properties.problem(f"nilValue: {properties.charset.name} has no {text!r}") from None


RUN_LENGTH = 16
"""Fields in a run: a reader stops behind each to see whether anybody wants more."""


@dataclass(eq=False)
class Leaf:
    """A field with its shape."""

    definition: Field
    shape: Shape
    path: str
    parent: "Inner | None" = None
    nil: Nil | None = None
    """What stands for null; None if it cannot be null."""
    values: tuple[Any, ...] = ()
    """The values that are allowed, as they are read; any if empty."""
    checked: bool = True
    """Whether only these are allowed; otherwise they just tell branches of a choice apart."""
    variable: str = ""
    """The local variable that keeps its value, if others refer to it."""
    counts: "list[Repeat | Variable]" = field(default_factory=list)
    """What refers to it."""

    @property
    def one_of(self) -> str:
        """The list of allowed values, for errors."""
        return f"one of {', '.join(str(value) or repr(value) for value in self.values)}"


@dataclass(eq=False)
class FieldRun:
    """Neighbouring fields of fixed length in one element: one call of `struct`."""

    leaves: list[Leaf]
    codes: list[str]
    """The letters of struct, with those for gaps."""
    offsets: list[int]
    order: str
    size: int


@dataclass(eq=False)
class Variable:
    """A field whose length depends on the message."""

    leaf: Leaf
    kind: str
    """prefixed, delimited, endOfParent, reference or characters."""
    size: int = 0
    """Bytes of the prefix, or number of characters."""
    order: str = ""
    target: Leaf | None = None


@dataclass(eq=False)
class Gap:
    """Unused bytes: a fixed count, or up to the next multiple of `align`."""

    count: int
    fill: int
    align: int = 0


@dataclass(eq=False)
class Inner:
    """A group that is an element of the tree, one occurrence."""

    group: Group
    path: str
    ops: "list[Op]" = field(default_factory=list)
    parent: "Inner | None" = None


@dataclass(eq=False)
class Repeat:
    """A member that repeats."""

    member: Member
    path: str
    ops: "list[Op]"
    most: int | None
    parent: Inner
    index: str = ""
    target: Leaf | None = None
    """The field that says how often; without, it comes `most` times, or to the end of the message."""
    reserve: int | None = None
    """Bytes that it always takes."""
    fill: int = 0


@dataclass(eq=False)
class Choose:
    """A choice; it takes the space of its largest branch if all have a fixed length."""

    group: Group
    path: str
    branches: "list[Branch]"
    parent: Inner
    target: Leaf | None = None
    size: int | None = None
    fill: int = 0


@dataclass(eq=False)
class Branch:
    """A branch of a choice."""

    member: Member
    ops: "list[Op]"
    keys: tuple[str, ...]


@dataclass(eq=False)
class PadRecord:
    """Fills the message up to its largest size."""

    size: int
    fill: int


Op = FieldRun | Variable | Gap | Inner | Repeat | Choose | PadRecord


def bounded(ops: list[Op]) -> bool:
    """Whether the size of these steps has an upper bound."""
    return not any(
        isinstance(op, Variable) or (isinstance(op, Gap) and op.align) or (isinstance(op, Repeat) and op.most is None)
        for op in all_ops(ops)
    )


def largest_size(ops: list[Op]) -> int:
    """Return the size with the most occurrences."""
    total = 0
    for op in ops:
        if isinstance(op, FieldRun):
            total += op.size
        elif isinstance(op, Gap):
            total += op.count
        elif isinstance(op, Inner):
            total += largest_size(op.ops)
        elif isinstance(op, Repeat):
            total += (op.most or 0) * largest_size(op.ops)
        elif isinstance(op, Choose):
            total += max(largest_size(branch.ops) for branch in op.branches)
    return total


def reserved_size(ops: list[Op]) -> int:
    """Return the size that every message has, with the largest branch of each choice."""
    total = 0
    for op in ops:
        if isinstance(op, FieldRun):
            total += op.size
        elif isinstance(op, Variable):
            total += op.size if op.kind == "characters" else 0
        elif isinstance(op, Gap):
            total += op.count
        elif isinstance(op, Inner):
            total += reserved_size(op.ops)
        elif isinstance(op, Repeat):
            count = op.most if op.target is None or op.reserve is not None else 0
            total += (count or 0) * reserved_size(op.ops)
        elif isinstance(op, Choose):
            total += max((reserved_size(branch.ops) for branch in op.branches), default=0)
    return total


def all_ops(ops: list[Op]) -> Iterator[Op]:
    """Iterate over the steps and all steps inside them."""
    for op in ops:
        yield op
        if isinstance(op, Inner | Repeat):
            yield from all_ops(op.ops)
        elif isinstance(op, Choose):
            for branch in op.branches:
                yield from all_ops(branch.ops)


def joined(ops: list[Op]) -> list[Op]:
    """Join neighbouring runs and gaps, as long as their byte orders agree and the run does not get too long."""
    result: list[Op] = []
    for op in ops:
        last = result[-1] if result else None
        if isinstance(last, FieldRun) and isinstance(op, Gap) and not op.align and not op.fill:
            last.codes.append(f"{op.count}x")
            last.size += op.count
        elif isinstance(last, FieldRun) and isinstance(op, FieldRun) and _together(last, op):
            last.leaves += op.leaves
            last.codes += op.codes
            last.offsets += [last.size + offset for offset in op.offsets]
            last.order = last.order or op.order
            last.size += op.size
        else:
            result.append(op)
    return result


def _together(one: FieldRun, other: FieldRun) -> bool:
    orders = {one.order, other.order} - {""}
    return len(orders) <= 1 and len(one.leaves) + len(other.leaves) <= RUN_LENGTH

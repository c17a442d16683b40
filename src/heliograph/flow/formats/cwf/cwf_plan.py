"""Builds the plan of a message in CWF: its steps in the order of the bytes, with all properties resolved.

Neighbouring fields of fixed length are joined to a *run* (`FieldRun`), because one call of `struct` for many fields is
much faster than one for each. The planner tracks the position of each step (`Spot`) so that alignment becomes a fixed
gap wherever the position is known; behind a field of variable length only a computed gap (`-o % align`) is possible.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from math import gcd

from heliograph.flow.formats.cwf.cwf_shapes import FloatShape, IntegerShape, TextShape
from heliograph.flow.formats.cwf.plan_steps import (
    Branch,
    Choose,
    FieldRun,
    Gap,
    Inner,
    Leaf,
    Op,
    PadRecord,
    Repeat,
    Variable,
    all_ops,
    bounded,
    joined,
    largest_size,
    nil_of,
    reserved_size,
)
from heliograph.flow.formats.cwf.shape_selection import Properties, shape_of
from heliograph.flow.formats.model import (
    Field,
    Group,
    Member,
    Message,
    Order,
    PhysicalFormat,
    Property,
    Reference,
    reference,
)
from heliograph.flow.tree import Text

# The properties of CWF (fixed structures), in the words of DFDL.
#
# The default of a field is the property of its format. The default for character set, byte order and floating-point
# form is what the header in front of the message says (`CodedCharSetId`, `Encoding`).

MOST_BYTES = 100_000_000
"""That a message always has, whatever is in it: no server takes larger ones."""

PROPERTIES: Mapping[str, Property] = {
    # Length
    "lengthKind": Property(choices=("explicit", "prefixed", "delimited", "endOfParent")),  # delimited: ended by a NUL
    "length": Property(int, reference=True),
    "lengthUnits": Property(choices=("bytes", "characters")),
    "prefixLength": Property(int, choices=(1, 2, 4)),
    # Representation
    "representation": Property(choices=("text", "binary")),
    "encoding": Property(),  # a CCSID or Python's name of a character set
    "byteOrder": Property(choices=("bigEndian", "littleEndian")),
    "binaryNumberRep": Property(choices=("binary", "packed", "bcd")),
    "binaryFloatRep": Property(choices=("ieee", "ibm390Hex")),
    "textNumberRep": Property(choices=("standard", "zoned")),
    "textZonedSignStyle": Property(choices=("asciiStandard", "asciiTranslatedEBCDIC")),
    "signOrientation": Property(choices=("leading", "leadingSeparate", "trailing", "trailingSeparate")),
    "decimalSigned": Property(bool),
    "digits": Property(int),  # of packed numbers; all that the bytes can hold if not given
    "virtualDecimalPoint": Property(
        int, limits=(-999, 999)
    ),  # digits behind the point; negative: zeros that are not written
    "calendarPattern": Property(),
    "binaryCalendarRep": Property(choices=("packed", "bcd", "binarySeconds", "binaryMilliseconds")),
    "textBooleanTrueRep": Property(),
    "textBooleanFalseRep": Property(),
    # Null, and values that are allowed
    "nilKind": Property(choices=("literalValue", "literalCharacter", "logicalValue")),
    "nilValue": Property(),
    "checkValues": Property(bool),  # whether `values` of the model are checked; they are, if nothing is said
    # Fitting into the length
    "justification": Property(choices=("left", "right", "center")),
    "padCharacter": Property(),
    # Position
    "alignment": Property(int, choices=(1, 2, 4, 8, 16), implicit=True),
    "leadingSkip": Property(int, limits=(0, MOST_BYTES)),
    "trailingSkip": Property(int, limits=(0, MOST_BYTES)),
    "fillByte": Property(int, limits=(0, 255)),
    # Repetition
    "occursCountKind": Property(choices=("fixed", "expression", "endOfParent")),
    "occursCount": Property(int, reference=True),
    "occursPadding": Property(choices=("none", "occurrences", "record")),
    # Choices
    "choiceDispatchKey": Property(reference=True),
    "choiceBranchKey": Property(),  # several with blanks between
}

ANY = 1 << 62
"""The beginning of a message is a multiple of everything."""


@dataclass(frozen=True)
class Spot:
    """A position in the message: `offset` bytes behind a base, which is only known to be a multiple of `multiple`."""

    multiple: int
    offset: int
    base: int

    def aligned(self, to: int) -> int | None:
        """Return the bytes up to the next multiple, or None if they depend on the message."""
        return -self.offset % to if self.multiple % to == 0 else None

    def behind(self, size: int) -> "Spot":
        """Return the position this many bytes further on."""
        return Spot(self.multiple, self.offset + size, self.base)

    def distance(self, start: "Spot") -> int | None:
        """Return the bytes from an earlier position to this one; None if they depend on the message."""
        return self.offset - start.offset if self.base == start.base else None


def plan(message: Message, form: PhysicalFormat, text: Text) -> Inner:
    """The plan of a message."""
    return _Planner(form, text).message(message)


class _Planner:
    def __init__(self, form: PhysicalFormat, text: Text) -> None:
        self._form = form
        self._text = text
        self._known: dict[int, dict[str, Leaf | Inner]] = {}
        self._pad_record = False
        self._loops = 0
        self._bases = count()
        self._references = 0

    def message(self, message: Message) -> Inner:
        root = Inner(message.content, "")
        properties = self._properties(message.content)
        self._group(message.content, root, root.ops, self._somewhere(ANY))
        root.ops = joined(root.ops)
        if (size := reserved_size(root.ops)) > MOST_BYTES:
            raise properties.problem(f"expected a message of at most {MOST_BYTES} bytes, found one of {size}")
        # A counter or length field is written from the data if the tree gives it no value (`_counting` in cwf_writing).
        for op in all_ops(root.ops):
            if isinstance(op, Repeat | Variable) and op.target is not None:
                op.target.counts.append(op)
        if self._pad_record:
            if not bounded(root.ops):
                raise properties.problem("occursPadding record: the message has no largest size")
            root.ops.append(PadRecord(largest_size(root.ops), properties.get("fillByte", 0)))
        return root

    def _somewhere(self, multiple: int = 1) -> Spot:
        """Return a new base: a position that is known only to be a multiple."""
        return Spot(multiple, 0, next(self._bases))

    def _properties(self, member: Member) -> Properties:
        own = member.physical.get(self._form.name, {})
        return Properties(member.name or "a group", member.place, own, self._form, self._text)

    # Groups and their members

    def _group(self, group: Group, parent: Inner, ops: list[Op], spot: Spot) -> Spot:
        if group.order is Order.CHOICE:
            return self._choice(group, parent, ops, spot)
        for member in group.members:
            spot = self._member(member, parent, ops, spot)
        return spot

    def _member(self, member: Member, parent: Inner, ops: list[Op], spot: Spot) -> Spot:
        properties = self._properties(member)
        if member.occurs.repeats or properties.own.get("occursCount") is not None:
            return self._repeat(member, properties, parent, ops, spot)
        return self._once(member, properties, parent, ops, spot)

    def _once(
        self, member: Member, properties: Properties, parent: Inner, ops: list[Op], spot: Spot, number: str = ""
    ) -> Spot:
        """Plan one occurrence, with its skips and alignment; `number` is the index of a repetition, for paths in
        errors."""
        fill = properties.get("fillByte", 0)
        start = self._before(member, properties, ops, spot, fill)
        if isinstance(member, Field):
            here = self._field(member, properties, parent, ops, start, number)
        elif member.name:
            here = self._inner(member, properties, parent, ops, start, number)
        else:
            here = self._group(member, parent, ops, start)
        trailing = properties.own.get("trailingSkip", 0)
        if trailing:
            ops.append(Gap(trailing, fill))
            here = here.behind(trailing)
        return here

    def _before(self, member: Member, properties: Properties, ops: list[Op], spot: Spot, fill: int) -> Spot:
        leading = properties.own.get("leadingSkip", 0)
        if leading:
            ops.append(Gap(leading, fill))
            spot = spot.behind(leading)
        return self._align(self._alignment(member, properties), ops, spot, fill)

    def _align(self, to: int, ops: list[Op], spot: Spot, fill: int) -> Spot:
        if to == 1:
            return spot
        gap = spot.aligned(to)
        if gap is None:
            ops.append(Gap(0, fill, to))
            return self._somewhere(to)
        if gap:
            ops.append(Gap(gap, fill))
        return spot.behind(gap)

    def _alignment(self, member: Member, properties: Properties) -> int:
        """Return the alignment of a member. `implicit` aligns numbers by their size, groups by their widest member."""
        given = properties.get("alignment", 1)
        if given != "implicit":
            return int(given) if isinstance(member, Field) or "alignment" in properties.own else 1
        if isinstance(member, Group):
            return max(self._alignment(inner, self._properties(inner)) for inner in member.members)
        shape = shape_of(member, properties)
        if isinstance(shape, IntegerShape | FloatShape):
            return shape.size or 1
        wide = isinstance(shape, TextShape) and shape.charset is not None and shape.charset.width == 2
        return 2 if wide else 1

    def _inner(
        self, group: Group, properties: Properties, parent: Inner, ops: list[Op], spot: Spot, number: str
    ) -> Spot:
        inner = Inner(group, f"{parent.path}{group.name}{number}.", [], parent)
        self._know(parent, group.name, inner)
        ops.append(inner)
        end = self._group(group, inner, inner.ops, spot)
        if properties.get("alignment") == "implicit":  # C pads the end of a structure to its alignment
            end = self._align(self._alignment(group, properties), inner.ops, end, properties.get("fillByte", 0))
        inner.ops = joined(inner.ops)
        return end

    def _field(
        self, member: Field, properties: Properties, parent: Inner, ops: list[Op], spot: Spot, number: str
    ) -> Spot:
        shape = shape_of(member, properties)
        leaf = Leaf(member, shape, f"{parent.path}{member.name}{number}", parent, nil_of(member, shape, properties))
        leaf.values = tuple(shape.trimmed(value) for value in member.values)
        leaf.checked = properties.get("checkValues", True)
        if shape.size is not None:
            ops.append(FieldRun([leaf], [shape.code], [0], shape.code_order, shape.size))
            self._know(parent, member.name, leaf)
            return spot.behind(shape.size)
        ops.append(self._variable(leaf, properties, parent))
        self._know(parent, member.name, leaf)
        return self._somewhere()

    def _variable(self, leaf: Leaf, properties: Properties, parent: Inner) -> Variable:
        kind = properties.get("lengthKind", "explicit")
        if kind == "prefixed":
            return Variable(leaf, kind, properties.get("prefixLength", 2), properties.order(0xF, 0x2))
        if kind != "explicit":
            return Variable(leaf, kind)
        length = properties.own["length"]
        found = reference(length)
        if found is None:
            return Variable(leaf, "characters", length)
        return Variable(leaf, "reference", target=self._target(found, parent, properties, "length"))

    # References

    def _know(self, parent: Inner, name: str, what: Leaf | Inner) -> None:
        self._known.setdefault(id(parent), {}).setdefault(name, what)

    def _target(self, wanted: Reference, parent: Inner, properties: Properties, use: str) -> Leaf:
        """Find the earlier field that a reference (`{../N}`) refers to."""
        around = parent
        for _ in range(wanted.up if wanted.up is not None else ANY):
            if around.parent is None:
                if wanted.up is not None:
                    raise properties.problem(f"{use}: there are not as many groups around it as it has ../")
                break
            around = around.parent
        found: Leaf | Inner | None = around
        for name in wanted.path:
            found = self._known.get(id(found), {}).get(name) if isinstance(found, Inner) else None
        if not isinstance(found, Leaf):
            raise properties.problem(f"{use}: expected an earlier field, found {'/'.join(wanted.path)}")
        if found.nil is not None:
            raise properties.problem(f"{use}: expected a field that is never null, found {'/'.join(wanted.path)}")
        if not found.variable:
            found.variable = f"r{self._references}"
            self._references += 1
        return found

    # Repetition

    def _repeat(self, member: Member, properties: Properties, parent: Inner, ops: list[Op], spot: Spot) -> Spot:
        if not member.name:
            raise properties.problem("a group that repeats needs a name")
        most, target = self._count(member, properties, parent)
        index, self._loops = f"i{self._loops}", self._loops + 1
        body, stride = self._occurrence(member, properties, parent, f"[{index}]", spot)
        repeat = Repeat(member, f"{parent.path}{member.name}", body, most, parent, index, target)
        repeat.fill = properties.get("fillByte", 0)
        ops.append(repeat)
        if target is not None:
            padding = properties.get("occursPadding", "none")
            if padding == "record":
                self._pad_record = True
            if padding != "occurrences":
                return self._somewhere()
            if stride is None or most is None:
                raise properties.problem("occursPadding occurrences: expected a fixed length and a largest number")
            repeat.reserve = stride * most
        return self._somewhere() if stride is None or most is None else spot.behind(stride * most)

    def _count(self, member: Member, properties: Properties, parent: Inner) -> tuple[int | None, Leaf | None]:
        kind = properties.get("occursCountKind")
        given = properties.own.get("occursCount")
        wanted = reference(given)
        if kind == "expression" and wanted is None:
            raise properties.problem("occursCountKind expression: expected occursCount with a reference")
        if wanted is not None:
            return member.occurs.most, self._target(wanted, parent, properties, "occursCount")
        most = given if given is not None else member.occurs.most
        if kind == "fixed" and most is None:
            raise properties.problem("occursCountKind fixed: expected a largest number of occurrences")
        return (None if kind == "endOfParent" else most), None

    def _occurrence(
        self, member: Member, properties: Properties, parent: Inner, number: str, spot: Spot
    ) -> tuple[list[Op], int | None]:
        """Plan one occurrence; return its size, too, if that is fixed.

        The same plan is used for every occurrence, so it may assume only an alignment that all of them have.
        """
        needs = gcd(spot.multiple, self._widest(member))
        before = {key: dict(known) for key, known in self._known.items()}
        for start in (self._somewhere(needs).behind(spot.offset % needs), self._somewhere()):
            self._known = {key: dict(known) for key, known in before.items()}
            body: list[Op] = []
            stride = self._once(member, properties, parent, body, start, number).distance(start)
            if stride is not None and stride % start.multiple == 0:
                break
        return joined(body), stride

    def _widest(self, member: Member) -> int:
        own = self._alignment(member, self._properties(member))
        inner = [self._widest(each) for each in member.members] if isinstance(member, Group) else []
        return max(own, *inner, 1)

    # Choices

    def _choice(self, group: Group, parent: Inner, ops: list[Op], spot: Spot) -> Spot:
        properties = self._properties(group)
        wanted = reference(properties.own.get("choiceDispatchKey"))
        target = self._target(wanted, parent, properties, "choiceDispatchKey") if wanted is not None else None
        branches, sizes = [], []
        for member in group.members:
            body: list[Op] = []
            end = self._member(member, parent, body, spot)
            key = self._properties(member).own.get("choiceBranchKey")
            if target is not None and key is None:
                raise self._properties(member).problem("expected a choiceBranchKey, as the choice has a dispatch key")
            branches.append(Branch(member, joined(body), tuple(key.split()) if key else ()))
            sizes.append(end.distance(spot))
        size = max(known for known in sizes if known is not None) if None not in sizes else None
        fill = properties.get("fillByte", 0)
        ops.append(Choose(group, parent.path, branches, parent, target, size, fill))
        return spot.behind(size) if size is not None else self._somewhere()

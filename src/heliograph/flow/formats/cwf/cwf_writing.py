"""Generates the writer of a plan: a function that writes the elements of a part as bytes.

For the model in the docstring of `cwf_reading`, the source is (shortened):

    def write(part):
        out = bytearray()
        try:
            d0 = gathered(part.children)                    # children by name, as Line repeats
            a0 = one(d0, 'Id')
            a2 = one(d0, 'N')
            v0 = a0.value
            if v0.__class__ is not int: v0 = convert0(v0)   # most values have the right class already
            if not -2147483648 <= v0 <= 2147483647: raise ValueError(v0)
            v2 = a2.value
            if v2 is None: v2 = counted0(part)              # a counter without a value is computed
            r0 = v2
            out += pack0(v0, v1, v2)
            s0 = d0.pop('Line', ())
            if len(s0) != int(r0): raise ValueError(len(s0))
            for i0, a3 in enumerate(s0):
                k0 = a3.children
                if [x.name for x in k0] != NAMES0:          # in a group without repetition, children are usually
                    k0 = arranged(k0, NAMES0)               # in the model's order already
                a4, = k0
                v0 = a4.value
                out += pack1(v0)
            if any(d0.values()): raise ValueError(...)      # elements that the model does not have
        except ERRORS as error:
            raise write_problem(error, SITES, 'CWF C of M') from None
        return bytes(out)"""

import struct
from functools import partial
from typing import Any

from heliograph.flow.formats.cwf.cwf_reading import PREFIX_CODES
from heliograph.flow.formats.cwf.cwf_shapes import TextShape
from heliograph.flow.formats.cwf.plan_steps import Choose, FieldRun, Gap, Inner, Leaf, Op, PadRecord, Repeat, Variable
from heliograph.flow.formats.model import Group, Member, Order, Site, Source
from heliograph.flow.formats.model.field_values import as_binary, as_string
from heliograph.flow.formats.model.source import ERRORS, write_problem
from heliograph.flow.tree import Element

MISSING = Element()
"""Stands for a missing element: no value, no children."""


def generate_writer(source: Source, root: Inner, form: str) -> None:
    """Add `write(part)`."""
    source.use(ERRORS=ERRORS, write_problem=write_problem, SITES=source.sites, MISSING=MISSING)
    source.use(arranged=arranged, gathered=gathered, one=one)
    with source.block("def write(part):"):
        source.add("out = bytearray()")
        with source.block("try:"):
            _Writer(source).element(root, "part")
        with source.block("except ERRORS as error:"):
            source.add(f"raise write_problem(error, SITES, {form!r}) from None")
        source.add("return bytes(out)")


class _Writer:
    def __init__(self, source: Source) -> None:
        self._source = source

    def element(self, op: Inner, element: str) -> None:
        """Generate code that finds the children of an element by name and writes them."""
        names = _single_names(op.group)
        known = ", ".join(dict.fromkeys(_names_below(op.group)))
        site = Site(op.path, "", f"only what the model has ({known})")
        if names is not None:
            children = self._source.new_name("k")
            expected = self._source.constant("NAMES", list(names))
            self._source.add(f"{children} = {element}.children")
            with self._source.block(f"if [x.name for x in {children}] != {expected}:"):
                self._source.add(f"{children} = arranged({children}, {expected})", site)
            variables = [self._source.new_name("a") for _ in names]
            self._source.add(f"{', '.join(variables)}, = {children}")
            self._ops(op.ops, element, "", iter(variables))
        else:
            found = self._source.new_name("d")
            self._source.add(f"{found} = gathered({element}.children)")
            self._ops(op.ops, element, found, None)
            line = f"if any({found}.values()): raise ValueError(', '.join(n for n in {found} if {found}[n]))"
            self._source.add(line, site)

    def _ops(self, ops: list[Op], element: str, found: str, singles: Any) -> None:
        def variable(name: str) -> str:
            if singles is not None:
                return str(next(singles))
            new = self._source.new_name("a")
            self._source.add(f"{new} = one({found}, {name!r})")
            return new

        for op in ops:
            if isinstance(op, FieldRun):
                self._run(op, element, [variable(leaf.definition.name) for leaf in op.leaves])
            elif isinstance(op, Variable):
                self._variable(op, element, variable(op.leaf.definition.name))
            elif isinstance(op, Gap):
                self._gap(op)
            elif isinstance(op, Inner):
                self.element(op, variable(op.group.name))
            elif isinstance(op, Repeat):
                self._repeat(op, element, found)
            elif isinstance(op, Choose):
                self._choose(op, element, found)
            else:
                self._pad_record(op)

    def _gap(self, op: Gap) -> None:
        fill = bytes([op.fill])
        self._source.add(f"out += {fill!r} * {f'(-len(out) % {op.align})' if op.align else op.count}")

    def _run(self, run: FieldRun, element: str, variables: list[str]) -> None:
        names = [f"v{number}" for number in range(len(run.leaves))]
        for name, leaf, variable in zip(names, run.leaves, variables, strict=True):
            self._value(leaf, name, element, variable)
        pack = self._source.constant("pack", struct.Struct((run.order or ">") + "".join(run.codes)).pack)
        self._source.add(f"out += {pack}({', '.join(names)})", Site(run.leaves[0].path, "", "values that fit"))

    def _value(self, leaf: Leaf, name: str, element: str, variable: str) -> None:
        site = Site(leaf.path, "", leaf.shape.expected)
        add = self._source.add
        add(f"{name} = {variable}.value")
        if leaf.counts:
            count = self._source.constant("counted", _counting(leaf))
            add(f"if {name} is None: {name} = {count}({element})", site)
        if leaf.nil is None:
            self._stored(leaf, name)
            return
        # A field that is present without a value is null; a missing field gets its default.
        null = self._source.constant("NIL", leaf.nil.value)
        if leaf.nil.logical:
            add(f"if {name} is None and {variable} is not MISSING: {name} = {null}")
            self._stored(leaf, name)
            return
        with self._source.block(f"if {name} is None and {variable} is not MISSING:"):
            add(f"{name} = {null}")
        with self._source.block("else:"):
            self._stored(leaf, name)

    def _stored(self, leaf: Leaf, name: str) -> None:
        """Generate the conversion of the value in this variable to what `struct` packs."""
        site = Site(leaf.path, "", leaf.shape.expected)
        add, shape = self._source.add, leaf.shape
        convert = self._source.constant("convert", shape.conversion(leaf.definition.default))
        known = self._source.constant("Class", shape.python_class)
        if shape.python_class in (str, int, float, bytes, bool):
            known = shape.python_class.__name__
        add(f"if {name}.__class__ is not {known}: {name} = {convert}({name})", site)
        if leaf.variable:
            add(f"{leaf.variable} = {name}")
        self._allowed(leaf, name)
        for line in shape.store(self._source, name):
            add(line, site)

    def _allowed(self, leaf: Leaf, name: str) -> None:
        if not leaf.values or not leaf.checked:
            return
        null = (leaf.nil.value,) if leaf.nil is not None and leaf.nil.logical else ()
        values = self._source.constant("VALUES", frozenset((*leaf.values, *null)))
        line = f"if {leaf.shape.trimming(name)} not in {values}: raise ValueError(repr({name}))"
        self._source.add(line, Site(leaf.path, "", leaf.one_of))

    def _variable(self, op: Variable, element: str, variable: str) -> None:
        leaf, add = op.leaf, self._source.add
        if op.kind == "characters":
            self._characters(op, element, variable)
            return
        self._value(leaf, "v0", element, variable)
        if op.kind == "prefixed":
            prefix = self._source.constant("pack", struct.Struct(op.order + PREFIX_CODES[op.size]).pack)
            most = (1 << 8 * op.size) - 1
            site = Site(leaf.path, "", f"at most {most} bytes")
            add(f"if len(v0) > {most}: raise ValueError(f'{{len(v0)}} bytes')", site)
            add(f"out += {prefix}(len(v0))")
        elif op.kind == "delimited":
            check = self._source.constant("ended_by_nul", ended_by_nul)
            add(f"v0 = {check}(v0, {leaf.shape.unit})", Site(leaf.path, "", "text without a NUL"))
        elif op.kind == "reference":
            self._to_length(op)
        add("out += v0")

    def _to_length(self, op: Variable) -> None:
        """Generate the padding of text to the length that another field gives."""
        assert op.target is not None
        site = Site(op.leaf.path, "", f"as many bytes as {op.target.path} says")
        self._source.add(f"n = int({op.target.variable})", site)
        shape = op.leaf.shape
        if isinstance(shape, TextShape) and shape.charset is not None:
            pad = shape.charset.encode(shape.pad)
            self._source.add(f"v0 += {pad!r} * ((n - len(v0)) // {len(pad)})")
        self._source.add("if len(v0) != n: raise ValueError(f'{len(v0)} bytes')", site)

    def _characters(self, op: Variable, element: str, variable: str) -> None:
        shape = op.leaf.shape
        assert isinstance(shape, TextShape)
        assert shape.charset is not None
        convert = self._source.constant("convert", shape.conversion(op.leaf.definition.default))
        fit = {"left": "ljust", "right": "rjust", "center": "center"}[shape.justification]
        encode = self._source.constant("encode_", shape.charset.encode)
        site = Site(op.leaf.path, "", f"at most {op.size} characters")
        self._source.add(f"v0 = {convert}({variable}.value)", site)
        self._allowed(op.leaf, "v0")
        self._source.add(f"v0 = v0.{fit}({op.size}, {shape.pad!r})")
        self._source.add(f"if len(v0) != {op.size}: raise ValueError(f'{{len(v0)}} characters')", site)
        self._source.add(f"out += {encode}(v0)", site)

    def _repeat(self, op: Repeat, element: str, found: str) -> None:
        add = self._source.add
        items, item = self._source.new_name("s"), self._source.new_name("a")
        add(f"{items} = {found}.pop({op.member.name!r}, ())")
        start = self._source.new_name("b") if op.reserve is not None else ""
        if op.target is not None:
            site = Site(op.path, "", f"as many occurrences as {op.target.path} says")
            add(f"if len({items}) != int({op.target.variable}): raise ValueError(len({items}))", site)
        elif op.most is not None:
            site = Site(op.path, "", f"at most {op.most} occurrences")
            add(f"if len({items}) > {op.most}: raise ValueError(len({items}))", site)
            add(f"{items} = [*{items}, *[MISSING] * ({op.most} - len({items}))]")
        if start:
            add(f"{start} = len(out) + {op.reserve}")
        with self._source.block(f"for {op.index}, {item} in enumerate({items}):"):
            self._ops(op.ops, element, found, iter([item]))
        if start:
            add(f"out += {bytes([op.fill])!r} * ({start} - len(out))")

    def _choose(self, op: Choose, element: str, found: str) -> None:
        start = self._source.new_name("b")
        self._source.add(f"{start} = len(out)")
        word = "if"
        for position, branch in enumerate(op.branches):
            last = position == len(op.branches) - 1
            if op.target is not None:
                opening = f"{word} str({op.target.variable}) in {branch.keys!r}:"
            elif last and position:
                opening = "else:"
            else:
                opening = f"{word} {' or '.join(f'{name!r} in {found}' for name in _names(branch.member))}:"
            with self._source.block(opening):
                self._ops(branch.ops, element, found, None)
            word = "elif"
        if op.target is not None:
            keys = ", ".join(key for branch in op.branches for key in branch.keys)
            with self._source.block("else:"):
                site = Site(op.target.path, "", f"one of {keys}")
                self._source.add(f"raise ValueError(repr({op.target.variable}))", site)
        if op.size is not None:
            self._source.add(f"out += {bytes([op.fill])!r} * ({start} + {op.size} - len(out))")

    def _pad_record(self, op: PadRecord) -> None:
        self._source.add(f"out += {bytes([op.fill])!r} * ({op.size} - len(out))")


def _names(member: Member) -> list[str]:
    """Return the names of the elements of a member, in order; a group without a name has those of its members."""
    if member.name:
        return [member.name]
    return _names_below(member) if isinstance(member, Group) else []


def _names_below(group: Group) -> list[str]:
    return [name for member in group.members for name in _names(member)]


def _single_names(group: Group) -> list[str] | None:
    """Return the names of all children if each occurs exactly once; otherwise None."""
    if group.order is Order.CHOICE:
        return None
    names: list[str] = []
    for member in group.members:
        if member.occurs.repeats or any("occursCount" in own for own in member.physical.values()):
            return None
        if member.name:
            names.append(member.name)
        else:
            inner = _single_names(member) if isinstance(member, Group) else None
            if inner is None:
                return None
            names += inner
    return names


def gathered(children: list[Element]) -> dict[str, list[Element]]:
    """Return the children by name."""
    found: dict[str, list[Element]] = {}
    for child in children:
        found.setdefault(child.name, []).append(child)
    return found


def one(found: dict[str, list[Element]], name: str) -> Element:
    """Take the next child of this name."""
    children = found.get(name)
    return children.pop(0) if children else MISSING


def arranged(children: list[Element], names: list[str]) -> list[Element]:
    """Return the children in the order of the names, with MISSING for those that are absent."""
    found = gathered(children)
    result = [one(found, name) for name in names]
    left = [name for name, more in found.items() if more]
    if left:
        raise ValueError(", ".join(left))
    return result


def ended_by_nul(data: bytes, width: int) -> bytes:
    """Return the data with its terminating NUL."""
    nul = bytes(width)
    if any(data[at : at + width] == nul for at in range(0, len(data), width)):
        raise ValueError(repr(data))
    return data + nul


def _counting(leaf: Leaf) -> Any:
    """Return the function that computes a count or length field without a value, from the parent of the field."""
    what = leaf.counts[0]
    holder = what.parent if isinstance(what, Repeat) else what.leaf.parent
    name = what.member.name if isinstance(what, Repeat) else what.leaf.definition.name
    path = [name]
    above = set()
    around = leaf.parent
    while around is not None:
        above.add(around)
        around = around.parent
    while holder is not None and holder not in above:
        path.insert(0, holder.group.name)
        holder = holder.parent
    up, around = 0, leaf.parent
    while around is not holder and around is not None:
        up, around = up + 1, around.parent
    measure = None if isinstance(what, Repeat) else partial(_measured, what.leaf.shape)
    return partial(_counted, up, tuple(path), measure)


def _counted(up: int, path: tuple[str, ...], measure: Any, element: Element) -> int:
    for _ in range(up):
        assert element.parent is not None
        element = element.parent
    for name in path[:-1]:
        element = element.first(name) or MISSING
    if measure is None:
        return len(element.all(path[-1]))
    found = element.first(path[-1])
    return int(measure(found.value if found is not None else None))


def _measured(shape: Any, value: Any) -> int:
    if isinstance(shape, TextShape) and shape.charset is not None:
        return len(shape.charset.encode(as_string(value)))
    return len(as_binary(value))

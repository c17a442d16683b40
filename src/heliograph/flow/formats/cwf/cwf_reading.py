"""Generates the reader of a plan: a generator function that adds elements to a part.

For a model with an integer `Id` of 4 bytes, a string `Name` of 10, a counter `N` of 1 byte, and a group `Line` with an
integer of 2 bytes that occurs `N` times, the source is (shortened):

    def read(part, data):
        o = 0                                               # the offset
        try:
            children = part.loaded = []
            v0, v1, v2, = unpack0(data, o)                  # a run: Struct('>i10sb').unpack_from
            e = Element('Id', v0, NAME_VALUE); e.parent = part; children.append(e)
            e = Element('Name', v1.decode().rstrip(' '), NAME_VALUE); e.parent = part; children.append(e)
            r0 = v2                                         # kept, because the repetition refers to it
            e = Element('N', r0, NAME_VALUE); e.parent = part; children.append(e)
            o += 15
            n = int(r0)
            if not 0 <= n: raise ValueError(n)
            for i0 in range(n):
                p0 = Element('Line'); p0.parent = part; children.append(p0)
                p0.pending = part; c0 = p0.loaded = []
                v0, = unpack1(data, o)
                e = Element('Qty', v0, NAME_VALUE); e.parent = p0; c0.append(e)
                o += 2
                p0.pending = None
                yield
            if o < len(data): raise ValueError(f'{len(data) - o} bytes more')
            part.pending = None
            yield
        except ERRORS as error:
            raise read_problem(error, SITES, 'CWF C of M', data) from None

The reader yields every few fields: a message is parsed on demand, so a flow that looks at the first fields only does
not pay for the rest. `pending` marks an element whose children are not all read yet. `read_problem` finds the field of
an error by the line number, so the normal case carries no bookkeeping for errors."""

import struct

from heliograph.flow.formats.cwf.cwf_shapes import TextShape
from heliograph.flow.formats.cwf.plan_steps import Choose, FieldRun, Gap, Inner, Leaf, Op, PadRecord, Repeat, Variable
from heliograph.flow.formats.model import Group, Site, Source
from heliograph.flow.formats.model.source import ERRORS, read_problem
from heliograph.flow.tree import Element
from heliograph.flow.tree.element_types import NAME_VALUE

PAUSE = 8
"""The number of fields after which the reader yields."""
PREFIX_CODES = {1: "B", 2: "H", 4: "I"}


def generate_reader(source: Source, root: Inner, form: str) -> None:
    """Add `read(part, data)`."""
    source.use(Element=Element, NAME_VALUE=NAME_VALUE, ERRORS=ERRORS, read_problem=read_problem, SITES=source.sites)
    with source.block("def read(part, data):"):
        source.add("o = 0")
        with source.block("try:"):
            _Reader(source).whole(root)
        with source.block("except ERRORS as error:"):
            source.add(f"raise read_problem(error, SITES, {form!r}, data) from None")


class _Reader:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._pending = 0
        """Fields since the last pause."""
        self._trying = 0
        """The number of choices that are being tried. The reader must not yield then: elements of a branch that does
        not fit are removed again, so nobody may see them before."""

    def whole(self, root: Inner) -> None:
        self._source.add("children = part.loaded = []")
        self._ops(root.ops, "part", "children")
        site = Site("", "min(o, len(data))", "the end of the message")
        self._source.add("if o < len(data): raise ValueError(f'{len(data) - o} bytes more')", site)
        # `o` may be beyond the end: a sender may leave out unused bytes at the end of a message, which a shorter branch
        # or
        # a table with reserved space leaves. A field that is cut off has raised an error before.
        self._source.add("part.pending = None")
        self._source.add("yield")

    def _ops(self, ops: list[Op], parent: str, children: str) -> None:
        for op in ops:
            if isinstance(op, FieldRun):
                self._run(op, parent, children)
            elif isinstance(op, Variable):
                self._variable(op, parent, children)
            elif isinstance(op, Gap):
                self._source.add(f"o += -o % {op.align}" if op.align else f"o += {op.count}")
            elif isinstance(op, Inner):
                self._inner(op, parent, children)
            elif isinstance(op, Repeat):
                self._repeat(op, parent, children)
            elif isinstance(op, Choose):
                self._choose(op, parent, children)
            else:
                self._pad_record(op)
            if self._pending >= PAUSE:
                self._pause()

    def _pause(self) -> None:
        self._pending = 0
        if not self._trying:
            self._source.add("yield")

    def _run(self, run: FieldRun, parent: str, children: str) -> None:
        layout = struct.Struct((run.order or ">") + "".join(run.codes))
        unpack = self._source.constant("unpack", layout.unpack_from)
        names = [f"v{number}" for number in range(len(run.leaves))]
        ends = [offset + (leaf.shape.size or 0) for offset, leaf in zip(run.offsets, run.leaves, strict=True)]
        parts = tuple(zip(ends, (leaf.path for leaf in run.leaves), strict=True))
        site = Site(run.leaves[-1].path, "o", f"{run.size} bytes", parts)
        self._source.add(f"{', '.join(names)}, = {unpack}(data, o)", site)
        for name, leaf, offset in zip(names, run.leaves, run.offsets, strict=True):
            self._leaf(leaf, self._loaded(leaf, name), f"o + {offset}", parent, children)
        self._source.add(f"o += {run.size}")

    def _loaded(self, leaf: Leaf, raw: str) -> str:
        """Return the expression of a value, from the variable that `struct` unpacked."""
        value = leaf.shape.load(self._source, raw)
        if leaf.nil is None or leaf.nil.logical:
            return value
        return f"None if {raw} == {self._source.constant('NIL', leaf.nil.value)} else {value}"

    def _leaf(self, leaf: Leaf, value: str, at: str, parent: str, children: str) -> None:
        site = Site(leaf.path, at, leaf.shape.expected)
        allowed = leaf.values if self._trying or leaf.checked else ()
        null = self._source.constant("NIL", leaf.nil.value) if leaf.nil is not None and leaf.nil.logical else ""
        variable = leaf.variable or ("x" if allowed or null else "")
        if variable:
            self._source.add(f"{variable} = {value}", site)
            value = variable
        if null:
            self._source.add(f"if {value} == {null}: {value} = None")
        if allowed:
            values = self._source.constant("VALUES", frozenset(allowed))
            there = f"{value} is not None and " if leaf.nil is not None else ""
            one_of = Site(leaf.path, at, leaf.one_of)
            self._source.add(f"if {there}{value} not in {values}: raise ValueError(repr({value}))", one_of)
        name = leaf.definition.name
        self._source.add(f"e = Element({name!r}, {value}, NAME_VALUE); e.parent = {parent}; {children}.append(e)", site)
        self._pending += 1

    def _variable(self, op: Variable, parent: str, children: str) -> None:
        add, leaf = self._source.add, op.leaf
        site = Site(leaf.path, "o", leaf.shape.expected)
        if op.kind == "prefixed":
            prefix = self._source.constant("unpack", struct.Struct(op.order + PREFIX_CODES[op.size]).unpack_from)
            add(f"n, = {prefix}(data, o)", Site(leaf.path, "o", f"a length of {op.size} bytes"))
            add(f"o += {op.size}")
        elif op.kind == "delimited":
            find = self._source.constant("find_nul", find_nul)
            add(f"n = {find}(data, o, {leaf.shape.unit}) - o", Site(leaf.path, "o", "text that is ended by a NUL"))
        elif op.kind == "endOfParent":
            add("n = len(data) - o")
        elif op.kind == "characters":
            self._characters(op, site)
        else:
            assert op.target is not None
            add(f"n = int({op.target.variable})", Site(leaf.path, "o", "a length"))
            add("if n < 0: raise ValueError(n)", Site(leaf.path, "o", f"a length in {op.target.path}"))
        add("v0 = data[o:o + n]")
        short = Site(leaf.path, "o", "as many bytes as its length says")
        add("if len(v0) != n: raise ValueError(f'{len(v0)} of {n} bytes')", short)
        value = self._loaded(leaf, "v0")
        if op.kind == "characters" and isinstance(leaf.shape, TextShape):
            strip = {"left": "rstrip", "right": "lstrip", "center": "strip"}[leaf.shape.justification]
            value = f"{value}.{strip}({leaf.shape.pad!r})"
        self._leaf(leaf, value, "o", parent, children)
        add("o += n" if op.kind != "delimited" else f"o += n + {leaf.shape.unit}")

    def _characters(self, op: Variable, site: Site) -> None:
        """Measure a field whose length is a number of characters in a character set of variable width."""
        assert isinstance(op.leaf.shape, TextShape)
        assert op.leaf.shape.charset is not None
        measure = self._source.constant("bytes_of_characters", bytes_of_characters)
        self._source.add(f"n = {measure}(data, o, {op.size}, {op.leaf.shape.charset.name!r})", site)

    def _inner(self, op: Inner, parent: str, children: str) -> None:
        element, inside = self._source.new_name("p"), self._source.new_name("c")
        add = self._source.add
        add(f"{element} = Element({op.group.name!r}); {element}.parent = {parent}; {children}.append({element})")
        add(f"{element}.pending = part; {inside} = {element}.loaded = []")
        self._ops(op.ops, element, inside)
        add(f"{element}.pending = None")

    def _repeat(self, op: Repeat, parent: str, children: str) -> None:
        add = self._source.add
        start = self._source.new_name("b") if op.reserve is not None else ""
        if op.target is None and op.most is None:
            add(f"{op.index} = -1")
            opening = "while o < len(data):"
        elif op.target is None:
            opening = f"for {op.index} in range({op.most}):"
        else:
            expected = f"0 to {op.most} occurrences in {op.target.path}" if op.most else f"a count in {op.target.path}"
            high = f" <= {op.most}" if op.most is not None else ""
            site = Site(op.path, "o", expected)
            add(f"n = int({op.target.variable})", site)
            add(f"if not 0 <= n{high}: raise ValueError(n)", site)
            # Items may have a length of 0, so the end of the data does not bound the loop. The size of the message
            # does.
            limit = Site(op.path, "o", f"a count in {op.target.path} that the message has room for")
            add("if n > len(data): raise ValueError(n)", limit)
            opening = f"for {op.index} in range(n):"
        if start:
            add(f"{start} = o")
        with self._source.block(opening):
            if opening.startswith("while"):
                add(f"{op.index} += 1")
            self._pending = 0
            self._ops(op.ops, parent, children)
            if self._pending and isinstance(op.member, Group):
                self._pause()
        if start:
            add(f"o = {start} + {op.reserve}")

    def _choose(self, op: Choose, parent: str, children: str) -> None:
        add = self._source.add
        start = self._source.new_name("b")
        add(f"{start} = o")
        if op.target is not None:
            self._dispatch(op, parent, children)
        else:
            self._try(op, start, parent, children)
        if op.size is not None:
            add(f"o = {start} + {op.size}")

    def _dispatch(self, op: Choose, parent: str, children: str) -> None:
        assert op.target is not None
        word = "if"
        for branch in op.branches:
            with self._source.block(f"{word} str({op.target.variable}) in {branch.keys!r}:"):
                self._ops(branch.ops, parent, children)
            word = "elif"
        keys = ", ".join(key for branch in op.branches for key in branch.keys)
        with self._source.block("else:"):
            site = Site(op.target.path, "o", f"one of {keys}")
            self._source.add(f"raise ValueError(repr({op.target.variable}))", site)

    def _try(self, op: Choose, start: str, parent: str, children: str) -> None:
        """Generate a choice without a key: try the branches in order and take the first that can be read."""
        mark, number = self._source.new_name("m"), self._source.new_name("t")
        self._source.add(f"{mark} = len({children})")
        self._trying += 1
        with self._source.block(f"for {number} in range({len(op.branches)}):"):
            with self._source.block("try:"):
                for position, branch in enumerate(op.branches):
                    with self._source.block(f"{'elif' if position else 'if'} {number} == {position}:"):
                        self._source.add("pass")
                        self._ops(branch.ops, parent, children)
                self._source.add("break")
            with self._source.block("except ERRORS:"):
                self._source.add(f"del {children}[{mark}:]; o = {start}")
        self._trying -= 1
        names = ", ".join(branch.member.name or "a group" for branch in op.branches)
        with self._source.block("else:"):
            self._source.add("raise ValueError('bytes that fit none')", Site(op.path, "o", f"one of {names}"))

    def _pad_record(self, op: PadRecord) -> None:
        self._source.add(f"o = max(o, {op.size})")


def find_nul(data: bytes, start: int, width: int) -> int:
    """Return the position of the next NUL character, at a multiple of the character width."""
    at = data.find(bytes(width), start)
    while width > 1 and at >= 0 and (at - start) % width:
        at = data.find(bytes(width), at + 1)
    if at < 0:
        raise ValueError("the end of the message")
    return at


def bytes_of_characters(data: bytes, start: int, count: int, encoding: str) -> int:
    """Return how many bytes this number of characters takes."""
    text = data[start : start + 4 * count].decode(encoding, "surrogateescape")[:count]
    if len(text) != count:
        raise ValueError(f"{len(text)} characters")
    return len(text.encode(encoding, "surrogateescape"))

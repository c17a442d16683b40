"""Generates the reader of a message in TDS: one function for each group, straight through its members.

For a group `G` with a string `A` and an integer `B`, separated by commas, the function is (shortened):

    def read_G_0(parent, text, at, limit):
        children = parent.loaded
        add = children.append
        try:
            found = ends0(text, at, limit)          # the next delimiter of an enclosing group
            end = found.start() if found is not None else limit
            chunk = text[at:end]
            pieces = chunk.split(',')
            if len(pieces) != 2:
                if len(pieces) > 2: fail(parent, text, at, f'2 elements (there are {len(pieces)})')
                pieces += [''] * (2 - len(pieces))
            s0, s1, = pieces
            if s0:
                element = Element('A', s0, NAME_VALUE)
                element.parent = parent
                add(element)
            else: ...                               # what an empty field means: a value, a default, an error
            if s1:
                element = Element('B', int(s1) if s1.isascii() and s1.isdecimal() and len(s1) < 19 else parse0(s1),
                    NAME_VALUE)
                ...
            at = end
            return at
        except ValueError as error:
            raise errors.not_read(error, parent, text) from None

With a quote or escape character the split is guarded by `if '"' in chunk`, with the careful way in that branch. `read`
does the same for the message as a whole, and yields after each member, because messages are parsed on demand."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from heliograph.flow.errors import FormatProblem
from heliograph.flow.formats.charsets import Charset
from heliograph.flow.formats.model import Order, Source
from heliograph.flow.formats.tds.generated_support import ErrorReports, Spot, check_tagged, choose
from heliograph.flow.formats.tds.member_reading import MemberReader
from heliograph.flow.formats.tds.tds_plan import (
    FieldPlan,
    GroupPlan,
    MessagePlan,
    Plan,
    Separation,
    fixed_length,
)
from heliograph.flow.formats.tds.tds_values import unpadded
from heliograph.flow.tree import Element
from heliograph.flow.tree.element_types import NAME, NAME_VALUE


def generate_reader(
    plan: MessagePlan, source: Source, charset: Charset, errors: ErrorReports, spots: dict[int, Spot]
) -> None:
    """Add the function `read` and those that it calls to the source."""
    source.use(
        Element=Element,
        NAME=NAME,
        NAME_VALUE=NAME_VALUE,
        FormatProblem=FormatProblem,
        decode=charset.decode,
        errors=errors,
        fail=errors.fail,
        check_tagged=check_tagged,
        choose=choose,
        unpadded=unpadded,
    )
    _Reader(plan, source, spots, charset.name).message()


class _Reader(MemberReader):
    # Functions

    def message(self) -> None:
        """Generate `read`, which yields after each member of the message."""
        top = self.plan.top
        names = self._functions(top)
        add = self.source.add
        with self.source.block("def read(part, data):"):
            add("parent = part")
            with self.source.block("try:"):
                add("text = decode(data)")
            with self.source.block("except UnicodeDecodeError as error:"):
                add("found = 'byte 0x%02x' % data[error.start]")
                add(
                    f"raise FormatProblem({self.plan.title!r}, {f'text in {self.codec}'!r}, found,"
                    " offset=error.start) from None"
                )
            add("at, limit = 0, len(text)")
            add("parent.loaded = children = []")
            add("add = children.append")
            with self._catching():
                self._body(top, names, lazy=True)
                add("if at != limit: fail(parent, text, at, 'the end of the message')")
            add("part.pending = None")

    def _functions(self, group: GroupPlan) -> dict[int, str]:
        """Generate functions for the nested groups; return their names by the identity of their plans."""
        names: dict[int, str] = {}
        for one in group.members:
            if isinstance(one, GroupPlan):
                inner = self._functions(one)
                names[id(one)] = name = self.source.new_name(f"read_{_identifier(one.name)}_")
                self._function(name, one, inner)
            elif group.member.order is Order.CHOICE and not group.separation.tagged:
                names[id(one)] = name = self.source.new_name(f"read_{_identifier(one.name)}_")
                with self._defined(name):
                    self._take(group, one)
                    self.source.add(f"if s == '': fail(parent, text, at, {one.values.expected!r}, {one.name!r})")
                    self._store(one, "s", "at - len(s)", present=True)
                    self.source.add("return at")
        return names

    def _function(self, name: str, group: GroupPlan, inner: dict[int, str]) -> None:
        with self._defined(name):
            self._body(group, inner, lazy=False)
            self.source.add("return at")

    @contextmanager
    def _defined(self, name: str) -> Iterator[None]:
        with self.source.block(f"def {name}(parent, text, at, limit):"):
            self.source.add("children = parent.loaded")
            self.source.add("add = children.append")
            with self._catching():
                yield

    @contextmanager
    def _catching(self) -> Iterator[None]:
        with self.source.block("try:"):
            yield
        with self.source.block("except ValueError as error:"):
            self.source.add("raise errors.not_read(error, parent, text) from None")

    # Groups

    def _body(self, group: GroupPlan, names: dict[int, str], lazy: bool) -> None:
        add = self.source.add
        self._literal(group.initiator, "the group's beginning")
        kind = group.separation
        if group.member.order is Order.CHOICE and not kind.tagged:
            self._choice(group, names)
        elif _all_plain(group) and kind in (Separation.ALL_ELEMENTS_DELIMITED, Separation.TAGGED_DELIMITED):
            self._split(group, names)
        elif kind.tagged:
            self._tagged(group, names, lazy)
        elif kind.delimited:
            self._delimited(group, names, lazy)
        else:
            for one in group.members:
                self._member(group, one, names, lazy)
        self._literal(group.terminator, "the group's end")
        if lazy:
            add("yield")

    def _literal(self, text: str, what: str) -> None:
        if text:
            self.source.add(f"if not text.startswith({text!r}, at): fail(parent, text, at, {f'{text!r}, {what}'!r})")
            self.source.add(f"at += {len(text)}")

    def _choice(self, group: GroupPlan, names: dict[int, str]) -> None:
        branches = []
        for one in group.members:
            if isinstance(one, GroupPlan) and one.name:
                name = self.source.new_name("choose_")
                # A nested function, because `choose` calls the branches one after the other until one fits.
                with self.source.block(f"def {name}(parent, text, at, limit):"):
                    self.source.add("children = parent.loaded")
                    self.source.add("add = children.append")
                    self._one(group, one, names)
                    self.source.add("return at")
                branches.append(name)
            else:
                branches.append(names[id(one)])
        self.source.add(f"at = choose(({', '.join(branches)},), parent, text, at, limit)")

    def _split(self, group: GroupPlan, names: dict[int, str]) -> None:
        """Generate the fast way for a group of plain fields: without quotes and escapes, `str.split` finds all
        delimiters."""
        add = self.source.add
        ends = tuple(text for text in group.stops if text != group.separator)
        if ends:
            search = self.source.constant("ends", re.compile("|".join(map(re.escape, ends))).search)
            add(f"found = {search}(text, at, limit)")
            add("end = found.start() if found is not None else limit")
        else:
            add("end = limit")
        add("chunk = text[at:end]")
        if self.guarded:
            hidden = " or ".join(f"{one!r} in chunk" for one in self.guarded)
            with self.source.block(f"if {hidden}:"):
                if group.separation.tagged:
                    self._tagged(group, names, lazy=False)
                else:
                    self._delimited(group, names, lazy=False)
            with self.source.block("else:"):
                self._split_chunk(group)
        else:
            self._split_chunk(group)

    def _split_chunk(self, group: GroupPlan) -> None:
        add = self.source.add
        if group.separation.tagged:
            self._split_tagged(group)
            add("at = end")
            return
        count = len(group.members)
        add(f"pieces = chunk.split({group.separator!r})" if group.separator else "pieces = [chunk]")
        if group.postfix:
            add("if pieces[-1] == '': pieces.pop()")
        with self.source.block(f"if len(pieces) != {count}:"):
            add(f"if len(pieces) > {count}: fail(parent, text, at, f'{count} elements (there are {{len(pieces)}})')")
            add(f"pieces += [''] * ({count} - len(pieces))")
        variables = [f"s{number}" for number in range(count)]
        add(f"{', '.join(variables)}, = pieces")
        for number, one in enumerate(group.members):
            assert isinstance(one, FieldPlan)
            before = f"at + sum(map(len, pieces[:{number}])) + {number * len(group.separator)}"
            self._store(one, f"s{number}", before)
        add("at = end")

    def _split_tagged(self, group: GroupPlan) -> None:
        add, constant = self.source.add, self.source.constant
        fields = {
            one.tag: (one.name, one.values.parse or str, one.nil) for one in group.members if isinstance(one, FieldPlan)
        }
        known = constant("fields", fields)
        expected = {one.tag: one.values.expected for one in group.members if isinstance(one, FieldPlan)}
        add("start = at")
        add("before = len(children)")
        with self.source.block(f"for piece in chunk.split({group.separator!r}) if chunk else ():"):
            if group.tag_length:
                add(f"tag, s = piece[:{group.tag_length}], piece[{group.tag_length}:]")
            else:
                add(f"tag, _, s = piece.partition({group.tag_separator!r})")
            with self.source.block(f"if tag not in {known}:"):
                if group.postfix:
                    add("if not piece and start == end: break")
                add(f"fail(parent, text, start, {_tags(group)!r})")
            add(f"name, parse, nil = {known}[tag]")
            with self.source.block("try:"):
                add("element = Element(name, None if s == nil else parse(s), NAME_VALUE)")
            with self.source.block("except ValueError:"):
                add(f"fail(parent, text, start + len(piece) - len(s), {constant('expected', expected)}[tag], name)")
            add("element.parent = parent")
            add("add(element)")
            add(f"start += len(piece) + {len(group.separator)}")
        self._counted(group, "end")

    def _counted(self, group: GroupPlan, at: str) -> None:
        """Generate the check of how often members occur. One comparison covers the usual case: each once, none
        missing."""
        required = frozenset(one.name for one in group.members if one.member.occurs.least)
        add = self.source.add
        add("added = children[before:]")
        add("once = {element.name for element in added}")
        with self.source.block(
            f"if len(once) != len(added) or not {self.source.constant('required', required)} <= once:"
        ):
            add(f"check_tagged(errors, parent, added, text, {at}, {self._limits(group)})")

    def _limits(self, group: GroupPlan) -> str:
        limits = {
            one.name: (
                one.member.occurs.least,
                one.member.occurs.most,
                one.member.default if isinstance(one, FieldPlan) else None,
                one.tag,
            )
            for one in group.members
        }
        return self.source.constant("limits", limits)

    def _delimited(self, group: GroupPlan, names: dict[int, str], lazy: bool) -> None:
        """Generate members in order with a separator between them (or only behind those of variable length)."""
        add = self.source.add
        always = group.separation is Separation.ALL_ELEMENTS_DELIMITED
        add("more = True")
        for number, one in enumerate(group.members):
            before = group.members[number - 1] if number else None
            if before is not None and (always or fixed_length(before) is None):
                with self.source.block(f"if more and text.startswith({group.separator!r}, at, limit):"):
                    add(f"at += {len(group.separator)}")
                add("else: more = False")
            elif before is not None:
                add("more = more and at < limit")
            with self.source.block("if more:"):
                self._member(group, one, names, lazy)
            with self.source.block("else:"):
                self._absent(one, "at")
        if group.postfix:
            with self.source.block(f"if text.startswith({group.separator!r}, at, limit):"):
                add(f"at += {len(group.separator)}")

    def _tagged(self, group: GroupPlan, names: dict[int, str], lazy: bool) -> None:
        """Generate members in any order, each with its tag."""
        add, block, constant = self.source.add, self.source.block, self.source.constant
        add("before = len(children)")
        add("first = True")
        ends = [text for text in group.stops if text != group.separator or not group.separation.delimited]
        at_end = "at >= limit" + "".join(f" or text.startswith({text!r}, at)" for text in ends)
        with block(f"while not ({at_end}):"):
            if group.separation.delimited:
                with block("if not first:"):
                    add(f"if not text.startswith({group.separator!r}, at): break")
                    add(f"at += {len(group.separator)}")
                    if group.postfix:
                        add(f"if {at_end}: break")
                add("first = False")
            if group.tag_length:
                add(f"tag = text[at:at + {group.tag_length}]")
            else:
                add(f"tag = text[at:max(text.find({group.tag_separator!r}, at, limit), at)]")
            numbers = constant("numbers", {one.tag: number for number, one in enumerate(group.members)})
            add(f"number = {numbers}.get(tag)")
            add(f"if number is None: fail(parent, text, at, {_tags(group)!r})")
            add(f"at += len(tag) + {len(group.tag_separator)}")
            for number, one in enumerate(group.members):
                with block(f"{'if' if number == 0 else 'elif'} number == {number}:"):
                    self._tagged_member(group, one, names)
            if lazy:
                add("yield")
        self._counted(group, "at")

    def _tagged_member(self, group: GroupPlan, one: Plan, names: dict[int, str]) -> None:
        add = self.source.add
        if group.separation is Separation.TAGGED_ENCODED_LENGTH:
            digits = group.length_digits
            add(f"s = text[at:at + {digits}]")
            expected = f"a length of {digits} digits"
            add(f"if len(s) != {digits} or not s.isdecimal(): fail(parent, text, at, {expected!r}, {one.name!r})")
            add(f"outer, at, limit = limit, at + {digits}, at + {digits} + int(s) - {group.extra_length}")
            add(f"if not at <= limit <= outer: fail(parent, text, at - {digits}, 'a length that fits', {one.name!r})")
            if isinstance(one, FieldPlan):
                add("s, at = text[at:limit], limit")
                self._store(one, "s", "at - len(s)", present=True)
            else:
                self._one(group, one, names)
                add("if at != limit: fail(parent, text, at, 'the end of the group')")
            add("limit = outer")
        elif one.repeat:
            self._repeated(group, one, names, lazy=False)
        else:
            self._one(group, one, names, present=True)


def _all_plain(group: GroupPlan) -> bool:
    """Whether there are only fields that end at a separator."""
    repeating_allowed = group.separation.tagged
    return not group.observe_length and all(
        isinstance(one, FieldPlan)
        and not one.repeat
        and not ((one.pad or one.member.namespace) and group.separation.tagged)
        and (repeating_allowed or not one.member.occurs.repeats)
        for one in group.members
    )


def _tags(group: GroupPlan) -> str:
    return "one of the tags " + ", ".join(one.tag for one in group.members)


def _identifier(name: str) -> str:
    return re.sub(r"\W", "_", name) or "group"

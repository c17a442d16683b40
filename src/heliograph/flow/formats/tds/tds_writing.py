"""Generates the writer of a message in TDS: one function for each group, straight through its members.

For the group in the docstring of `tds_reading` the function is (shortened):

    def write_G_0(parent):
        children = parent.children
        try:
            by = {child.name: child for child in children}
            if len(by) != len(children) or not by.keys() <= known0.keys():
                raise errors.unexpected_members(parent, known0, by)
            pieces = []
            child = by.get('A')
            if child is None:
                raise unwritable(parent, 'A', 'an element A', 'none')
            else:
                v = child.value
                s = v if v.__class__ is str else show0(v)
            pieces.append(s)
            ...                                                     # B
            text = ','.join(pieces)
            if text.count(',') != len(pieces) - 1 or '\\n' in text:  # a value has a delimiter in it
                safe = errors.protect_all(parent, names0[:len(pieces)], pieces, protect0)
                text = ','.join(safe)
            return text
        except ValueError as error:
            raise errors.not_written(error, parent) from None

Delimiters in values are looked for once in the joined text, not in each value: nearly all messages have none."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from heliograph.flow.formats.charsets import Charset
from heliograph.flow.formats.model import Order, Source, Type
from heliograph.flow.formats.tds.generated_support import CodeGenerator, ErrorReports, Spot, text_protector
from heliograph.flow.formats.tds.tds_plan import (
    FieldPlan,
    GroupPlan,
    MessagePlan,
    Plan,
    Separation,
    ends_at_delimiter,
    fixed_length,
    positional,
)
from heliograph.flow.formats.tds.tds_values import padded
from heliograph.flow.tree import Element

# Single members: values, nulls, defaults, padding, protected delimiters.

_DELIMITED_ONLY = (Separation.ALL_ELEMENTS_DELIMITED, Separation.TAGGED_DELIMITED, Separation.USE_DATA_PATTERN)


class MemberWriter(CodeGenerator):
    """Adds the code for members of groups to a source."""

    def __init__(self, plan: MessagePlan, source: Source, spots: dict[int, Spot], codec: str) -> None:
        super().__init__(plan, source, spots, codec)
        self.protectors: dict[tuple[str, ...], Callable[[str], str]] = {}

    def _text(self, group: GroupPlan, one: Plan, inner: dict[int, str], *, protect: bool) -> None:
        """Generate the text of the element `child` in `s`."""
        add, block = self.source.add, self.source.block
        if isinstance(one, GroupPlan):
            add(f"s = {inner[id(one)]}(child)")
            return
        add("v = child.value")
        with block("if v is None:"):
            if one.nil is not None:
                add(f"s = {one.nil!r}")
            else:
                self._null(group, one)
        with block("else:"):
            show = self.source.constant("show", one.values.show)
            if one.values.parse is None:
                line = f"s = v if v.__class__ is str else {show}(v)"
            elif one.member.type is Type.INTEGER and not one.member.values:
                line = f"s = str(v) if v.__class__ is int else {show}(v)"
            else:
                line = f"s = {show}(v)"
            self._spotted(line, one, one.values.expected)
        self._fitted(group, one)
        if protect and ends_at_delimiter(group, one) and (group.stops or one.repeat):
            self._spotted(f"s = {self._protect(group, one.repeat)}(s)", one, "text without delimiters")
        if group.separation is Separation.USE_DATA_PATTERN:
            like = self.source.constant("like", re.compile(one.pattern).fullmatch)
            with block(f"if {like}(s) is None:"):
                add(f"raise unwritable(parent, {one.name!r}, {f'data like {one.pattern}'!r}, repr(s))")

    def _spotted(self, line: str, one: FieldPlan, expected: str) -> None:
        self.source.add(line)
        self.spots[len(self.source.lines)] = Spot(one.name, "v", "0", expected)

    def _fitted(self, group: GroupPlan, one: FieldPlan) -> None:
        """Generate padding to the length, if that is fixed."""
        fixed = group.separation in (
            Separation.FIXED_LENGTH,
            Separation.TAGGED_FIXED_LENGTH,
            Separation.VARIABLE_LENGTH_ELEMENTS_DELIMITED,
        )
        if one.length is not None and (fixed or group.observe_length):
            line = f"s = padded(s, {one.length}, {one.pad!r}, {one.justification!r})"
            self._spotted(line, one, f"at most {one.length} characters")

    def _null(self, group: GroupPlan, one: FieldPlan) -> None:
        """Generate an explicit null without a text in the format: it is written like an absent element."""
        if one.member.occurs.least == 0 or one.values.parse is None or one.member.default is not None:
            self._absent_text(group, one)
        else:
            self.source.add(f"raise unwritable(parent, {one.name!r}, {one.values.expected!r}, 'NULL')")

    def _absent(self, group: GroupPlan, one: Plan) -> None:
        has_default = isinstance(one, FieldPlan) and one.member.default is not None
        if one.member.occurs.least and not has_default:
            self.source.add(f"raise unwritable(parent, {one.name!r}, {f'an element {one.name}'!r}, 'none')")
        else:
            self._absent_text(group, one)

    def _absent_text(self, group: GroupPlan, one: Plan) -> None:
        text = ""
        if isinstance(one, FieldPlan) and one.member.occurs.least and one.member.default is not None:
            text = self._default(one)
        length = fixed_length(one)
        if length is not None and (group.separation not in _DELIMITED_ONLY or group.observe_length):
            text = (
                padded(text, length, one.pad, one.justification)
                if text and isinstance(one, FieldPlan)
                else " " * length
            )
        self.source.add(f"s = {text!r}")

    def _default(self, one: FieldPlan) -> str:
        return one.values.show(one.member.default)

    def _protect(self, group: GroupPlan, repeat: str) -> str:
        stops = tuple(sorted({*group.stops, repeat} - {""}, key=lambda text: (-len(text), text)))
        if stops not in self.protectors:
            given = self.plan.protection
            self.protectors[stops] = text_protector(stops, given.quote, given.escape, given.reserved)
        return self.source.constant("protect", self.protectors[stops])


def generate_writer(
    plan: MessagePlan, source: Source, charset: Charset, errors: ErrorReports, spots: dict[int, Spot]
) -> None:
    """Add the function `write` and those that it calls to the source."""
    source.use(encode=charset.encode, errors=errors, padded=padded, by_name=by_name, unwritable=errors.unwritable)
    _Writer(plan, source, spots, charset.name).message()


def by_name(children: list[Element]) -> dict[str, list[Element]]:
    """The children of each name, in order."""
    result: dict[str, list[Element]] = {}
    for child in children:
        result.setdefault(child.name, []).append(child)
    return result


class _Writer(MemberWriter):
    def message(self) -> None:
        """Generate `write`."""
        add = self.source.add
        name = self._function(self.plan.top)
        with self.source.block("def write(part):"):
            add(f"text = {name}(part)")
            with self.source.block("try:"):
                add("return encode(text)")
            with self.source.block("except UnicodeEncodeError as error:"):
                add("found = repr(text[error.start:error.end])")
                add(f"raise unwritable(part, '', {f'characters of {self.codec}'!r}, found) from None")

    def _function(self, group: GroupPlan) -> str:
        """Generate the function that returns the text of a group whose members are the children of `parent`."""
        inner = {id(one): self._function(one) for one in group.members if isinstance(one, GroupPlan)}
        name = self.source.new_name(f"write_{_identifier(group.name)}_")
        careful = name
        if _all_plain(group):
            careful = self.source.new_name("careful_")
        with self.source.block(f"def {careful}(parent):"):
            self.source.add("children = parent.children")
            with self._catching():
                if group.separation.tagged:
                    self._tagged(group, inner)
                elif group.member.order is Order.CHOICE:
                    self._choice(group, inner)
                else:
                    self._ordered(group, inner)
                self._return(group)
        if careful != name:
            self._quick(name, careful, group)
        return name

    def _return(self, group: GroupPlan) -> None:
        text = "text"
        if group.postfix:
            self.source.add(f"if pieces: text += {group.separator!r}")
        if group.initiator:
            text = f"{group.initiator!r} + {text}"
        if group.terminator:
            text += f" + {group.terminator!r}"
        self.source.add(f"return {text}")

    def _quick(self, name: str, careful: str, group: GroupPlan) -> None:
        """Generate the fast way for a tagged group of single fields; it calls the careful way at anything unusual."""
        add, block, constant = self.source.add, self.source.block, self.source.constant
        fields = {
            one.name: (one.tag + group.tag_separator, one.nil, _same_type(one), one.values.show)
            for one in group.members
            if isinstance(one, FieldPlan)
        }
        required = frozenset(one.name for one in group.members if one.member.occurs.least)
        with block(f"def {name}(parent):"):
            add("pieces = []")
            add("add = pieces.append")
            add("children = parent.children")
            with block("try:"), block("for child in children:"):
                add(f"tag, s, same, show = {constant('fields', fields)}[child.name]")
                add("v = child.value")
                add("if v.__class__ is same: add(tag + v)")
                add("elif v is not None: add(tag + show(v))")
                add("else: add(tag + s)")
            with block("except (KeyError, ValueError, TypeError):"):
                add(f"return {careful}(parent)  # which says what is wrong")
            add("once = {child.name for child in children}")
            add(f"text = {group.separator!r}.join(pieces)")
            # A repeated or missing field, or a delimiter inside a value: the careful function handles it or reports the
            # error.
            doubts = [f"len(once) != len(children) or not {constant('required', required)} <= once"]
            doubts += self._doubts(group)
            with block(f"if {' or '.join(doubts)}:"):
                add(f"return {careful}(parent)")
            self._return(group)

    @contextmanager
    def _catching(self) -> Iterator[None]:
        with self.source.block("try:"):
            yield
        with self.source.block("except ValueError as error:"):
            self.source.add("raise errors.not_written(error, parent) from None")

    # Groups with an order

    def _ordered(self, group: GroupPlan, inner: dict[int, str]) -> None:
        add = self.source.add
        known = dict.fromkeys(_names(group))
        plain = all(one.name and not one.member.occurs.repeats for one in group.members)
        if group.name:
            constant = self.source.constant("known", known)
            if plain:
                add("by = {child.name: child for child in children}")
                add(f"if len(by) != len(children) or not by.keys() <= {constant}.keys():")
            else:
                add("by = by_name(children)")
                add(f"if not by.keys() <= {constant}.keys():")
            add(f"    raise errors.unexpected_members(parent, {constant}, by)")
        else:
            add("by = {child.name: child for child in children}" if plain else "by = by_name(children)")
        add("pieces = []")
        for number, one in enumerate(group.members):
            self._member(group, one, inner, number, plain)
        self._trimmed(group)
        self._joined(group, plain)

    def _member(self, group: GroupPlan, one: Plan, inner: dict[int, str], number: int, plain: bool) -> None:
        add, block = self.source.add, self.source.block
        if not one.name:
            add(f"pieces.append({inner[id(one)]}(parent))")
            return
        if one.member.occurs.repeats:
            self._repeated(group, one, inner)
            return
        get = f"by.get({one.name!r})"
        if plain:
            add(f"child = {get}")
        else:
            add(f"several = {get} or [None]")
            with block("if len(several) > 1:"):
                add(f"raise unwritable(parent, {one.name!r}, {f'one {one.name}'!r}, str(len(several)))")
            add("child = several[0]")
        with block("if child is None:"):
            self._absent(group, one)
        with block("else:"):
            self._text(group, one, inner, protect=not _joined_check(group, plain))
        add("pieces.append(s)")

    def _repeated(self, group: GroupPlan, one: Plan, inner: dict[int, str]) -> None:
        add, block = self.source.add, self.source.block
        occurs = one.member.occurs
        add(f"several = by.get({one.name!r}, ())")
        limits = [f"len(several) < {occurs.least}"] if occurs.least else []
        if occurs.most is not None:
            limits.append(f"len(several) > {occurs.most}")
        if limits:
            expected = f"{occurs.least} to {'any number' if occurs.most is None else occurs.most}"
            with block(f"if {' or '.join(limits)}:"):
                add(f"raise unwritable(parent, {one.name!r}, {expected!r}, str(len(several)))")
        add("many = []")
        with block("for child in several:"):
            self._text(group, one, inner, protect=True)
            add("many.append(s)")
        if group.separation is Separation.FIXED_LENGTH:
            filling = " " * (fixed_length(one) or 0)
            add(f"many += [{filling!r}] * ({occurs.most} - len(many))")
        elif positional(group, one):
            add(f"many += [''] * ({occurs.most} - len(many))")
        if one.repeat or not group.separation.delimited:
            add(f"pieces.append({one.repeat!r}.join(many))")
        else:
            add(
                "pieces += many"
                if group.separation is Separation.ALL_ELEMENTS_DELIMITED
                else f"pieces.append({group.separator!r}.join(many))"
            )

    def _trimmed(self, group: GroupPlan) -> None:
        """Generate code that leaves out absent elements at the end, with their separators."""
        if not (group.suppress and group.separation is Separation.ALL_ELEMENTS_DELIMITED):
            return
        optional = 0
        for one in reversed(group.members):
            if one.member.occurs.least or not one.name:
                break
            optional += 1
        if optional:
            kept = len(group.members) - optional
            with self.source.block(f"while len(pieces) > {max(kept, 1)} and not pieces[-1]:"):
                self.source.add("pieces.pop()")

    def _joined(self, group: GroupPlan, plain: bool) -> None:
        add = self.source.add
        if group.separation is Separation.ALL_ELEMENTS_DELIMITED:
            add(f"text = {group.separator!r}.join(pieces)")
            if _joined_check(group, plain):
                self._check_text(group, [one.name for one in group.members], f"{group.separator!r}.join")
        elif group.separation is Separation.VARIABLE_LENGTH_ELEMENTS_DELIMITED:
            parts = []
            for number, one in enumerate(group.members):
                last = number == len(group.members) - 1
                ending = "" if last or fixed_length(one) is not None else f" + {group.separator!r}"
                parts.append(f"pieces[{number}]{ending}")
            add(f"text = {' + '.join(parts)}")
        else:
            add("text = ''.join(pieces)")

    def _check_text(self, group: GroupPlan, names: list[str], join: str) -> None:
        """Generate one check of the joined text for delimiters inside values."""
        doubts = self._doubts(group)
        if doubts:
            with self.source.block(f"if {' or '.join(doubts)}:"):
                constant = self.source.constant("names", tuple(names))
                protect = self._protect(group, "")
                self.source.add(f"safe = errors.protect_all(parent, {constant}[:len(pieces)], pieces, {protect})")
                self.source.add(f"text = {join}(safe)")

    def _doubts(self, group: GroupPlan) -> list[str]:
        """Return conditions; if a value in the joined text contains a delimiter, at least one of them is true."""
        doubts = [f"text.count({group.separator!r}) != len(pieces) - 1"] if group.separator else []
        protection = self.plan.protection
        doubts += [f"{text!r} in text" for text in group.stops if text != group.separator]
        doubts += [f"{one!r} in text" for one in protection.quote + protection.escape + protection.reserved]
        return doubts

    # Groups with tags

    def _tagged(self, group: GroupPlan, inner: dict[int, str]) -> None:
        add, block = self.source.add, self.source.block
        add("pieces = []")
        add("counts = {}")
        repeats = {one.name: one for one in group.members if one.repeat}
        with block("for child in children:"):
            add("name = child.name")
            if repeats:
                with block(
                    "if name in counts and name in " + self.source.constant("repeats", frozenset(repeats)) + ":"
                ):
                    add("counts[name] += 1")
                    add("continue")
            add("counts[name] = counts.get(name, 0) + 1")
            for number, one in enumerate(group.members):
                with block(f"{'if' if number == 0 else 'elif'} name == {one.name!r}:"):
                    self._tagged_member(group, one, inner)
            with block("else:"):
                known = ", ".join(one.name for one in group.members)
                add(f"raise unwritable(parent, name, {f'one of {known}'!r}, name)")
        for one in group.members:
            self._tagged_limits(group, one)
        add(f"text = {(group.separator if group.separation.delimited else '')!r}.join(pieces)")

    def _tagged_limits(self, group: GroupPlan, one: Plan) -> None:
        add, block = self.source.add, self.source.block
        occurs = one.member.occurs
        if occurs.least:
            with block(f"if counts.get({one.name!r}, 0) < {occurs.least}:"):
                if isinstance(one, FieldPlan) and one.member.default is not None:
                    add(f"s = {self._default(one)!r}")
                    self._append_tagged(group, one)
                else:
                    add(f"raise unwritable(parent, {one.name!r}, {f'{occurs.least} {one.name}'!r}, 'none')")
        if occurs.most is not None:
            with block(f"if counts.get({one.name!r}, 0) > {occurs.most}:"):
                expected = f"at most {occurs.most}"
                add(f"raise unwritable(parent, {one.name!r}, {expected!r}, str(counts[{one.name!r}]))")

    def _tagged_member(self, group: GroupPlan, one: Plan, inner: dict[int, str]) -> None:
        add, block = self.source.add, self.source.block
        if one.repeat:
            add("many = []")
            with block(f"for child in parent.all({one.name!r}):"):
                self._text(group, one, inner, protect=True)
                add("many.append(s)")
            add(f"s = {one.repeat!r}.join(many)")
        else:
            self._text(group, one, inner, protect=group.separation.delimited)
        self._append_tagged(group, one)

    def _append_tagged(self, group: GroupPlan, one: Plan) -> None:
        add = self.source.add
        tag = one.tag + group.tag_separator
        if group.separation is Separation.TAGGED_ENCODED_LENGTH:
            digits = group.length_digits
            extra = f" + {group.extra_length}" if group.extra_length else ""
            add(f"size = f'{{len(s){extra}:0{digits}}}'")
            with self.source.block(f"if len(size) > {digits}:"):
                found = "f'{len(s)} characters'"
                add(f"raise unwritable(parent, {one.name!r}, {f'a length of {digits} digits'!r}, {found})")
            add(f"pieces.append({tag!r} + size + s)")
        else:
            add(f"pieces.append({tag!r} + s)")

    # Choices

    def _choice(self, group: GroupPlan, inner: dict[int, str]) -> None:
        """Generate a choice: the branch that has an element in the tree is written."""
        add, block = self.source.add, self.source.block
        add("by = by_name(children)")
        add("pieces = []")
        for number, one in enumerate(group.members):
            present = " or ".join(f"{name!r} in by" for name in ([one.name] if one.name else _names(one)))
            with block(f"{'if' if number == 0 else 'elif'} {present}:"):
                self._member(group, one, inner, number, plain=False)
        with block("else:"):
            if group.member.occurs.least and group.name:
                names = ", ".join(_names(group))
                add(f"raise unwritable(parent, '', {f'one of {names}'!r}, 'none of them')")
            else:
                add("pass")
        between = group.separator if group.separation.delimited else ""
        add(f"text = {between!r}.join(pieces)")


def _all_plain(group: GroupPlan) -> bool:
    """Whether a tagged group has only single fields that end at its separator."""
    return group.separation is Separation.TAGGED_DELIMITED and all(
        isinstance(one, FieldPlan) and ends_at_delimiter(group, one) and not one.repeat for one in group.members
    )


def _same_type(one: FieldPlan) -> type | None:
    """Return `str` if the text of a value is the value itself."""
    return str if one.values.parse is None else None


def _joined_check(group: GroupPlan, plain: bool) -> bool:
    """Whether the values of a group can be checked for delimiters all at once."""
    return (
        plain
        and group.separation is Separation.ALL_ELEMENTS_DELIMITED
        and all(isinstance(one, FieldPlan) and ends_at_delimiter(group, one) for one in group.members)
    )


def _names(plan: Plan) -> list[str]:
    """Return the names of the elements of a member; a group without a name has those of its members."""
    if isinstance(plan, FieldPlan):
        return [plan.name]
    return [name for one in plan.members for name in ([one.name] if one.name else _names(one))]


def _identifier(name: str) -> str:
    return re.sub(r"\W", "_", name) or "group"

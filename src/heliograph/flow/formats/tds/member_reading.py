"""Generates the code that reads single members of a group: fields, nested groups, repetitions.

The generated functions share these local variables: `text` is the decoded message, `at` the current offset, `limit` the
offset where the enclosing group must end, `parent` the element of the group, `add` appends to its children, `s` is the
text of the current field."""

import re

from heliograph.flow.formats.model import Source, Type
from heliograph.flow.formats.tds import tds_plan
from heliograph.flow.formats.tds.generated_support import CodeGenerator, Spot, text_taker

SAFE_DIGITS = 19
"""With fewer digits, an integer has at most 64 bits."""


class MemberReader(CodeGenerator):
    """Adds the code for members of groups to a source."""

    def __init__(self, plan: tds_plan.MessagePlan, source: Source, spots: dict[int, Spot], codec: str) -> None:
        super().__init__(plan, source, spots, codec)
        self.guarded = plan.protection.quote + plan.protection.escape

    # Members

    def _member(self, group: tds_plan.GroupPlan, one: tds_plan.Plan, names: dict[int, str], lazy: bool) -> None:
        """Generate all repetitions of a member."""
        if one.member.occurs.repeats:
            self._repeated(group, one, names, lazy)
        elif isinstance(one, tds_plan.FieldPlan):
            self._one(group, one, names)
        else:
            self._optional_group(group, one, names)
        if lazy:
            self.source.add("yield")

    def _repeated(self, group: tds_plan.GroupPlan, one: tds_plan.Plan, names: dict[int, str], lazy: bool) -> None:
        add, block = self.source.add, self.source.block
        occurs = one.member.occurs
        between = one.repeat or (group.separator if group.separation.delimited else "")
        add("count = 0")
        if tds_plan.positional(group, one):
            self._positions(group, one, names)
            return
        with block("while True:"):
            if group.separation is tds_plan.Separation.FIXED_LENGTH:
                add(f"if count == {occurs.most}: break")
                self._one(group, one, names)
                add("count += 1")
                continue_line = None
            else:
                self._one_of_many(group, one, names)
                continue_line = f"if not text.startswith({between!r}, at, limit): break" if between else None
            if lazy:
                add("yield")
            if continue_line is not None:
                if occurs.most is not None:
                    add(f"if count == {occurs.most}: break")
                add(continue_line)
                add(f"at += {len(between)}")
                if group.postfix and between == group.separator:
                    add(f"if at >= limit{self._or_ends(group)}:")
                    add(f"    at -= {len(between)}")
                    add("    break")
        if occurs.least:
            expected = f"{occurs.least} or more of {one.name}"
            add(f"if count < {occurs.least}: fail(parent, text, at, {expected!r}, {one.name!r})")

    def _positions(self, group: tds_plan.GroupPlan, one: tds_plan.Plan, names: dict[int, str]) -> None:
        """Generate a fixed number of positions, the maximum of repetitions; an empty position is no repetition."""
        add, block = self.source.add, self.source.block
        with block(f"for number in range({one.member.occurs.most}):"):
            with block("if number:"):
                add(f"if not text.startswith({group.separator!r}, at, limit): break")
                add(f"at += {len(group.separator)}")
            if isinstance(one, tds_plan.GroupPlan):
                with block(f"if not (at >= limit{self._or_stops(group, one)}):"):
                    self._one(group, one, names)
                    add("count += 1")
            else:
                self._take(group, one)
                with block("if s:"):
                    self._store(one, "s", "at - len(s)", present=True)
                    add("count += 1")
        expected = f"{one.member.occurs.least} or more of {one.name}"
        add(f"if count < {one.member.occurs.least}: fail(parent, text, at, {expected!r}, {one.name!r})")

    def _or_ends(self, group: tds_plan.GroupPlan) -> str:
        return "".join(f" or text.startswith({text!r}, at)" for text in group.stops if text != group.separator)

    def _one_of_many(self, group: tds_plan.GroupPlan, one: tds_plan.Plan, names: dict[int, str]) -> None:
        """Generate one repetition; it breaks out of the loop if there is none."""
        add, block = self.source.add, self.source.block
        most = one.member.occurs.most
        if not (one.repeat or group.separation.delimited):
            add(f"if at >= limit{self._or_ends(group)}: break")
            if most is not None:
                add(f"if count == {most}: break")
        if isinstance(one, tds_plan.GroupPlan):
            if one.initiator and not one.pattern:
                # behind a delimiter there must be a repetition: the reader of the group reports it if there is none
                first = "count == 0 and " if one.repeat or group.separation.delimited else ""
                add(f"if {first}not text.startswith({one.initiator!r}, at): break")
            elif group.separation.delimited:
                add(f"if count == 0 and (at >= limit{self._or_stops(group, one)}): break")
            if one.pattern:
                add(f"if {self._matcher(one)}(text, at, limit) is None: break")
            self._one(group, one, names)
            add("count += 1")
            return
        if one.pattern and group.separation is tds_plan.Separation.USE_DATA_PATTERN:
            add(f"found = {self._matcher(one)}(text, at, limit)")
            add("if found is None or found.end() == at: break")
            add("s, at = found[0], found.end()")
            self._store(one, "s", "at - len(s)", present=True)
            add("count += 1")
            return
        self._take(group, one)
        between = one.repeat or group.separator
        with block(f"if s == '' and count == 0 and not text.startswith({between!r}, at, limit):"):
            add("break")
        self._store(one, "s", "at - len(s)", present=True, many=True)
        add("count += 1")

    def _or_stops(self, group: tds_plan.GroupPlan, one: tds_plan.GroupPlan) -> str:
        return "".join(f" or text.startswith({text!r}, at)" for text in group.stops)

    def _optional_group(self, group: tds_plan.GroupPlan, one: tds_plan.GroupPlan, names: dict[int, str]) -> None:
        if one.member.occurs.least:
            self._one(group, one, names)
            return
        if one.pattern:
            present = f"{self._matcher(one)}(text, at, limit) is not None"
        elif one.initiator:
            present = f"text.startswith({one.initiator!r}, at)"
        else:
            present = f"not (at >= limit{self._or_stops(group, one)})"
        with self.source.block(f"if {present}:"):
            self._one(group, one, names)

    def _one(self, group: tds_plan.GroupPlan, one: tds_plan.Plan, names: dict[int, str], present: bool = False) -> None:
        """Generate one occurrence of a member."""
        add = self.source.add
        if isinstance(one, tds_plan.FieldPlan):
            self._take(group, one)
            self._store(one, "s", "at - len(s)", present=present)
            return
        target = "parent"
        if one.name:
            add(f"inner = Element({one.name!r}, None, NAME{_namespace(one)})")
            add("inner.parent = parent")
            add("inner.loaded = []")
            add("add(inner)")
            target = "inner"
        function = names[id(one)]
        if one.pattern and group.separation is tds_plan.Separation.USE_DATA_PATTERN:
            add(f"found = {self._matcher(one)}(text, at, limit)")
            expected = f"data like {one.pattern}"
            add(f"if found is None: fail(parent, text, at, {expected!r}, {one.name!r})")
            add(f"at = {function}({target}, text, at, found.end())")
            add(f"if at != found.end(): fail({target}, text, at, 'the end of the group')")
        else:
            add(f"at = {function}({target}, text, at, limit)")

    def _take(self, group: tds_plan.GroupPlan, one: tds_plan.FieldPlan) -> None:
        """The text of one field into `s`."""
        add = self.source.add
        if one.pattern and group.separation is tds_plan.Separation.USE_DATA_PATTERN:
            add(f"found = {self._matcher(one)}(text, at, limit)")
            add("s = found[0] if found is not None else ''")
            add("at += len(s)")
        elif one.length is not None and not tds_plan.ends_at_delimiter(group, one):
            add(f"s = text[at:min(at + {one.length}, limit)]")
            expected = f"{one.length} characters"
            add(f"if len(s) != {one.length}: fail(parent, text, at, {expected!r}, {one.name!r})")
            add(f"at += {one.length}")
        else:
            stops = tuple(sorted({*group.stops, one.repeat} - {""}, key=lambda text: (-len(text), text)))
            if self.guarded:
                protection = self.plan.protection
                take = self.source.constant("take", text_taker(stops, protection.quote, protection.escape))
                add(f"s, at = {take}(text, at, limit)")
                if protection.quote:
                    expected = f"a text that is ended by {protection.quote}"
                    add(f"if at < 0: fail(parent, text, -at - 1, {expected!r}, {one.name!r})")
            elif stops:
                search = self.source.constant("stop", re.compile("|".join(map(re.escape, stops))).search)
                add(f"found = {search}(text, at, limit)")
                add("end = found.start() if found is not None else limit")
                add("s, at = text[at:end], end")
            else:
                add("s, at = text[at:limit], limit")

    def _matcher(self, one: tds_plan.Plan) -> str:
        return self.source.constant("like", re.compile(one.pattern).match)

    # Values

    def _store(
        self, one: tds_plan.FieldPlan, variable: str, offset: str, *, present: bool = False, many: bool = False
    ) -> None:
        """Generate the element of a field whose text is in `variable`; with `present`, an empty text is a value,
        too."""
        add, block = self.source.add, self.source.block
        unpad = self._unpad(one, variable)
        if unpad:
            add(unpad)
        if one.nil is not None:
            with block(f"if {variable} == {one.nil!r}:"):
                self._element(one, "None")
            otherwise = "elif"
        else:
            otherwise = "if"
        text_value = one.values.parse is None
        if present and not (many and not text_value):
            if otherwise == "elif":
                with block("else:"):
                    self._converted(one, variable, offset)
            else:
                self._converted(one, variable, offset)
            return
        with block(f"{otherwise} {variable}:"):
            self._converted(one, variable, offset)
        if many:
            with block("else:"):
                self._element(one, "None")
        elif not self._absence_is_nothing(one):
            with block("else:"):
                self._absent(one, offset)

    def _unpad(self, one: tds_plan.FieldPlan, variable: str) -> str:
        if one.length is None and not one.pad:
            return ""
        pad = one.pad or " "
        if one.justification == "right":
            return (
                f"if {variable}.isspace(): {variable} = ''"
                if pad == "0"
                else f"{variable} = {variable}.lstrip({pad!r})"
            )
        return f"{variable} = {variable}.{'rstrip' if one.justification == 'left' else 'strip'}({pad!r})"

    def _converted(self, one: tds_plan.FieldPlan, variable: str, offset: str) -> None:
        value = variable
        if one.values.parse is not None:
            parse = self.source.constant("parse", one.values.parse)
            plain_integer = one.member.type is Type.INTEGER and not one.member.values
            value = (
                f"int({variable}) if {variable}.isascii() and {variable}.isdecimal()"
                f" and len({variable}) < {SAFE_DIGITS} else {parse}({variable})"
                if plain_integer
                else f"{parse}({variable})"
            )
        self._element(one, value)
        self.spots[len(self.source.lines) - 2] = Spot(one.name, variable, offset, one.values.expected)

    def _element(self, one: tds_plan.FieldPlan, value: str) -> None:
        add = self.source.add
        add(f"element = Element({one.name!r}, {value}, NAME_VALUE{_namespace(one)})")
        add("element.parent = parent")
        add("add(element)")

    def _absence_is_nothing(self, one: tds_plan.Plan) -> bool:
        return one.member.occurs.least == 0

    def _absent(self, one: tds_plan.Plan, offset: str) -> None:
        """Generate what an absent element means: a default, nothing, or an error."""
        if self._absence_is_nothing(one):
            self.source.add("pass")
        elif isinstance(one, tds_plan.FieldPlan) and one.member.default is not None:
            self._element(one, self.source.constant("default", one.member.default))
        elif isinstance(one, tds_plan.FieldPlan) and one.values.parse is None:
            self._element(one, "''")
        else:
            expected = one.values.expected if isinstance(one, tds_plan.FieldPlan) else "a group"
            self.source.add(f"fail(parent, text, {offset}, {expected!r}, {one.name!r})")


def _namespace(one: tds_plan.Plan) -> str:
    return f", {one.member.namespace!r}" if one.member.namespace else ""

"""How generated writers make the text of single members: values, nulls, defaults, padding, protected delimiters."""

import re
from collections.abc import Callable

from heliograph.flow.formats.model import Source, Type
from heliograph.flow.formats.tds.faults import Spot, protecting
from heliograph.flow.formats.tds.plan import FieldPlan, GroupPlan, MessagePlan, Plan, ends_at_delimiter, fixed_length
from heliograph.flow.formats.tds.properties import Separation
from heliograph.flow.formats.tds.values import padded

_DELIMITED_ONLY = (Separation.ALL_ELEMENTS_DELIMITED, Separation.TAGGED_DELIMITED, Separation.USE_DATA_PATTERN)


class MemberWriter:
    """Adds the code for members of groups to a source."""

    def __init__(self, plan: MessagePlan, source: Source, spots: dict[int, Spot], codec: str) -> None:
        self.plan = plan
        self.source = source
        self.spots = spots
        self.codec = codec
        self.protectors: dict[tuple[str, ...], Callable[[str], str]] = {}

    def _text(self, group: GroupPlan, one: Plan, inner: dict[int, str], *, protect: bool) -> None:
        """The text of the element `child` into `s`."""
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
        """Fill it up to its length, where that is fixed."""
        fixed = group.separation in (
            Separation.FIXED_LENGTH,
            Separation.TAGGED_FIXED_LENGTH,
            Separation.VARIABLE_LENGTH_ELEMENTS_DELIMITED,
        )
        if one.length is not None and (fixed or group.observe_length):
            line = f"s = padded(s, {one.length}, {one.pad!r}, {one.justification!r})"
            self._spotted(line, one, f"at most {one.length} characters")

    def _null(self, group: GroupPlan, one: FieldPlan) -> None:
        """An explicit null for which the format has no text is like an absent element."""
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
            self.protectors[stops] = protecting(stops, given.quote, given.escape, given.reserved)
        return self.source.constant("protect", self.protectors[stops])

"""The properties of TDS, and the plan of a message: all properties are resolved and checked here.

Properties have their DFDL names where DFDL has them. The default of a field or group is the property of its format.
Texts may contain mnemonics (`<CR><LF>`).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from heliograph.errors import InvalidInput, Problem
from heliograph.flow.errors import ModelProblem
from heliograph.flow.formats.model import Field, Group, Member, Message, Order, PhysicalFormat, Property
from heliograph.flow.formats.tds.tds_values import Values, values_of

# Characters that are hard to write in a file, by name: `<CR><LF>`, `<HT>`, `<LT>`, `<U+00A7>`.

CONTROLS = (
    "NUL SOH STX ETX EOT ENQ ACK BEL BS HT LF VT FF CR SO SI"
    " DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US SP"
)
NAMES = {name: chr(code) for code, name in enumerate(CONTROLS.split())} | {
    "TAB": "\t",
    "NL": "\n",
    "DEL": "\x7f",
    "LT": "<",
    "GT": ">",
    "AMP": "&",
    "QUOT": '"',
    "APOS": "'",
    "NEL": "\x85",
}
_MNEMONIC = re.compile(r"<(?:U\+([0-9A-Fa-f]{4,6})|([A-Z0-9]+))>")


def characters(text: str) -> str:
    """Replace mnemonics by the characters that they stand for."""
    return _MNEMONIC.sub(_character, text)


def _character(found: re.Match[str]) -> str:
    code, name = found.groups()
    if code is not None and int(code, 16) <= 0x10FFFF:
        return chr(int(code, 16))
    if name in NAMES:
        return NAMES[name]
    raise InvalidInput(f"unknown character {found[0]}; known are <U+hhhh>, {', '.join(f'<{one}>' for one in NAMES)}")


class Separation(Enum):
    """How the members of a group are separated."""

    TAGGED_DELIMITED = "taggedDelimited"
    TAGGED_FIXED_LENGTH = "taggedFixedLength"
    TAGGED_ENCODED_LENGTH = "taggedEncodedLength"
    ALL_ELEMENTS_DELIMITED = "allElementsDelimited"
    VARIABLE_LENGTH_ELEMENTS_DELIMITED = "variableLengthElementsDelimited"
    FIXED_LENGTH = "fixedLength"
    USE_DATA_PATTERN = "useDataPattern"
    UNDEFINED = "undefined"
    """Only groups, each with a separation of its own: embedded messages."""

    @property
    def tagged(self) -> bool:
        """Whether each member has a tag before it."""
        return self in (
            Separation.TAGGED_DELIMITED,
            Separation.TAGGED_FIXED_LENGTH,
            Separation.TAGGED_ENCODED_LENGTH,
        )

    @property
    def delimited(self) -> bool:
        """Whether a separator stands between members."""
        return self in (
            Separation.TAGGED_DELIMITED,
            Separation.ALL_ELEMENTS_DELIMITED,
            Separation.VARIABLE_LENGTH_ELEMENTS_DELIMITED,
        )


OF_GROUPS: Mapping[str, Property] = {
    "dataElementSeparation": Property(choices=tuple(one.value for one in Separation)),
    "initiator": Property(),  # group indicator
    "terminator": Property(),  # group terminator
    "separator": Property(),  # delimiter
    "separatorPosition": Property(choices=("infix", "postfix")),
    "separatorSuppressionPolicy": Property(choices=("trailingEmpty", "never")),  # absent elements at the end
    "tagDataSeparator": Property(),
    "lengthOfTag": Property(int),
    "lengthOfEncodedLength": Property(int),
    "extraCharsInEncodedLength": Property(int),  # what the encoded length counts beyond the data
    "observeElementLength": Property(bool),
}
OF_MEMBERS: Mapping[str, Property] = {
    "tag": Property(),
    "lengthPattern": Property(),  # data pattern
    "repeatingElementDelimiter": Property(),
}
OF_FIELDS: Mapping[str, Property] = {
    "length": Property(int),
    "justification": Property(choices=("left", "right", "center")),
    "padCharacter": Property(),
    "nilValue": Property(),  # encoding of an explicit null
    "decimalSeparator": Property(),
    "strictNumericChecking": Property(bool),
    "calendarPattern": Property(),
    "textBooleanTrueRep": Property(),
    "textBooleanFalseRep": Property(),
}
OF_FORMATS: Mapping[str, Property] = {
    "encoding": Property(),  # a CCSID or Python's name of a character set, instead of what the header says
    "quoteCharacter": Property(),
    "escapeCharacter": Property(),
    "reservedCharacters": Property(),  # characters that are quoted or escaped in addition to all delimiters
}
PROPERTIES: Mapping[str, Property] = {**OF_GROUPS, **OF_MEMBERS, **OF_FIELDS, **OF_FORMATS}
LITERAL = ("lengthPattern", "calendarPattern", "encoding")
"""Texts without mnemonics."""


@dataclass(slots=True)
class Protection:
    """How delimiters inside data are protected: quotes or an escape character."""

    quote: str = ""
    escape: str = ""
    reserved: str = ""


@dataclass(slots=True)
class FieldPlan:
    """A field."""

    member: Field
    tag: str
    pattern: str
    length: int | None
    pad: str
    justification: str
    nil: str | None
    repeat: str
    """The delimiter between repetitions; empty if it is the separator of the group."""
    values: Values

    @property
    def name(self) -> str:
        """Its name in the tree."""
        return self.member.name


@dataclass(slots=True)
class GroupPlan:
    """A group, and the members in it; unnamed groups inside a tagged group are its own members."""

    member: Group
    tag: str
    pattern: str
    repeat: str
    separation: Separation
    initiator: str
    terminator: str
    separator: str
    postfix: bool
    suppress: bool
    """Whether separators of absent members at the end are left out in writing; the reader takes both forms."""
    tag_separator: str
    tag_length: int
    length_digits: int
    extra_length: int
    observe_length: bool
    outer: tuple[str, ...]
    """Delimiters of the enclosing groups: they end this group, too."""
    members: "list[Plan]" = field(default_factory=list)

    @property
    def name(self) -> str:
        """Its name in the tree."""
        return self.member.name

    @property
    def stops(self) -> tuple[str, ...]:
        """All delimiters that end a field in this group, longest first, so that a match is the longest possible."""
        own = (self.separator if self.separation.delimited else "", self.terminator)
        return tuple(sorted({text for text in (*own, *self.outer) if text}, key=lambda text: (-len(text), text)))


Plan = FieldPlan | GroupPlan


@dataclass(slots=True)
class MessagePlan:
    """A message."""

    title: str
    top: GroupPlan
    protection: Protection


def plan(message: Message, form: PhysicalFormat) -> MessagePlan:
    """The plan of a message; a ModelProblem if its properties do not go together."""
    planner = _Planner(form)
    defaults = planner.defaults
    protection = Protection(
        _one(defaults, "quoteCharacter", form), _one(defaults, "escapeCharacter", form), defaults["reservedCharacters"]
    )
    top = planner.group(message.content, None, ())
    return MessagePlan(f"{form.kind} {form.name} of {message.name}", top, protection)


def _one(properties: Mapping[str, Any], name: str, form: PhysicalFormat) -> str:
    text: str = properties[name]
    if len(text) > 1:
        raise ModelProblem(form.place, f"{name}: expected one character, found {text!r}")
    return text


DEFAULTS: Mapping[str, Any] = {
    "dataElementSeparation": "allElementsDelimited",
    "initiator": "",
    "terminator": "",
    "separator": "",
    "separatorPosition": "infix",
    "separatorSuppressionPolicy": "trailingEmpty",
    "tagDataSeparator": "",
    "lengthOfTag": 0,
    "lengthOfEncodedLength": 0,
    "extraCharsInEncodedLength": 0,
    "observeElementLength": False,
    "tag": "",
    "lengthPattern": "",
    "repeatingElementDelimiter": "",
    "length": None,
    "justification": "",
    "padCharacter": "",
    "nilValue": None,
    "decimalSeparator": ".",
    "strictNumericChecking": False,
    "calendarPattern": "",
    "textBooleanTrueRep": "true",
    "textBooleanFalseRep": "false",
    "quoteCharacter": "",
    "escapeCharacter": "",
    "reservedCharacters": "",
}

MOST_CHARACTERS = 100_000_000
"""That a member can take, whatever is in it."""


class _Planner:
    def __init__(self, form: PhysicalFormat) -> None:
        self.form = form
        self.defaults = {**DEFAULTS, **self._expanded(form.properties, form)}

    def _expanded(self, given: Mapping[str, Any], where: Member | PhysicalFormat) -> dict[str, Any]:
        try:
            return {
                name: characters(value) if isinstance(value, str) and name not in LITERAL else value
                for name, value in given.items()
            }
        except Problem as problem:
            raise ModelProblem(where.place, str(problem)) from None

    def _properties(self, member: Member) -> dict[str, Any]:
        return self.defaults | self._expanded(member.physical.get(self.form.name, {}), member)

    def group(self, member: Group, around: GroupPlan | None, outer: tuple[str, ...]) -> GroupPlan:
        given = self._properties(member)
        own = member.physical.get(self.form.name, {})
        if around is not None and not member.name and "dataElementSeparation" not in own:
            # a group without a name has no element: its members are children of the enclosing group's element
            given |= {"initiator": "", "terminator": ""} | _separation_of(around)
        result = GroupPlan(
            member,
            given["tag"],
            self._pattern(given, member),
            given["repeatingElementDelimiter"],
            Separation(given["dataElementSeparation"]),
            given["initiator"],
            given["terminator"],
            given["separator"],
            given["separatorPosition"] == "postfix",
            given["separatorSuppressionPolicy"] == "trailingEmpty",
            given["tagDataSeparator"],
            given["lengthOfTag"],
            given["lengthOfEncodedLength"],
            given["extraCharsInEncodedLength"],
            given["observeElementLength"],
            outer,
        )
        self._check_group(result)
        result.members = list(self._members(result))
        self._check_members(result)
        return result

    def _members(self, group: GroupPlan) -> Iterator[Plan]:
        for member in group.member.members:
            if isinstance(member, Field):
                yield self._field(member)
            elif not member.name and group.separation.tagged:
                inner = self.group(member, group, group.stops)
                yield from inner.members
            else:
                repeat = self._properties(member)["repeatingElementDelimiter"]
                outer = (*group.stops, repeat) if repeat else group.stops
                yield self.group(member, group, outer)

    def _field(self, member: Field) -> FieldPlan:
        if not member.name:
            raise ModelProblem(member.place, "a group with a value of its own: only XML can have that")
        given = self._properties(member)
        nil = given["nilValue"]
        length = given["length"]
        if length is not None and not 1 <= length <= MOST_CHARACTERS:
            raise ModelProblem(member.place, f"length: expected 1 to {MOST_CHARACTERS}, found {length}")
        numeric = member.type.value in ("integer", "decimal", "float")
        return FieldPlan(
            member,
            given["tag"],
            self._pattern(given, member),
            length,
            given["padCharacter"] or ("0" if numeric and length else ""),
            given["justification"] or ("right" if numeric else "left"),
            nil,
            given["repeatingElementDelimiter"],
            values_of(member, given),
        )

    def _pattern(self, given: Mapping[str, Any], member: Member) -> str:
        pattern: str = given["lengthPattern"]
        try:
            re.compile(pattern)
        except (re.error, OverflowError, RecursionError) as error:
            raise ModelProblem(member.place, f"lengthPattern: {error} in {pattern[:200]!r}") from None
        return pattern

    def _check_group(self, group: GroupPlan) -> None:
        kind, place = group.separation, group.member.place
        if kind.delimited and not group.separator and (len(group.member.members) > 1 or kind.tagged):
            raise ModelProblem(place, f"{kind.value}: expected a separator, found none")
        if kind.tagged and bool(group.tag_separator) == bool(group.tag_length):
            raise ModelProblem(place, f"{kind.value}: expected either tagDataSeparator or lengthOfTag")
        if kind is Separation.TAGGED_ENCODED_LENGTH and group.length_digits < 1:
            raise ModelProblem(place, f"{kind.value}: expected lengthOfEncodedLength, found none")

    def _check_members(self, group: GroupPlan) -> None:
        kind = group.separation
        seen: set[str] = set()
        for one in group.members:
            place, name = one.member.place, one.name or "a group"
            if kind.tagged:
                if not one.tag:
                    raise ModelProblem(place, f"{name}: expected a tag, found none")
                if group.tag_length and len(one.tag) != group.tag_length:
                    raise ModelProblem(place, f"{name}: expected a tag of {group.tag_length}, found {one.tag!r}")
                if one.tag in seen:
                    raise ModelProblem(place, f"{name}: tag {one.tag!r} is there twice")
                seen.add(one.tag)
            fixed = kind in (Separation.FIXED_LENGTH, Separation.TAGGED_FIXED_LENGTH) or group.observe_length
            if fixed and fixed_length(one) is None:
                raise ModelProblem(place, f"{name}: expected a length, found none")
            if kind is Separation.FIXED_LENGTH and one.member.occurs.most is None:
                raise ModelProblem(place, f"{name}: expected a limit of repetitions, found none")
            reserved = kind is Separation.FIXED_LENGTH or positional(group, one)
            if reserved and (one.member.occurs.most or 0) * (fixed_length(one) or 1) > MOST_CHARACTERS:
                raise ModelProblem(place, f"{name}: expected room for at most {MOST_CHARACTERS} characters")
            if positional(group, one) and one.member.occurs.most is None:
                raise ModelProblem(place, f"{name}: expected a repeatingElementDelimiter, or a limit of repetitions")
            if kind is Separation.USE_DATA_PATTERN and isinstance(one, FieldPlan) and not one.pattern:
                raise ModelProblem(place, f"{name}: expected a lengthPattern, found none")
            if kind is Separation.UNDEFINED and isinstance(one, FieldPlan):
                raise ModelProblem(place, f"{name}: expected a group in a group that is {kind.value}, found a field")


def fixed_length(plan: Plan) -> int | None:
    """Return the number of characters of each repetition if it is fixed; otherwise None."""
    if isinstance(plan, FieldPlan):
        return plan.length
    if plan.separation is not Separation.FIXED_LENGTH:
        return None
    around = len(plan.initiator) + len(plan.terminator)
    lengths = [(fixed_length(one), one.member.occurs.most or 0) for one in plan.members]
    if any(length is None for length, _ in lengths):
        return None
    if plan.member.order is Order.CHOICE:
        return around + max(length or 0 for length, _ in lengths)
    return around + sum((length or 0) * most for length, most in lengths)


def ends_at_delimiter(group: GroupPlan, one: FieldPlan) -> bool:
    """Whether a field of this group ends at a delimiter, not by its length or a data pattern."""
    if one.length is not None and group.observe_length:
        return False
    if group.separation is Separation.VARIABLE_LENGTH_ELEMENTS_DELIMITED:
        return one.length is None
    return group.separation.delimited


def positional(group: GroupPlan, one: Plan) -> bool:
    """Whether the maximum of repetitions is always present in the text, because nothing else marks their end: they have
    the same separator as the members behind them."""
    return (
        group.separation.delimited
        and not group.separation.tagged
        and one.member.occurs.repeats
        and not one.repeat
        and one is not group.members[-1]
    )


def _separation_of(group: GroupPlan) -> dict[str, Any]:
    return {
        "dataElementSeparation": group.separation.value,
        "separator": group.separator,
        "tagDataSeparator": group.tag_separator,
        "lengthOfTag": group.tag_length,
        "lengthOfEncodedLength": group.length_digits,
        "extraCharsInEncodedLength": group.extra_length,
        "observeElementLength": group.observe_length,
    }

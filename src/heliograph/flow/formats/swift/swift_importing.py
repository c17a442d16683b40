"""Files `NAME.mt`: the sequences and fields of a SWIFT message type, as a logical message.

    message: MT543
    release: 2003
    sequences:
      MT543: GENL SETDET OTHRPRTY*         # the message itself, then each sequence by its code
      GENL: 20C 98a?                       # ? at most once, + once or more, * any number; 98a is 98 with any option
    fields:
      20C: [":4!c//16x", Qualifier, Reference]     # SWIFT's notation, and the names of the components

In the tree, `20C` is F20C with its components below, or with a value if these have no names.
"""

from collections.abc import Mapping
from typing import Any

from heliograph.common.documents import Entry, Place, read_entries
from heliograph.errors import Problem
from heliograph.flow.errors import ModelProblem
from heliograph.flow.formats.model.logical import Field, Group, Member, Message, Occurs, Order, PhysicalFormat, Type
from heliograph.flow.formats.model.model_kinds import Imported, Members
from heliograph.flow.formats.swift.swift_fields import FieldFormat, expected_item

FORMAT = "SWIFT"
ANY = "MT"
"""The message that has no model: any type, anything in it."""
OCCURS = {"": Occurs(), "?": Occurs(0, 1), "+": Occurs(1, None), "*": Occurs(0, None)}
KEYS = ("message", "release", "sequences", "fields")


def import_messages(
    text: str, file: str, options: Mapping[str, Any], place: Place, _others: Mapping[str, str]
) -> Imported:
    """The message of the file, and the message for all others."""
    if options:
        raise ModelProblem(place, f"unknown key {next(iter(options))}; a .mt file needs none")
    message = _File(file, text).message()
    anything = Message(ANY, Group(ANY, Order.SEQUENCE, (), Place(file, 1)))
    form = PhysicalFormat(FORMAT, FORMAT, Place(file, 1))
    return Imported({message.name: message, ANY: anything}, {FORMAT: form})


class _File:
    def __init__(self, file: str, text: str) -> None:
        root = read_entries(text, file, ModelProblem)
        self._keys = root.mapping()
        for key, entry in self._keys.items():
            if key not in KEYS:
                raise ModelProblem(entry.place, f"unknown key {key}; known are {', '.join(KEYS)}")
        for key in ("message", "sequences", "fields"):
            if key not in self._keys:
                raise ModelProblem(root.place, f"expected {key}, found none")
        self._sequences = self._keys["sequences"].mapping()
        self._fields = {tag: _field(tag, entry) for tag, entry in self._keys["fields"].mapping().items()}
        self._within: list[str] = []
        self._members = Members()

    def message(self) -> Message:
        name = self._keys["message"].text()
        if name[:2] != "MT" or not name[2:].isdigit() or len(name) != 5:
            raise ModelProblem(self._keys["message"].place, f"expected a name such as MT543, found {name}")
        return Message(name, self._sequence(name, Occurs(), self._keys["message"].place))

    def _sequence(self, code: str, occurs: Occurs, used: Place) -> Group:
        if code not in self._sequences:
            raise ModelProblem(used, f"there is no sequence {code}; known are {', '.join(self._sequences)}")
        if code in self._within:
            raise ModelProblem(used, f"sequence {code} contains itself")
        self._within.append(code)
        entry = self._sequences[code]
        members = tuple(self._member(item, entry.place) for item in entry.text().split())
        self._within.pop()
        return Group(code, Order.SEQUENCE, members, entry.place, occurs)

    def _member(self, item: str, place: Place) -> Member:
        try:
            expected = expected_item(item)
        except Problem as problem:
            raise ModelProblem(place, str(problem)) from None
        name, occurs = expected.name, OCCURS[expected.occurs]
        self._members.add(place, name)
        if not name[0].isdigit():
            return self._sequence(name, occurs, place)
        tags = [tag for tag in self._fields if tag[:2] == name[:2]] if name[-1].islower() else [name]
        known = [self._fields[tag] for tag in tags if tag in self._fields]
        if not known:
            raise ModelProblem(place, f"there is no field {name} in fields")
        if len(known) == 1 and not name[-1].islower():
            return _with_occurs(known[0], occurs)
        return Group("", Order.CHOICE, tuple(known), place, occurs)


def _with_occurs(member: Member, occurs: Occurs) -> Member:
    if isinstance(member, Field):
        return Field(member.name, member.type, member.place, occurs, physical=member.physical)
    return Group(member.name, member.order, member.members, member.place, occurs, physical=member.physical)


def _field(tag: str, entry: Entry) -> Member:
    notation, *names = [item.text() for item in entry.items()]
    try:
        form = FieldFormat(tag, notation, names)
    except Problem as problem:
        raise ModelProblem(entry.place, str(problem)) from None
    except (OverflowError, RecursionError):
        raise ModelProblem(entry.place, f"{tag}: expected a notation of usual size, found {notation[:80]!r}") from None
    physical = {FORMAT: {"fieldFormat": notation}}
    if not names:
        return Field(f"F{tag}", Type.STRING, entry.place, physical=physical)
    members = tuple(
        Field(name, Type.DECIMAL if amount else Type.STRING, entry.place, Occurs(0 if optional else 1, 1))
        for name, amount, optional in form.components
    )
    return Group(f"F{tag}", Order.SEQUENCE, members, entry.place, physical=physical)

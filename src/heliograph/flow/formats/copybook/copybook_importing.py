"""From the items of a copybook to messages of a model, with the physical properties of a CWF format.

Options in the model file, beside `file:`:

    format: CWF1                       # name of the format that gets the properties
    encoding, binaryFloatRep           # as in CWF; what is not given is what the message's header says
    byteOrder: littleEndian            # of COMP, COMP-4, BINARY, COMP-5; else big-endian, COMP-5 as the header says
    occursPadding: occurrences         # OCCURS DEPENDING ON: room for all (default), `none`: what follows moves up,
                                       # `record`: what follows moves up and the record is filled up to its size
    checkValues: true                  # only values of 88 levels are allowed; else they just tell branches apart
    choices:                           # how to tell items that REDEFINE each other; else the first that fits
      DETAIL-A: {by: RECORD-TYPE, values: {DETAIL-A: "A", DETAIL-B: "B C"}}
"""

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

from heliograph.common.documents import Place
from heliograph.flow.errors import ModelProblem
from heliograph.flow.formats.copybook.copybook_items import Item
from heliograph.flow.formats.cwf.cwf_plan import PROPERTIES
from heliograph.flow.formats.model import Field, Group, Member, Message, Occurs, Order, PhysicalFormat, Type
from heliograph.flow.formats.model.model_kinds import Imported

# Sizes of items, and the slack bytes that SYNC puts before them.

MOST_DIGITS = 18
SMALL, MEDIUM = 4, 9
"""Digits up to which a binary number has 2 and 4 bytes."""


class Boundary(NamedTuple):
    """The bytes of an item, and what SYNC aligns it to."""

    size: int
    alignment: int


def boundary(item: Item) -> Boundary:
    """Of an item without others below it, once."""
    usage, pic = item.usage or "DISPLAY", item.picture
    if usage in ("SINGLE", "INDEX"):
        return Boundary(4, 4)
    if usage == "DOUBLE":
        return Boundary(8, 8)
    assert pic is not None
    if pic.kind in ("national", "dbcs") or usage == "NATIONAL":
        return Boundary(2 * pic.size, 1)
    if pic.kind != "numeric":
        return Boundary(pic.size, 1)
    if usage in ("BINARY", "NATIVE"):
        if pic.size > MOST_DIGITS:
            raise ModelProblem(item.place, f"{item.name}: a binary number has at most {MOST_DIGITS} digits")
        size = 2 if pic.size <= SMALL else 4 if pic.size <= MEDIUM else 8
        return Boundary(size, min(size, 4))
    if usage == "PACKED":
        return Boundary(pic.size // 2 + 1, 1)
    if usage == "UNSIGNED-PACKED":
        return Boundary((pic.size + 1) // 2, 1)
    if usage != "DISPLAY":
        raise ModelProblem(item.place, f"{item.name}: a number cannot have usage {usage}")
    return Boundary(pic.size + (pic.signed and item.sign.endswith("Separate")), 1)


def slack_of(record: Item) -> dict[Item, tuple[int, int]]:
    """Slack bytes before items, and behind each occurrence of those in tables."""
    found: dict[Item, tuple[int, int]] = {}
    if any(item.sync for item in record.below()):
        _lay(record, 0, found)
    return found


def _lay(item: Item, offset: int, found: dict[Item, tuple[int, int]]) -> int:
    """Where the item ends that begins here, with all its occurrences."""
    count = item.occurs.most if item.occurs is not None else 1
    before = -offset % _first_alignment(item)
    offset += before
    if not item.children:
        found[item] = (before, 0)
        return offset + count * boundary(item).size
    end = _lay_members(item, offset, found)
    behind = -(end - offset) % _widest(item) if item.occurs is not None else 0
    found[item] = (before, behind)
    return offset + count * (end - offset + behind)


def _lay_members(item: Item, offset: int, found: dict[Item, tuple[int, int]]) -> int:
    starts: dict[str, int] = {}
    end = offset
    for child in item.children:
        start = starts.get(child.redefines, end) if child.redefines else end
        if not child.redefines:
            starts = {}
        starts[child.name] = start
        end = max(end, _lay(child, start, found)) if child.redefines else _lay(child, start, found)
    return end


def _first_alignment(item: Item) -> int:
    """What the first elementary item in it is aligned to: slack before that goes before the group."""
    while item.children:
        item = item.children[0]
    return boundary(item).alignment if item.sync else 1


def _widest(item: Item) -> int:
    aligned = [boundary(each).alignment for each in item.below() if each.sync and not each.children]
    return max(aligned, default=1)


OPTIONS = {"format", "encoding", "binaryFloatRep", "byteOrder", "occursPadding", "checkValues", "choices"}
FIGURATIVE = {"SPACE": "", "SPACES": "", "ZERO": 0, "ZEROS": 0, "ZEROES": 0}
MOST_IN_A_RANGE = 1000
INTEGER_DIGITS = 18
"""More do not fit an INTEGER of ESQL, so such numbers are decimals."""
FLOATS = {"SINGLE": 4, "DOUBLE": 8}


def import_items(records: list[Item], file: str, options: Mapping[str, Any], place: Place) -> Imported:
    """Each record as a message."""
    for name in options:
        if name not in OPTIONS:
            raise ModelProblem(place, f"unknown option {name}; known are {', '.join(sorted(OPTIONS))}")
    if not records:
        raise ModelProblem(Place(file, 1), "expected data items, found none")
    form = str(options.get("format", "CWF1"))
    given = {name: options[name] for name in ("encoding", "binaryFloatRep") if name in options}
    given["checkValues"] = options.get("checkValues", False)  # 88 levels need not name all values that there are
    properties = {name: PROPERTIES[name].check(name, value, place) for name, value in given.items()}
    physical = PhysicalFormat(form, "CWF", place, properties)
    given_choices = options.get("choices", {})
    if not isinstance(given_choices, dict) or not all(isinstance(one, dict) for one in given_choices.values()):
        raise ModelProblem(place, f"choices: expected `by` and `values` for each name, found {given_choices!r}")
    choices = {str(name).upper(): choice for name, choice in given_choices.items()}
    messages = {}
    for record in records:
        writer = _Record(record, form, options, choices, place)
        messages[tree_name(record.name)] = Message(tree_name(record.name), writer.content())
    if choices:
        raise ModelProblem(place, f"choices: nothing redefines {', '.join(choices)}")
    return Imported(messages, {form: physical})


def tree_name(name: str) -> str:
    """The name in the tree: with underscores, so that ESQL does not subtract."""
    return name.replace("-", "_")


class _Record:
    """One record on its way into the model."""

    def __init__(
        self, record: Item, form: str, options: Mapping[str, Any], choices: dict[str, Any], place: Place
    ) -> None:
        self._record = record
        self._form = form
        self._options = options
        self._choices = choices
        self._place = place
        self._slack = slack_of(record)

    def content(self) -> Group:
        record = self._record
        if record.children:
            return Group(tree_name(record.name), Order.SEQUENCE, self._members(record), record.place)
        return Group(tree_name(record.name), Order.SEQUENCE, (self._member(record),), record.place)

    def _members(self, item: Item) -> tuple[Member, ...]:
        """The items below; those that redefine another are branches of a choice in its place."""
        result: list[Member] = []
        at = 0
        children = item.children
        while at < len(children):
            base = children[at]
            at += 1
            if base.redefines:
                raise ModelProblem(base.place, f"{base.name} REDEFINES {base.redefines}, which is not just before it")
            together, names = [base], {base.name}
            while at < len(children) and children[at].redefines in names:
                together.append(children[at])
                names.add(children[at].name)
                at += 1
            result.append(self._member(base) if len(together) == 1 else self._choice(together))
        return tuple(result)

    def _choice(self, together: list[Item]) -> Group:
        base = together[0]
        options = self._choices.pop(base.name, None)
        physical: dict[str, Any] = {}
        keys: dict[str, str] = {}
        if options is not None:
            by, values = dict(options).get("by"), dict(options).get("values")
            if not isinstance(by, str) or not isinstance(values, dict):
                raise ModelProblem(self._place, f"choices: {base.name}: expected `by` with a name and `values`")
            keys = {str(name).upper(): str(key) for name, key in values.items()}
            for item in together:
                if item.name not in keys:
                    raise ModelProblem(self._place, f"choices: {base.name}: expected values for {item.name}")
            physical["choiceDispatchKey"] = self._reference((by.upper(),), base)
        members = tuple(self._member(item, keys.get(item.name)) for item in together)
        return Group("", Order.CHOICE, members, base.place, physical={self._form: physical})

    def _reference(self, names: tuple[str, ...], user: Item) -> str:
        """Where the field with this name is, as the plan of the record finds it."""
        found = [item for item in self._record.below() if item.name == names[0] and self._is_in(item, names[1:])]
        if len(found) != 1:
            count = "none" if not found else f"{len(found)}"
            raise ModelProblem(user.place, f"{user.name}: expected one item {' OF '.join(names)}, found {count}")
        path: list[str] = []
        item: Item | None = found[0]
        while item is not None and item is not self._record:
            if not (item.is_filler and item.children):
                path.insert(0, tree_name(item.name))
            if item.occurs is not None and not self._around(user, item):
                raise ModelProblem(user.place, f"{user.name}: {names[0]} comes more than once")
            item = item.parent
        return f"{{/{'/'.join(path)}}}"

    def _around(self, user: Item, group: Item) -> bool:
        item: Item | None = user
        while item is not None and item is not group:
            item = item.parent
        return item is group

    def _is_in(self, item: Item, groups: tuple[str, ...]) -> bool:
        around = item.parent
        for group in groups:
            while around is not None and around.name != group:
                around = around.parent
            if around is None:
                return False
        return True

    def _member(self, item: Item, key: str | None = None) -> Member:
        physical = self._repetition(item)
        if key is not None:
            physical["choiceBranchKey"] = key
        before, behind = self._slack.get(item, (0, 0))
        if behind:
            physical["trailingSkip"] = behind
        once = Occurs(item.occurs.least, item.occurs.most) if item.occurs is not None else Occurs()
        if before and item.occurs is None:
            physical["leadingSkip"] = before
        member = self._group(item, physical, once) if item.children else self._field(item, physical, once)
        if before and item.occurs is not None:  # once before the table, not before each of its items
            return Group("", Order.SEQUENCE, (member,), item.place, physical={self._form: {"leadingSkip": before}})
        return member

    def _repetition(self, item: Item) -> dict[str, Any]:
        occurs = item.occurs
        if occurs is None:
            return {}
        if not occurs.depending:
            return {"occursCountKind": "fixed", "occursCount": occurs.most}
        padding = PROPERTIES["occursPadding"].check(
            "occursPadding", self._options.get("occursPadding", "occurrences"), self._place
        )
        count = self._reference(occurs.depending, item)
        return {"occursCountKind": "expression", "occursCount": count, "occursPadding": padding}

    def _group(self, item: Item, physical: dict[str, Any], occurs: Occurs) -> Group:
        name = "" if item.is_filler and item.occurs is None else tree_name(item.name)
        return Group(name, Order.SEQUENCE, self._members(item), item.place, occurs, physical={self._form: physical})

    def _field(self, item: Item, physical: dict[str, Any], occurs: Occurs) -> Field:
        kind, own = self._shape(item)
        default = _default(item, kind)
        if item.is_filler:  # whatever is in it stays as it is
            size = boundary(item).size
            kind, own, default = Type.BINARY, {"length": size, "padCharacter": " "}, b""
        values = _conditions(item, kind)
        form = {self._form: {**own, **physical}}
        return Field(tree_name(item.name), kind, item.place, occurs, default, False, values, "", form)

    def _shape(self, item: Item) -> tuple[Type, dict[str, Any]]:
        """The type of an item, and its physical properties."""
        size, usage, pic = boundary(item).size, item.usage or "DISPLAY", item.picture
        if usage in FLOATS:
            return Type.FLOAT, {"length": size}
        if pic is None:
            return Type.INTEGER, {"length": size, **self._order("NATIVE")}
        if pic.kind == "national":
            return Type.STRING, {"length": size, "encoding": "utf-16-be", **_justified(item)}
        if pic.kind == "dbcs":
            return Type.BINARY, {"length": size}
        if pic.kind != "numeric":
            return Type.STRING, {"length": size, **_justified(item)}
        digits = pic.size - min(pic.scale, 0)
        kind = Type.DECIMAL if pic.scale > 0 or digits > INTEGER_DIGITS else Type.INTEGER
        own: dict[str, Any] = {"length": size, "decimalSigned": pic.signed}
        if pic.scale:
            own["virtualDecimalPoint"] = pic.scale
        if usage == "DISPLAY":
            own |= {"representation": "text", "textNumberRep": "zoned"}
            if pic.signed:
                own["signOrientation"] = item.sign or "trailing"
        elif usage in ("PACKED", "UNSIGNED-PACKED"):
            rep = "packed" if usage == "PACKED" else "bcd"
            own |= {"binaryNumberRep": rep, "digits": pic.size, "byteOrder": "bigEndian", "representation": "binary"}
        else:
            own |= {"representation": "binary", "binaryNumberRep": "binary", **self._order(usage)}
        return kind, own

    def _order(self, usage: str) -> dict[str, Any]:
        given = self._options.get("byteOrder")
        if given is not None:
            return {"byteOrder": PROPERTIES["byteOrder"].check("byteOrder", given, self._place)}
        return {"byteOrder": "bigEndian"} if usage == "BINARY" else {}


def _justified(item: Item) -> dict[str, Any]:
    return {"justification": "right"} if item.right else {}


def _literal(text: str, kind: Type) -> Any:
    """A literal of the copybook as a value of the field's type. Raises ValueError."""
    word = text.upper()
    if word in FIGURATIVE:
        value: Any = FIGURATIVE[word]
        if kind is Type.STRING:
            return str(value)
    elif text[0] in "'\"":
        value = text[1:-1].replace(text[0] * 2, text[0])
    else:
        value = text
    if kind is Type.STRING:
        return value
    if kind is Type.INTEGER:
        return int(value)
    if kind is Type.DECIMAL:
        return Decimal(value)
    if kind is Type.FLOAT:
        return float(value)
    raise ValueError(text)


def _default(item: Item, kind: Type) -> Any:
    """VALUE is the default of the item."""
    if item.value is None:
        return None
    try:
        return _literal(item.value.text, kind)
    except (ValueError, InvalidOperation):
        return None  # LOW-VALUES and the like


def _conditions(item: Item, kind: Type) -> tuple[Any, ...]:
    """The values of its 88 levels; none if they cannot be listed."""
    values: list[Any] = []
    try:
        for first, last in item.conditions:
            start = _literal(first.text, kind)
            values += [start] if last is None else _range(start, _literal(last.text, kind))
    except (ValueError, InvalidOperation):
        return ()
    return tuple(values)


def _range(first: Any, last: Any) -> list[Any]:
    if isinstance(first, int) and last - first < MOST_IN_A_RANGE:
        return list(range(first, last + 1))
    if isinstance(first, str) and len(first) == len(last) == 1:
        return [chr(code) for code in range(ord(first), ord(last) + 1)]
    raise ValueError(f"{first} THRU {last}")

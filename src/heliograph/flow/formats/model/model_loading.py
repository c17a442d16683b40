"""Model files: what is written in them, as a model.

    formats:
      CWF1: {kind: CWF, byteOrder: bigEndian}
      TDS1: {kind: TDS, separator: ";"}
    types:
      Address:
        sequence:
          - {name: Street, type: string, CWF1: {length: 30}}
    messages:
      Order:
        sequence:
          - {name: Number, type: integer, CWF1: {length: 4}}
          - {name: Home, type: Address}
          - name: Item
            occurs: 0..20
            CWF1: {occursCountKind: expression, occursCount: "{../Number}"}
            sequence:
              - {name: Price, type: decimal, default: 0, values: [...], nillable: true, CWF1: {...}}
          - choice:                                # no name: its members stand here
              - {name: A, type: string, CWF1: {length: 1}}

A group has `sequence`, `choice` or `all`, or a type that is a group in `types`. Keys that are names of formats hold the
properties for that format, `physical` those for all. `import: [{file: NAME.cpy, ...}]` brings messages of other files.
"""

from collections.abc import Mapping
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from importlib import resources
from pathlib import PurePath
from typing import Any

from heliograph.common.documents import Entry, Place, read_entries
from heliograph.flow.errors import ModelProblem
from heliograph.flow.formats.model import logical
from heliograph.flow.formats.model.model_kinds import (
    Members,
    checked,
    files_taken_in,
    import_for,
    kind_named,
    not_too_deep,
)

MODEL_SUFFIX = ".model.yaml"
SHIPPED_SUFFIX = ".mt"
ORDERS = {order.value: order for order in logical.Order}
TYPES = {kind.value: kind for kind in logical.Type}
KEYS = {"name", "type", "occurs", "default", "nillable", "values", "namespace", "physical", *ORDERS}


def load_models(sources: Mapping[str, str]) -> dict[str, logical.Model]:
    """The models in these files, by name. Files that a model file imports are no models of their own."""
    models: dict[str, logical.Model] = {}
    imported: set[str] = set()
    for file, text in sources.items():
        if file.endswith(MODEL_SUFFIX):
            with not_too_deep(Place(file, 1)):
                loader = _ModelFile(file, text, sources)
                models[loader.name] = loader.model()
            imported |= loader.imported
    alone = {file: text for file, text in sources.items() if not file.endswith(MODEL_SUFFIX)}
    pieces = imported.union(*(files_taken_in(file, text) for file, text in alone.items()))
    for file, text in alone.items():
        if file in pieces:
            continue
        place = Place(file, 1)
        with not_too_deep(place):
            brought = import_for(PurePath(file).suffix, place)(text, file, {}, place, sources)
        name = PurePath(file).stem
        if name in models:
            raise ModelProblem(place, f"there is a model {name} already, in {models[name].file}")
        models[name] = logical.Model(name, brought.messages, brought.formats, file, brought.refused)
    return models


class _ModelFile:
    """One model file while it is read."""

    def __init__(self, file: str, text: str, sources: Mapping[str, str]) -> None:
        self.file = file
        self.name = file.removesuffix(MODEL_SUFFIX)
        self.imported: set[str] = set()
        self._sources = sources
        self._root = read_entries(text, file, ModelProblem)
        self._formats: dict[str, logical.PhysicalFormat] = {}
        self._types: dict[str, Entry] = {}
        self._refused: dict[str, ModelProblem] = {}
        self._within: list[str] = []
        self._members = Members()
        self._known_types: dict[str, tuple[logical.Group, int]] = {}
        """Types that have been used: their groups, and how many members these have at all depths."""

    def model(self) -> logical.Model:
        keys = _known_keys(self._root, {"formats", "types", "messages", "import"})
        for name, entry in _mapping(keys, "formats").items():
            self._formats[name] = self._format(name, entry)
        self._types = _mapping(keys, "types")
        messages: dict[str, logical.Message] = {}
        for entry in keys["import"].items() if "import" in keys else ():
            self._import(entry, messages)
        for name, entry in _mapping(keys, "messages").items():
            if name in messages:
                raise ModelProblem(entry.place, f"there is a message {name} already")
            messages[name] = logical.Message(name, self._group(name, entry))
        if not messages:
            raise ModelProblem(self._root.place, "expected messages, found none")
        return logical.Model(self.name, messages, self._formats, self.file, self._refused)

    def _format(self, name: str, entry: Entry) -> logical.PhysicalFormat:
        given = {key: value.value for key, value in entry.mapping().items()}
        if name in KEYS:
            raise ModelProblem(entry.place, f"a format cannot be called {name}")
        kind = given.pop("kind", None)
        if kind is None:
            raise ModelProblem(entry.place, f"format {name}: expected a kind")
        known = kind_named(str(kind), entry.place).properties
        return logical.PhysicalFormat(name, str(kind), entry.place, checked(given, known, entry.place))

    def _import(self, entry: Entry, messages: dict[str, logical.Message]) -> None:
        options = {key: value.value for key, value in entry.mapping().items()}
        file = str(options.pop("file", ""))
        text = self._sources.get(file) or _shipped(file)
        if text is None:
            raise ModelProblem(entry.place, f"expected a file beside this one, found {file!r}")
        self.imported.add(file)
        brought = import_for(PurePath(file).suffix, entry.place)(text, file, options, entry.place, self._sources)
        self.imported |= brought.files
        for name, message in brought.messages.items():
            if name in messages:
                raise ModelProblem(entry.place, f"there is a message {name} already")
            messages[name] = message
        self._formats = {**brought.formats, **self._formats}
        self._refused |= brought.refused

    def _member(self, entry: Entry) -> logical.Member:
        keys = entry.mapping()
        name = keys["name"].text() if "name" in keys else ""
        self._members.add(entry.place, name or "a group")
        type_name = keys["type"].text() if "type" in keys else ""
        if type_name in TYPES:
            return self._field(name, TYPES[type_name], entry)
        if type_name and type_name not in self._types:
            known = ", ".join([*TYPES, *self._types])
            raise ModelProblem(keys["type"].place, f"unknown type {type_name}; known are {known}")
        return self._group(name, entry)

    def _field(self, name: str, kind: logical.Type, entry: Entry) -> logical.Field:
        keys = self._keys(entry, groups=False)
        if not name:
            raise ModelProblem(entry.place, "a field needs a name")
        values = tuple(_value(item, kind) for item in keys["values"].items()) if "values" in keys else ()
        return logical.Field(
            name,
            kind,
            entry.place,
            _occurs(keys.get("occurs")),
            _value(keys["default"], kind) if "default" in keys else None,
            _flag(keys.get("nillable")),
            values,
            keys["namespace"].text() if "namespace" in keys else "",
            self._physical(keys),
        )

    def _group(self, name: str, entry: Entry) -> logical.Group:
        keys = self._keys(entry, groups=True)
        orders = [key for key in keys if key in ORDERS]
        type_name = keys["type"].text() if "type" in keys else ""
        if len(orders) + bool(type_name) != 1:
            raise ModelProblem(entry.place, f"{name or 'a member'}: expected one of type, sequence, choice, all")
        occurs = _occurs(keys.get("occurs"))
        physical = self._physical(keys)
        namespace = keys["namespace"].text() if "namespace" in keys else ""
        if type_name:
            inner = self._type(type_name, keys["type"])
            merged = {form: {**inner.physical.get(form, {}), **physical.get(form, {})} for form in self._formats}
            return logical.Group(name, inner.order, inner.members, entry.place, occurs, namespace, merged)
        members = tuple(self._member(item) for item in keys[orders[0]].items())
        if not members:
            raise ModelProblem(entry.place, f"{name or 'a group'} has no members")
        return logical.Group(name, ORDERS[orders[0]], members, entry.place, occurs, namespace, physical)

    def _type(self, name: str, used: Entry) -> logical.Group:
        if name in self._known_types:
            known, count = self._known_types[name]
            self._members.add(used.place, name, count)
            return known
        if name in self._within:
            raise ModelProblem(used.place, f"type {name} contains itself")
        if name not in self._types:
            raise ModelProblem(used.place, f"unknown type {name}; known are {', '.join([*TYPES, *self._types])}")
        self._within.append(name)
        before = self._members.count
        group = self._group("", self._types[name])
        self._within.pop()
        self._known_types[name] = group, self._members.count - before
        return group

    def _keys(self, entry: Entry, *, groups: bool) -> dict[str, Entry]:
        allowed = KEYS - ({"default", "nillable", "values"} if groups else set(ORDERS))
        return _known_keys(entry, allowed | set(self._formats))

    def _physical(self, keys: Mapping[str, Entry]) -> dict[str, logical.Properties]:
        result: dict[str, logical.Properties] = {}
        shared = self._shared(keys["physical"]) if "physical" in keys else {}
        for name, form in self._formats.items():
            own = keys[name].value if name in keys else {}
            if shared or own:
                place = keys[name if name in keys else "physical"].place
                known = kind_named(form.kind, place).properties
                fitting = {key: value for key, value in shared.items() if key in known}
                result[name] = checked({**fitting, **own}, known, place)
        return result

    def _shared(self, entry: Entry) -> dict[str, Any]:
        """Properties for all formats that know them; each has to be known to one of them."""
        given = entry.mapping()
        known = {key for form in self._formats.values() for key in kind_named(form.kind, entry.place).properties}
        for key, value in given.items():
            if key not in known:
                raise ModelProblem(
                    value.place, f"no format of the model knows property {key}; known are {', '.join(sorted(known))}"
                )
        return {key: value.value for key, value in given.items()}


def _shipped(file: str) -> str | None:
    """The text of a model that comes with this package, such as MT543.mt."""
    # Looked up among the names of existing files: text from a model must never be used as a path.
    shipped = {one.name: one for one in resources.files("heliograph.flow.formats.swift").iterdir()}
    return shipped[file].read_text("utf-8") if file.endswith(SHIPPED_SUFFIX) and file in shipped else None


def _mapping(keys: Mapping[str, Entry], name: str) -> dict[str, Entry]:
    return keys[name].mapping() if name in keys else {}


def _known_keys(entry: Entry, known: set[str]) -> dict[str, Entry]:
    keys = entry.mapping()
    for name, value in keys.items():
        if name not in known:
            raise ModelProblem(value.place, f"unknown key {name}; known are {', '.join(sorted(known))}")
    return keys


def _flag(entry: Entry | None) -> bool:
    value = entry.value if entry is not None else False
    if type(value) is not bool:
        raise ModelProblem(entry.place if entry else "", f"expected true or false, found {value!r}")
    return value


def _occurs(entry: Entry | None) -> logical.Occurs:
    if entry is None:
        return logical.ONCE
    least, dots, most = entry.text().partition("..")
    try:
        low = int(least)
        high = None if most == "*" else int(most) if dots else low
    except ValueError:
        raise ModelProblem(entry.place, f"occurs: expected N, N..M or N..*, found {entry.text()}") from None
    if low < 0 or (high is not None and high < max(low, 1)):
        raise ModelProblem(entry.place, f"occurs: expected 0 <= N <= M, found {entry.text()}")
    return logical.Occurs(low, high)


def _value(entry: Entry, kind: logical.Type) -> Any:
    """A value in a model file, in the type of its field."""
    text = entry.text()
    try:
        return FROM_TEXT[kind](text)
    except (ValueError, InvalidOperation):
        raise ModelProblem(entry.place, f"expected a value of type {kind.value}, found {text!r}") from None


def _boolean(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(text)
    return text == "true"


FROM_TEXT: dict[logical.Type, Any] = {
    logical.Type.STRING: str,
    logical.Type.INTEGER: int,
    logical.Type.DECIMAL: Decimal,
    logical.Type.FLOAT: float,
    logical.Type.BOOLEAN: _boolean,
    logical.Type.BINARY: bytes.fromhex,
    logical.Type.DATE: date.fromisoformat,
    logical.Type.TIME: time.fromisoformat,
    logical.Type.DATETIME: datetime.fromisoformat,
}

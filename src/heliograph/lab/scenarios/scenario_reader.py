"""Reads the file of a scenario, and reports every mistake with its place."""

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from typing import Any

from heliograph.common.documents import Document, Place, read_document
from heliograph.errors import Problem
from heliograph.flow.definition import known, suggestion
from heliograph.lab.errors import InvalidScenario
from heliograph.lab.load.plan import Group
from heliograph.lab.scenarios.parameters import Parameter, Value, is_expression, names_in
from heliograph.lab.scenarios.scenario import OF_THE_RUN, Scenario, Variant
from heliograph.lab.scenarios.scenario_terms import NEEDS, VALUES, Measure, PassRule, ScenarioSetup, Score

TYPES = ("Throughput", "Latency", "Connection rate", "Data-center efficiency", "Request/responder", "Message flow")

_NEEDED = {"name", "order", "type", "title", "description", "needs", "measure", "score"}
_KEYS = _NEEDED | {"section", "parameters", "variants", "groups", "flow", "search", "pass", "setup"}
_LISTS = ("needs", "variants", "groups")
_TEXTS = ("name", "type", "title", "description")
_OF_PARAMETERS = {"value", "scaled", "least", "unit"}
_OF_GROUPS = {field.name for field in fields(Group)} | {"for_each"}
_OF_QUEUES = {"name", "count", "topics"}
_OF_FLOWS = ("size", "persistent", "storage", "fill")
_USUAL_OF_FLOWS: dict[str, Value] = {"storage": "", "fill": False}


class _Reader:
    """One file, and the mistakes that were found in it."""

    def __init__(self, text: str, file: str) -> None:
        self.mistakes: list[str] = []
        self.document: Document = read_document(text, file, self._tell_at)

    def _tell_at(self, place: Place, text: str) -> None:
        self.mistakes.append(f"{place}: {text}")

    def tell(self, path: tuple[str | int, ...], text: str) -> None:
        self._tell_at(self.document.place(*path), text)

    def raise_mistakes(self) -> None:
        if self.mistakes:
            raise InvalidScenario("\n".join(self.mistakes))

    def keys(self, value: Any, path: tuple[str | int, ...], allowed: Iterable[str], needed: Iterable[str] = ()) -> None:
        """Nothing unknown, nothing left out."""
        allowed = set(allowed)
        if not isinstance(value, Mapping):
            self.tell(path, f"expected names with values ({known(allowed)}), found {value!r}")
            self.raise_mistakes()
        for name in value:
            if name not in allowed:
                hint = suggestion(name, allowed) or f"; there are {known(allowed)}"
                self.tell((*path, name), f"{name} is not known here{hint}")
        for name in sorted(set(needed) - set(value)):
            self.tell(path, f"{name} is missing")

    def types(self, value: Mapping[str, Any], path: tuple[str | int, ...], what: str, *types: type) -> None:
        """Every value is of one of these types."""
        for name, one in value.items():
            if not isinstance(one, types):
                self.tell((*path, name), f"{name} is {what}, not {one!r}")

    def one_of(self, value: Any, path: tuple[str | int, ...], allowed: Iterable[str]) -> None:
        allowed = list(allowed)
        if value not in allowed:
            hint = suggestion(str(value), allowed) or f"; there are {known(allowed)}"
            self.tell(path, f"{value} is not known here{hint}")


def read_scenario(text: str, file: str, document: str) -> Scenario:
    """The scenario in the text; a `Problem` names every mistake with its place."""
    reader = _Reader(text, file)
    reader.raise_mistakes()
    value = reader.document.value
    reader.keys(value, (), _KEYS, _NEEDED)
    reader.types({name: value[name] for name in _LISTS if name in value}, (), "a list", list)
    reader.types({name: value[name] for name in _TEXTS if name in value}, (), "a text", str)
    reader.raise_mistakes()
    parameters = _parameters(reader, value)
    variants, default = _variants(reader, value.get("variants", []), parameters)
    _check_words(reader, value)
    _check_groups(reader, value)
    reader.raise_mistakes()
    _check_expressions(reader, value, parameters)
    reader.types(value["measure"], ("measure",), "a number", int, float)
    reader.types(value.get("pass", {}), ("pass",), "a number, true, false or null", int, float, type(None))
    reader.raise_mistakes()
    return Scenario(
        name=value["name"],
        document=document,
        type=value["type"],
        title=value["title"],
        description=" ".join(str(value["description"]).split()),
        needs=tuple(value["needs"]),
        parameters=parameters,
        variants=variants,
        default=default,
        measure=Measure(**value["measure"]),
        passing=PassRule(**value.get("pass", {})),
        score=Score(**{**value["score"], "also": tuple(value["score"].get("also", ()))}),
        search_parameter=value.get("search", {}).get("parameter", ""),
        order=value["order"],
        section=str(value.get("section", "")),
        written_groups=tuple(value.get("groups", ())),
        written_setup=value.get("setup"),
        written_flow=value.get("flow", ""),
    )


def _parameters(reader: _Reader, value: Mapping[str, Any]) -> dict[str, Parameter]:
    written = value.get("parameters", {})
    reader.keys(written, ("parameters",), written)
    parameters = {}
    for name, one in written.items():
        path = ("parameters", name)
        if name in OF_THE_RUN:
            reader.tell(path, f"{name} can be set of every scenario, and cannot be a parameter of this one")
        if not isinstance(one, Mapping):
            one = {"value": one}
        reader.keys(one, path, _OF_PARAMETERS, {"value"})
        reader.raise_mistakes()
        parameters[name] = Parameter(name=name, **one)
        if parameters[name].scaled and (is_expression(one["value"]) or not isinstance(one["value"], int | float)):
            reader.tell(path, f"{name} is scaled, so its value has to be a number, not {one['value']!r}")
    if "flow" in value and "groups" not in value:
        usual = {name: Parameter(name, default) for name, default in _USUAL_OF_FLOWS.items()}
        parameters = usual | parameters
        for name in _OF_FLOWS:
            if name not in parameters:
                reader.tell(("parameters",), f"a flow needs the parameter {name}")
    return parameters


def _variants(reader: _Reader, written: Any, parameters: Mapping[str, Parameter]) -> tuple[tuple[Variant, ...], str]:
    variants: list[Variant] = []
    default = ""
    for at, one in enumerate(written):
        path = ("variants", at)
        reader.keys(one, path, {"name", "default", *parameters}, {"name"})
        reader.raise_mistakes()
        name = str(one["name"])
        if name in {variant.name for variant in variants}:
            reader.tell(path, f"there are two variants {name}")
        variants.append(Variant(name, {key: one[key] for key in one if key not in {"name", "default"}}))
        if one.get("default") or not default:
            default = name
    return tuple(variants), default


def _check_words(reader: _Reader, value: Mapping[str, Any]) -> None:
    reader.one_of(value["type"], ("type",), TYPES)
    for at, need in enumerate(value["needs"]):
        reader.one_of(need, ("needs", at), NEEDS)
    reader.keys(value["measure"], ("measure",), *_names(Measure))
    reader.keys(value.get("pass", {}), ("pass",), *_names(PassRule))
    reader.keys(value["score"], ("score",), *_names(Score))
    for at, name in enumerate([value["score"].get("value"), *value["score"].get("also", ())]):
        reader.one_of(name, ("score", "value" if at == 0 else "also"), VALUES)
    search = value.get("search", {"parameter": ""})
    reader.keys(search, ("search",), {"parameter"}, {"parameter"})
    if "search" in value:
        reader.one_of(search.get("parameter"), ("search", "parameter"), value.get("parameters", {}))
    setup = value.get("setup", {})
    reader.keys(setup, ("setup",), _names(ScenarioSetup)[0])
    for at, queue in enumerate(setup.get("queues", ())):
        reader.keys(queue, ("setup", "queues", at), _OF_QUEUES, {"name"})


def _check_groups(reader: _Reader, value: Mapping[str, Any]) -> None:
    groups = value.get("groups", [])
    if bool(groups) == ("flow" in value):
        reader.tell((), "a scenario has either groups or a flow")
    for at, group in enumerate(groups):
        path = ("groups", at)
        reader.keys(group, path, _OF_GROUPS, {"name", "role", "clients"})
        counter = group.get("for_each", {"": 1})
        if not isinstance(counter, Mapping) or len(counter) != 1:
            reader.tell((*path, "for_each"), "expected one name with the number of groups that it counts")
    names = [group.get("name") for group in groups]
    for name in {name for name in names if names.count(name) > 1}:
        reader.tell(("groups",), f"there are two groups {name}")
    if value["score"].get("group") and value["score"]["group"] not in names:
        reader.one_of(value["score"]["group"], ("score", "group"), names)


def _check_expressions(reader: _Reader, value: Mapping[str, Any], parameters: Mapping[str, Parameter]) -> None:
    """Every name in every expression is a parameter."""

    def look(part: Any, path: tuple[str | int, ...], names: set[str]) -> None:
        if isinstance(part, Mapping):
            inner = names | set(part["for_each"]) if "for_each" in part else names
            for key, member in part.items():
                look(member, (*path, key), inner)
        elif isinstance(part, list):
            for at, member in enumerate(part):
                look(member, (*path, at), names)
        elif is_expression(part):
            try:
                mentioned = names_in(part)
            except Problem as problem:
                reader.tell(path, str(problem))
                return
            for name in sorted(mentioned - names):
                reader.tell(path, f"there is no parameter {name}{suggestion(name, names)}")

    for key in ("parameters", "variants", "groups", "setup", "flow"):
        look(value.get(key), (key,), set(parameters))


def _names(kind: type) -> tuple[set[str], set[str]]:
    """All fields of a dataclass, and those that have to be given."""
    every = fields(kind)
    needed = {field.name for field in every if field.default is MISSING and field.default_factory is MISSING}
    return {field.name for field in every}, needed

"""Checks of one node: its type, and its properties one by one."""

from collections.abc import Mapping
from typing import Any

from heliograph.common.documents import Place
from heliograph.flow.definition.flow import NodeDefinition
from heliograph.flow.definition.mistakes import Findings, known, suggestion
from heliograph.flow.engine.nodes.properties import NodeKind, Property

YES_NO = {"yes": True, "no": False}

_WORDS = {
    "text": "text",
    "file": "the name of a file",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "yes or no",
    "texts": "a list of texts",
    "mapping": "a mapping",
}


def check_node(
    name: str,
    kind: NodeKind,
    given: Mapping[str, Any],
    place: Place,
    places: Mapping[str, Place],
    findings: Findings,
) -> NodeDefinition:
    """The node with all properties of its type: those given, checked, and the defaults of the others."""
    before = findings.count()
    for unknown in given.keys() - kind.properties.keys():
        findings.mistake(
            places.get(unknown, place),
            f"{kind.name} has no property {unknown}{suggestion(unknown, kind.properties)}; "
            f"it has: {known(kind.properties)}",
        )
    properties = {}
    for property_name, rule in kind.properties.items():
        if property_name in given:
            at = places.get(property_name, place)
            properties[property_name] = check_value(property_name, given[property_name], rule, at, findings)
        elif rule.required:
            findings.mistake(place, f"{kind.name} {name} needs a property {property_name}: {rule.help}")
            properties[property_name] = None
        else:
            properties[property_name] = rule.default
    if kind.check is not None and findings.count() == before:
        for property_name, text in kind.check(properties):
            findings.mistake(places.get(property_name, place), f"{property_name}: {text}")
    return NodeDefinition(name, kind.name, properties, place, dict(places))


def check_value(name: str, value: Any, rule: Property, place: Place, findings: Findings) -> Any:
    """The value as the property's type has it."""
    if rule.type == "choice":
        return _choice(name, value, rule, place, findings)
    checked = _converted(value, rule.type)
    if checked is None:
        hint = "; put it in quotes" if rule.type == "text" and isinstance(value, int | float) else ""
        findings.mistake(place, f"{name}: expected {_WORDS[rule.type]}, found {_found(value)}{hint}")
        return rule.default if not rule.required else None
    too_small = rule.least is not None and checked < rule.least
    too_large = rule.most is not None and checked > rule.most
    if too_small or too_large:
        findings.mistake(place, f"{name}: expected {_range(rule)}, found {checked}")
    return checked


def _choice(name: str, value: Any, rule: Property, place: Place, findings: Findings) -> Any:
    if value in rule.choices:
        return value
    hint = suggestion(value, rule.choices) if isinstance(value, str) else ""
    findings.mistake(place, f"{name}: expected one of {', '.join(rule.choices)}, found {_found(value)}{hint}")
    return rule.default


def _converted(value: Any, type_name: str) -> Any:
    """None if the value is not of this type."""
    match type_name:
        case "text" | "file":
            return value if isinstance(value, str) else None
        case "integer":
            return value if isinstance(value, int) and not isinstance(value, bool) else None
        case "number":
            return value if isinstance(value, int | float) and not isinstance(value, bool) else None
        case "boolean":
            return value if isinstance(value, bool) else YES_NO.get(value) if isinstance(value, str) else None
        case "texts":
            texts = [value] if isinstance(value, str) else value
            is_right = isinstance(texts, list) and all(isinstance(text, str) for text in texts)
            return tuple(texts) if is_right else None
    return value if isinstance(value, dict) else None


def _range(rule: Property) -> str:
    if rule.least is None:
        return f"at most {rule.most:g}"
    if rule.most is None:
        return f"{rule.least:g} or more"
    return f"{rule.least:g} to {rule.most:g}"


def _found(value: Any) -> str:
    if value is None:
        return "nothing"
    return "a list" if isinstance(value, list) else "a mapping" if isinstance(value, dict) else repr(value)

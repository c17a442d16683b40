"""Parameters: values that differ from one environment to the next, written `$(name)` in properties."""

import re
from collections.abc import Mapping
from typing import Any

from heliograph.common.documents import Place
from heliograph.flow.definition.mistakes import Findings, known, suggestion

_USE = re.compile(r"\$\(([^()]*)\)")
_NOT_A_USE = re.compile(r"\$\{(\w+)\}")
"""How other tools write a parameter."""


def overlaid(
    parameters: Mapping[str, Any], others: Mapping[str, Any], place_of: Mapping[str, Place], findings: Findings
) -> dict[str, Any]:
    """The parameters of a flow with the values of an environment; only what the flow declares can be given."""
    for name in others:
        if name not in parameters:
            findings.mistake(
                place_of.get(name, Place("parameters")),
                f"the flow has no parameter {name}{suggestion(name, parameters)}; it has: {known(parameters)}",
            )
    return {name: others.get(name, value) for name, value in parameters.items()}


def replaced(value: Any, parameters: Mapping[str, Any], place: Place, findings: Findings) -> Any:
    """The value with `$(name)` replaced, also inside lists and mappings.

    A text that is nothing but `$(name)` becomes the parameter's value, of whatever type.
    """
    if isinstance(value, str):
        return _replaced_text(value, parameters, place, findings)
    if isinstance(value, list):
        return [replaced(item, parameters, place, findings) for item in value]
    if isinstance(value, dict):
        return {key: replaced(item, parameters, place, findings) for key, item in value.items()}
    return value


def _replaced_text(text: str, parameters: Mapping[str, Any], place: Place, findings: Findings) -> Any:
    for name in _NOT_A_USE.findall(text):
        if name in parameters:
            findings.warning(place, f"${{{name}}} is taken as it stands; the parameter is $({name})")
    if "$(" not in text:
        return text
    for name in _USE.findall(text):
        if name not in parameters:
            findings.mistake(
                place, f"there is no parameter {name}{suggestion(name, parameters)}; there are: {known(parameters)}"
            )
            return text
    whole = _USE.fullmatch(text)
    if whole is not None:
        return parameters[whole.group(1)]
    return _USE.sub(lambda use: str(parameters[use.group(1)]), text)

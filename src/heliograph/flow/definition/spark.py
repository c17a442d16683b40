"""What a flow says of how it runs on Spark: `spark: {single_partition: yes}`."""

from collections.abc import Mapping
from typing import Any

from heliograph.common.documents import Place
from heliograph.flow.definition.mistakes import Findings, known, suggestion

_KEYS = ("single_partition",)
_BOOLEANS = {"yes": True, "no": False, "true": True, "false": False}


def check_spark(settings: Mapping[str, Any], places: Mapping[str, Place], findings: Findings) -> None:
    """Tell what is wrong with it."""
    given = settings.get("spark")
    if given is None:
        return
    place = places["spark"]
    if not isinstance(given, Mapping):
        findings.mistake(place, f"expected {{single_partition: yes}} under spark, found {given!r}")
        return
    for key, value in given.items():
        if key not in _KEYS:
            findings.mistake(place, f"spark has no {key}{suggestion(key, _KEYS)}; it has: {known(_KEYS)}")
        elif str(value).lower() not in _BOOLEANS:
            findings.mistake(place, f"spark: {key} is yes or no, not {value!r}")


def single_partition(settings: Mapping[str, Any]) -> bool:
    """Whether all messages are to be processed one after the other, in one place."""
    return _BOOLEANS[str((settings.get("spark") or {}).get("single_partition", "no")).lower()]

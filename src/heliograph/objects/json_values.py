"""Objects as the values that JSON and AMQP have."""

import math
from pathlib import Path
from typing import Any

from heliograph.objects.attributes import attributes_of


def to_values(instance: Any) -> dict[str, Any]:
    """The attributes by their keys; a table that `reading.read` makes an equal object of."""
    return {attribute.key: _value(getattr(instance, attribute.field)) for attribute in attributes_of(type(instance))}


def _value(value: Any) -> Any:
    match value:
        case str():
            return str(value)  # of an enumeration, too
        case Path():
            return str(value)
        case float() if math.isfinite(value) and value.is_integer():
            return int(value)
        case tuple() | list():
            return [_value(item) for item in value]
        case dict() | bool() | int() | float():
            return value
        case None:
            return ""
    return to_values(value)

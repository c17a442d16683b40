"""Functions on fields: what a field is called, what type it has, and whether two names mean the same field."""

from typing import Any

from heliograph.flow.language.esql.runtime.paths import ABSENT
from heliograph.flow.tree import Element


def field_name(element: Element | None) -> str | None:
    """FIELDNAME."""
    return element.name if element is not None and element is not ABSENT else None


def field_namespace(element: Element | None) -> str | None:
    """FIELDNAMESPACE."""
    return element.namespace if element is not None and element is not ABSENT else None


def field_type(element: Element | None) -> int | None:
    """FIELDTYPE."""
    return element.type if element is not None and element is not ABSENT else None


def field_value(element: Element | None) -> Any:
    """FIELDVALUE; also the value of a row where a scalar is needed."""
    return element.value if element is not None else None


def same_field(left: Element | None, right: Element | None) -> bool:
    """SAMEFIELD."""
    return left is not None and left is right

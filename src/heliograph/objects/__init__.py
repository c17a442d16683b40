"""Objects that are configured: their attributes, declared once, and all that is derived from the declaration.

A kind of object (a queue, a stream, a listener) is a frozen dataclass. The type of each field is
`Annotated[type, About(...)]`: type and default as in any dataclass, and About has the rest (description, unit, bounds,
when a change takes effect, the name in MQSC). From that come

- reading a table of a TOML file, or a map that a client sent (`object_tables`), with all mistakes at once,
- checking an object that a program makes (`attributes`),
- writing objects as values for JSON, or as a TOML file with explanations (`toml`),
- what differs between two objects, and whether that needs a restart (`differences`),
- the tables of the documentation (`reference`), and the options of commands (`cli.attribute_options`).

Rules between attributes are written in the class: `__post_init__` calls `check_object` with what it found.
"""

from heliograph.objects.attributes import (
    About,
    Attribute,
    Effect,
    Mistake,
    Mqsc,
    Range,
    attributes_by_key,
    attributes_of,
    check_object,
)
from heliograph.objects.differences import Difference, differences
from heliograph.objects.errors import InvalidObject
from heliograph.objects.object_tables import TableReader, object_to_values, read_object
from heliograph.objects.reference import attribute_table, markdown_table, with_tables
from heliograph.objects.toml import parse_toml_file, toml_document, value_text
from heliograph.objects.values import is_number, shown_value, text_mistake, without_markdown

__all__ = [
    "About",
    "Attribute",
    "Difference",
    "Effect",
    "InvalidObject",
    "Mistake",
    "Mqsc",
    "Range",
    "TableReader",
    "attribute_table",
    "attributes_by_key",
    "attributes_of",
    "check_object",
    "differences",
    "is_number",
    "markdown_table",
    "object_to_values",
    "parse_toml_file",
    "read_object",
    "shown_value",
    "text_mistake",
    "toml_document",
    "value_text",
    "with_tables",
    "without_markdown",
]

"""Objects that are configured: their attributes, declared once, and all that is derived from the declaration.

A kind of object (a queue, a stream, a listener) is a frozen dataclass. The type of each field is
`Annotated[type, About(...)]`: type and default as in any dataclass, and About has the rest (description, unit, bounds,
when a change takes effect, the name in MQSC). From that come

- reading a table of a TOML file, or a map that a client sent (`reading`), with all mistakes at once,
- checking an object that a program makes (`checking`),
- writing objects as values for JSON, or as a TOML file with explanations (`toml`),
- what differs between two objects, and whether that needs a restart (`differences`),
- the tables of the documentation (`reference`), and the options of commands (`cli.attribute_options`).

Rules between attributes are written in the class: `__post_init__` calls `checking.check` with what it found.
"""

from heliograph.objects.attributes import About, Attribute, Effect, Mqsc, attributes_of, by_key
from heliograph.objects.bounds import Range
from heliograph.objects.checking import InvalidObject, Mistake, check
from heliograph.objects.json_values import to_values
from heliograph.objects.reading import TableReader, read
from heliograph.objects.reference import attribute_table, markdown_table, with_tables
from heliograph.objects.toml import document, parse, value_text
from heliograph.objects.values import is_number, plain, shown, text_mistake

__all__ = [
    "About",
    "Attribute",
    "Effect",
    "InvalidObject",
    "Mistake",
    "Mqsc",
    "Range",
    "TableReader",
    "attribute_table",
    "attributes_of",
    "by_key",
    "check",
    "document",
    "is_number",
    "markdown_table",
    "parse",
    "plain",
    "read",
    "shown",
    "text_mistake",
    "to_values",
    "value_text",
    "with_tables",
]

"""The tables of the documentation that are made from the declarations of attributes."""

from heliograph.cli.queues.mqsc_attributes import ATTRIBUTES, FLAGS, SYNONYMS, values_text
from heliograph.errors import Problem
from heliograph.objects import Attribute, attribute_table, by_key, markdown_table
from heliograph.server import Config

MQSC = "mqsc"
NAMES = (*by_key(Config), MQSC)
"""Tables of the configuration by their keys, and the attributes of queues in MQSC."""


def table(name: str) -> str:
    """The table of this name, in Markdown."""
    if name == MQSC:
        return _mqsc_table()
    if name not in by_key(Config):
        raise Problem(f"expected the name of a table ({', '.join(NAMES)}), found {name}")
    return attribute_table(by_key(Config)[name].type)


def reference() -> str:
    """All tables of the configuration, each with its heading."""
    return "\n".join(
        f"## {_heading(attribute)}\n\n{attribute.about.description}\n\n{table(key)}\n"
        for key, attribute in by_key(Config).items()
    )


def _heading(attribute: Attribute) -> str:
    return f"[[{attribute.key}]]" if attribute.many else f"[{attribute.key}]"


def _mqsc_table() -> str:
    rows = [(_keywords(keyword), f"`{one.key}`", values_text(one), _kinds(one)) for keyword, one in ATTRIBUTES.items()]
    alone: dict[str, list[str]] = {}
    for word, (attribute, _) in FLAGS.items():
        alone.setdefault(attribute.key, []).append(f"`{word}`")
    attributes = {attribute.key: attribute for attribute, _ in FLAGS.values()}
    rows += [(", ".join(words), f"`{key}`", "none", _kinds(attributes[key])) for key, words in alone.items()]
    return markdown_table(("attribute", "key of `[[queue]]`", "values", "queues"), rows)


def _keywords(keyword: str) -> str:
    return ", ".join(f"`{one}`" for one in (keyword, *(other for other, is_ in SYNONYMS.items() if is_ == keyword)))


def _kinds(attribute: Attribute) -> str:
    return ", ".join(attribute.about.only_for) or "all"

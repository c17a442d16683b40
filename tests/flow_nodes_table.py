"""The chapter about nodes in docs/reference/flows.md, made from what nodes declare.

python tests/flow_nodes_table.py     writes it anew (PYTHONPATH=src)
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from heliograph.flow.engine.node import NodeKind, Property
from heliograph.flow.engine.nodes.node_kinds import KINDS

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "flows.md"
BEGIN = "<!-- Made from what the nodes declare: python tests/flow_nodes_table.py -->\n"
END = "<!-- The end of what is made. -->\n"

_TYPES = {"text": "text", "file": "file", "texts": "list", "boolean": "yes/no", "choice": "", "mapping": "mapping"}


def chapter() -> str:
    """All types of nodes, in the order of the catalogue."""
    lines = [BEGIN, "| type | inputs | outputs | what it does |", "|---|---|---|---|"]
    for kind in KINDS.values():
        inputs, outputs = _words(kind.inputs), _words(kind.outputs)
        lines.append(f"| [{kind.name}](#{kind.name.lower()}) | {inputs} | {outputs} | {kind.help} |")
    for kind in KINDS.values():
        lines += ["", f"#### {kind.name}", "", *_properties(kind)]
    return "\n".join([*lines, "", END])


def _properties(kind: NodeKind) -> Iterator[str]:
    if not kind.properties:
        yield "No properties."
        return
    yield "| property | value | default | |"
    yield "|---|---|---|---|"
    for name, rule in kind.properties.items():
        default = "*needed*" if rule.required else _default(rule.default)
        yield f"| `{name}` | {_type(rule)} | {default} | {rule.help.replace('|', chr(92) + '|')} |"


def _type(rule: Property) -> str:
    if rule.type == "choice":
        return _words(rule.choices)
    name = _TYPES.get(rule.type, rule.type)
    if rule.least is not None and rule.most is not None:
        return f"{name} {rule.least:g}..{rule.most:g}"
    return f"{name} from {rule.least:g}" if rule.least is not None else name


def _default(value: Any) -> str:
    if value in ("", None, {}, ()):
        return ""
    if isinstance(value, bool):
        return "`yes`" if value else "`no`"
    if isinstance(value, tuple):
        return _words(value)
    return f"`{value}`"


def _words(words: tuple[str, ...]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def written(page: str) -> str:
    """The page with this chapter."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{chapter()}{after}"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))

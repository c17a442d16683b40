"""Pictures as text: for terminals, and for Mermaid."""

from collections.abc import Iterator

from heliograph.flow.drawing.graph import Arrow, Box, Graph, Role, Style

# A flow's picture as lines of text: each path from an input, as far as it is not shown yet.


def draw_text(graph: Graph) -> str:
    """A tree for each input (and for labels that nothing leads to)."""
    reached = {arrow.target for arrow in graph.arrows}
    boxes = {box.name: box for box in graph.boxes}
    shown: set[str] = set()
    lines = [graph.name]
    for box in [*(box for box in graph.boxes if box.name not in reached), *graph.boxes]:
        if box.name not in shown:
            lines += ["", *_tree(graph, boxes, box, shown)]
    return "\n".join([*lines, ""])


def _tree(graph: Graph, boxes: dict[str, Box], root: Box, shown: set[str]) -> Iterator[str]:
    yield _described(root)
    shown.add(root.name)
    # Arrows that are still to be shown, with the lines to their left.
    open_ = _branches(graph, root, "")
    while open_:
        arrow, left, is_last = open_.pop()
        target = boxes[arrow.target]
        known = target.name in shown
        terminal = arrow.terminal if arrow.input == "in" else f"{arrow.terminal} -> {arrow.input}"
        sign = "· " if arrow.style is Style.LABEL else ""
        again = "  (see above)" if known and any(each.source == target.name for each in graph.arrows) else ""
        yield f"{left}{'└─ ' if is_last else '├─ '}{sign}{terminal}: {_described(target)}{again}"
        if not known:
            shown.add(target.name)
            open_ += _branches(graph, target, left + ("   " if is_last else "│  "))


def _branches(graph: Graph, box: Box, left: str) -> list[tuple[Arrow, str, bool]]:
    """Last first, as a stack has them."""
    arrows = [arrow for arrow in graph.arrows if arrow.source == box.name]
    return [(arrow, left, number == 0) for number, arrow in enumerate(reversed(arrows))]


def _described(box: Box) -> str:
    return f"{box.name} ({box.type}{' ' + box.detail if box.detail else ''})"


# A flow's picture as Mermaid's text, for pages that draw it themselves.

_SHAPES = {Role.INPUT: ("([", "])"), Role.OUTPUT: ("[/", "/]"), Role.WAY: ("{{", "}}")}
_ARROWS = {Style.PLAIN: "-->", Style.ERROR: "-->", Style.LABEL: "-.->"}


def draw_mermaid(graph: Graph) -> str:
    """A flowchart from left to right; lines of failures are red."""
    numbers = {box.name: f"n{number}" for number, box in enumerate(graph.boxes)}
    lines = ["---", f"title: {_quoted(graph.name)}", "---", "flowchart LR", *_group(graph, "", numbers, "  ")]
    errors = []
    for number, arrow in enumerate(graph.arrows):
        text = arrow.terminal if arrow.input == "in" else f"{arrow.terminal} to {arrow.input}"
        lines.append(f"  {numbers[arrow.source]} {_ARROWS[arrow.style]}|{text}| {numbers[arrow.target]}")
        if arrow.style is Style.ERROR:
            errors.append(str(number))
    if errors:
        lines.append(f"  linkStyle {','.join(errors)} stroke:#d33,color:#d33")
    return "\n".join([*lines, ""])


def _group(graph: Graph, prefix: str, numbers: dict[str, str], indent: str) -> Iterator[str]:
    """Boxes of the flow or a subflow, then subflows inside of it."""
    inner: dict[str, None] = {}
    for box in graph.boxes:
        if not box.name.startswith(prefix):
            continue
        first, dot, _ = box.name[len(prefix) :].partition(".")
        if dot:
            inner[first] = None
        else:
            yield f"{indent}{numbers[box.name]}{_shape(box, first)}"
    for name in inner:
        yield f"{indent}subgraph {_identifier(prefix + name)} [{_quoted(name)}]"
        yield from _group(graph, f"{prefix}{name}.", numbers, f"{indent}  ")
        yield f"{indent}end"


def _shape(box: Box, name: str) -> str:
    begin, end = _SHAPES.get(box.role, ("[", "]"))
    text = "<br>".join(filter(None, (f"<b>{_escaped(name)}</b>", box.type, _escaped(box.detail))))
    return f'{begin}"{text}"{end}'


def _identifier(name: str) -> str:
    return "sub_" + "".join(character if character.isalnum() else "_" for character in name)


def _quoted(text: str) -> str:
    return f'"{_escaped(text)}"'


def _escaped(text: str) -> str:
    return text.replace("&", "#amp;").replace('"', "#quot;").replace("<", "#lt;").replace(">", "#gt;")

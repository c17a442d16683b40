"""A flow's picture as lines of text: each path from an input, as far as it is not shown yet."""

from collections.abc import Iterator

from heliograph.flow.drawing.graph import Arrow, Box, Graph, Style


def text(graph: Graph) -> str:
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

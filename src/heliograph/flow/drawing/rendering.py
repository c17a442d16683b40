"""Pictures of flows: SVG for light and dark pages, text for terminals, and Mermaid for pages that draw it."""

from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape, quoteattr

from heliograph.flow.drawing.graph import Arrow, Box, Graph, Role, Style
from heliograph.flow.drawing.layering import Point
from heliograph.flow.drawing.placing import Line, Mark, Rectangle, Scene, cut, placed

_MARGIN = 24.0
_TITLE = 34.0
_RADIUS = 7.0

_STYLE = """\
svg { color-scheme: light dark; font-family: system-ui, "Segoe UI", "DejaVu Sans", sans-serif;
  --page: #ffffff; --box: #f7f8fa; --rim: #b6bcc6; --text: #1c2330; --quiet: #5c6675; --line: #5c6675;
  --error: #c8322b; --label: #8a5a00; --frame: #eef1f6;
  --input: #1f8a4c; --output: #1f6fc4; --work: #7a4fc0; --way: #c07a00; --trouble: #c8322b; }
@media (prefers-color-scheme: dark) { svg {
  --page: #15181d; --box: #20252d; --rim: #4a5260; --text: #e8ebf0; --quiet: #a3acba; --line: #a3acba;
  --error: #ff7a70; --label: #f0b95a; --frame: #1a1e25;
  --input: #4cc47e; --output: #5aa9f5; --work: #b08df0; --way: #f0b13c; --trouble: #ff7a70; } }
.page { fill: var(--page) } .title { fill: var(--text); font-size: 16px; font-weight: 600 }
.box { fill: var(--box); stroke: var(--rim) } .name { fill: var(--text); font-size: 13px; font-weight: 600 }
.quiet { fill: var(--quiet); font-size: 11px }
.frame { fill: var(--frame); stroke: var(--rim); stroke-dasharray: 2 3 }
.input { fill: var(--input) } .output { fill: var(--output) } .work { fill: var(--work) }
.way { fill: var(--way) } .trouble { fill: var(--trouble) }
.line { fill: none; stroke-width: 1.4 }
.line.plain { stroke: var(--line) } .line.error { stroke: var(--error) }
.line.label { stroke: var(--label); stroke-dasharray: 2 4; stroke-linecap: round }
.mark { font-size: 10.5px; paint-order: stroke; stroke: var(--page); stroke-width: 3px; stroke-linejoin: round }
.mark.plain { fill: var(--quiet) } .mark.error { fill: var(--error) } .mark.label { fill: var(--label) }
.head.plain { fill: var(--line) } .head.error { fill: var(--error) } .head.label { fill: var(--label) }
"""


def draw_svg(graph: Graph) -> str:
    """The picture."""
    scene = placed(graph)
    width, height = scene.width + 2 * _MARGIN, scene.height + 2 * _MARGIN + _TITLE
    width = max(width, len(graph.name) * 10 + 2 * _MARGIN)
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label={quoteattr("flow " + graph.name)}>',
            f"<style>\n{_STYLE}</style>",
            _heads(),
            '<rect class="page" width="100%" height="100%"/>',
            f'<text class="title" x="{_MARGIN:.0f}" y="{_MARGIN + 12:.0f}">{escape(graph.name)}</text>',
            f'<g transform="translate({_MARGIN:.0f} {_MARGIN + _TITLE:.0f})">',
            *_shapes(graph, scene),
            "</g>",
            "</svg>",
            "",
        ]
    )


def _heads() -> str:
    markers = [
        f'<marker id="head-{style}" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="8" markerHeight="8" '
        f'markerUnits="userSpaceOnUse" orient="auto"><path class="head {style}" d="M0 0.6 L8 4 L0 7.4 Z"/></marker>'
        for style in ("plain", "error", "label")
    ]
    return f"<defs>{''.join(markers)}</defs>"


def _shapes(graph: Graph, scene: Scene) -> Iterator[str]:
    """Frames lie below lines, lines below boxes, and names of terminals over all."""
    for name, frame in sorted(scene.frames.items(), key=lambda each: each[0].count(".")):
        yield _frame(name, frame)
    for line in scene.lines:
        yield _line(line)
    for box in graph.boxes:
        yield _box(box, scene.boxes[box.name])
    for mark in scene.marks:
        yield _mark(mark)


def _frame(name: str, frame: Rectangle) -> str:
    title = escape(name.rpartition(".")[2])
    return (
        f'<rect class="frame" {_rectangle(frame)} rx="10"/>'
        f'<text class="quiet" x="{frame.x + 12:.1f}" y="{frame.y + 19:.1f}">{title}</text>'
    )


def _box(box: Box, at: Rectangle) -> str:
    texts = [("name", cut(box.name.rpartition(".")[2])), ("quiet", cut(box.type))]
    if box.detail:
        texts.append(("quiet", cut(box.detail)))
    top = at.y + (at.height - 15 * len(texts)) / 2 + 11
    lines = [
        f'<text class="{kind}" x="{at.x + 15:.1f}" y="{top + 15 * number:.1f}">{escape(text)}</text>'
        for number, (kind, text) in enumerate(texts)
    ]
    title = escape(": ".join(filter(None, (box.name, box.type))) + (f" {box.detail}" if box.detail else ""))
    stripe = f'<rect class="{box.role.value}" x="{at.x:.1f}" y="{at.y:.1f}" width="5" height="{at.height:.1f}" rx="2"/>'
    return f'<g><title>{title}</title><rect class="box" {_rectangle(at)} rx="5"/>{stripe}{"".join(lines)}</g>'


def _rectangle(at: Rectangle) -> str:
    return f'x="{at.x:.1f}" y="{at.y:.1f}" width="{at.width:.1f}" height="{at.height:.1f}"'


def _line(line: Line) -> str:
    style = line.style.value
    head = f' marker-end="url(#head-{style})"' if line.has_head else ""
    path = _cornered(line.points) if line.runs_back else _curved(line.points)
    return f'<path class="line {style}" d="{path}"{head}/>'


def _curved(points: Sequence[Point]) -> str:
    """Level through layers, curved from one to the next."""
    (x, y), *others = points
    path = [f"M{x:.1f} {y:.1f}"]
    for end_x, end_y in others:
        if abs(end_y - y) < 0.5:
            path.append(f"L{end_x:.1f} {end_y:.1f}")
        else:
            middle = (x + end_x) / 2
            path.append(f"C{middle:.1f} {y:.1f} {middle:.1f} {end_y:.1f} {end_x:.1f} {end_y:.1f}")
        x, y = end_x, end_y
    return " ".join(path)


def _cornered(points: Sequence[Point]) -> str:
    """From corner to corner, with the corners rounded."""
    path = [f"M{points[0][0]:.1f} {points[0][1]:.1f}"]
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        begin, end = _towards(corner, before), _towards(corner, after)
        path.append(f"L{begin[0]:.1f} {begin[1]:.1f} Q{corner[0]:.1f} {corner[1]:.1f} {end[0]:.1f} {end[1]:.1f}")
    path.append(f"L{points[-1][0]:.1f} {points[-1][1]:.1f}")
    return " ".join(path)


def _towards(corner: Point, other: Point) -> Point:
    """A point a little way from a corner."""
    x, y = other[0] - corner[0], other[1] - corner[1]
    length = (x * x + y * y) ** 0.5
    part = min(_RADIUS, length / 2) / length if length else 0.0
    return corner[0] + x * part, corner[1] + y * part


def _mark(mark: Mark) -> str:
    x, y = mark.at
    anchor, x = (' text-anchor="end"', x - 9) if mark.ends_there else ("", x + 5)
    return f'<text class="mark {mark.style.value}"{anchor} x="{x:.1f}" y="{y - 3.5:.1f}">{escape(mark.text)}</text>'


# Text for terminals: a flow's picture as lines of text: each path from an input, as far as it is not shown yet.


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

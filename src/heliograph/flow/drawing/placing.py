"""Where boxes, frames of subflows and lines of a flow's picture go.

A subflow is laid out by itself and is then one big box of what is around it. Lines that lead into it or out of it pass
its frame at ports: inside, ports stand in the outermost layers.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from heliograph.flow.drawing.graph import Arrow, Box, Graph, Style
from heliograph.flow.drawing.layering import Layout, Point, Size, layered

NAME_WIDTH = 8.4
"""Of a character of a name, in pixels; of all other texts: TEXT_WIDTH."""
TEXT_WIDTH = 7.0
MARK_WIDTH = 6.4
LONGEST = 30
"""Characters of a text in a box; longer ones are cut."""

_FRAME_SIDE, _FRAME_TOP, _FRAME_BOTTOM = 22.0, 34.0, 16.0
_LEAST_WIDTH = 104.0
_TERMINAL_HEIGHT = 19.0
_TURN = 12.0
_CURVE = 54.0
"""Between layers, beside names of terminals: room for lines to go up and down."""

Port = tuple[str, str, str]
"""Where lines pass a frame: `in` or `out`, the node inside, and its terminal."""


@dataclass(frozen=True, slots=True)
class Rectangle:
    """Of a box or a frame."""

    x: float
    y: float
    width: float
    height: float

    def moved(self, x: float, y: float) -> "Rectangle":
        """The same at another place."""
        return Rectangle(self.x + x, self.y + y, self.width, self.height)


@dataclass(frozen=True, slots=True)
class Line:
    """A piece of an arrow."""

    points: tuple[Point, ...]
    style: Style
    has_head: bool
    """Whether it ends at a box."""
    runs_back: bool = False
    """Around corners, instead of curved from layer to layer."""

    def moved(self, x: float, y: float) -> "Line":
        """The same at another place."""
        points = tuple((left + x, top + y) for left, top in self.points)
        return Line(points, self.style, self.has_head, self.runs_back)


@dataclass(frozen=True, slots=True)
class Mark:
    """The name of a terminal; it ends (or begins) at this point."""

    text: str
    at: Point
    style: Style
    ends_there: bool = False


@dataclass(slots=True)
class Scene:
    """Everything that is drawn, with its place."""

    width: float = 0.0
    height: float = 0.0
    boxes: dict[str, Rectangle] = field(default_factory=dict)
    frames: dict[str, Rectangle] = field(default_factory=dict)
    lines: list[Line] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    ports: dict[Port, float] = field(default_factory=dict)
    """How far down lines pass the frame."""

    def take(self, inner: "Scene", x: float, y: float) -> None:
        """Put what is inside a frame to its place."""
        self.boxes.update({name: box.moved(x, y) for name, box in inner.boxes.items()})
        self.frames.update({name: frame.moved(x, y) for name, frame in inner.frames.items()})
        self.lines += [line.moved(x, y) for line in inner.lines]
        self.marks += [
            Mark(mark.text, (mark.at[0] + x, mark.at[1] + y), mark.style, mark.ends_there) for mark in inner.marks
        ]


def placed(graph: Graph) -> Scene:
    """The scene of a flow."""
    return _Group(graph, "").scene()


def size_of(box: Box, terminals: int) -> Size:
    """A box that its texts and terminals fit into."""
    name = box.name.rpartition(".")[2]
    texts = [cut(box.type), cut(box.detail)]
    width = max(len(cut(name)) * NAME_WIDTH, *(len(text) * TEXT_WIDTH for text in texts)) + 26
    height = max(40.0 if not box.detail else 54.0, terminals * _TERMINAL_HEIGHT + 6)
    return max(width, _LEAST_WIDTH), height


def cut(text: str) -> str:
    """A text that is not longer than a box."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


class _Level(NamedTuple):
    """What lines between the boxes of one group are drawn in."""

    scene: Scene
    layout: Layout
    ends: Mapping[tuple[str, str, str], float]
    """The height of each end of a line, by its way, node and terminal."""
    offset: Point


class _Group:
    """The flow, or a subflow: direct nodes, and subflows inside."""

    def __init__(self, graph: Graph, name: str) -> None:
        self._graph = graph
        self._prefix = f"{name}." if name else ""
        self._boxes = {box.name: box for box in graph.boxes if self._member(box.name) == box.name}
        inner = [self._member(box.name) for box in graph.boxes]
        self._groups = {
            member: _Group(graph, member).scene()
            for member in dict.fromkeys(inner)
            if member and member not in self._boxes
        }
        self._edges = dict(self._pieces())

    def _member(self, node: str) -> str:
        """The direct member of this group that a node is, or is inside of; nothing if it is outside."""
        if not node.startswith(self._prefix):
            return ""
        return self._prefix + node[len(self._prefix) :].partition(".")[0]

    def _pieces(self) -> Iterator[tuple[tuple[str, str, str, str], Arrow]]:
        """Pieces of arrows that are drawn here: from vertex to vertex, with their terminals; each once."""
        for arrow in self._graph.arrows:
            source, target = self._member(arrow.source), self._member(arrow.target)
            if (not source and not target) or (source == target and source not in self._boxes):
                continue
            # One line from a port serves all that come through it.
            if not source:
                yield (_vertex(("in", arrow.target, arrow.input)), target, "", ""), arrow
            elif not target:
                yield (source, _vertex(("out", arrow.source, arrow.terminal)), "", ""), arrow
            else:
                yield (source, target, f"{arrow.source} {arrow.terminal}", f"{arrow.target} {arrow.input}"), arrow

    def scene(self) -> Scene:
        """Everything inside, and the ports."""
        sizes, gaps, first, last = self._vertices()
        edges = list(self._edges)
        layout = layered(
            sizes, [(edge[0], edge[1]) for edge in edges], gaps, first=frozenset(first), last=frozenset(last)
        )
        framed = bool(self._prefix)
        x, y = (_FRAME_SIDE, _FRAME_TOP) if framed else (0.0, 0.0)
        width, height = layout.width + 2 * x, layout.height + (_FRAME_TOP + _FRAME_BOTTOM if framed else 0.0)
        scene = Scene(width, height)
        for name in self._boxes:
            left, top = layout.corners[name]
            scene.boxes[name] = Rectangle(left + x, top + y, *sizes[name])
        for name, inner in self._groups.items():
            left, top = layout.corners[name]
            scene.take(inner, left + x, top + y)
            scene.frames[name] = Rectangle(left + x, top + y, inner.width, inner.height)
        for vertex, port in [*first.items(), *last.items()]:
            scene.ports[port] = layout.corners[vertex][1] + sizes[vertex][1] / 2 + y
        ends = self._ends(scene, layout, y)
        level = _Level(scene, layout, ends, (x, y))
        for number, (edge, arrow) in enumerate(self._edges.items()):
            scene.lines.append(self._line(number, edge, arrow, level))
        scene.marks += self._marks(scene, ends)
        return scene

    def _vertices(self) -> tuple[dict[str, Size], dict[str, float], dict[str, Port], dict[str, Port]]:
        sizes: dict[str, Size] = {}
        gaps: dict[str, float] = {}
        for name, box in self._boxes.items():
            terminals = self._terminals(name)
            sizes[name] = size_of(box, len(terminals))
            longest = max((len(terminal) for terminal in terminals), default=0)
            gaps[name] = longest * MARK_WIDTH + _CURVE
        for name, inner in self._groups.items():
            sizes[name] = inner.width, inner.height
            gaps[name] = _CURVE
        first: dict[str, Port] = {}
        last: dict[str, Port] = {}
        for arrow in self._graph.arrows:
            source, target = self._member(arrow.source), self._member(arrow.target)
            if target and not source:
                port = ("in", arrow.target, arrow.input)
                first[_vertex(port)] = port
            elif source and not target:
                port = ("out", arrow.source, arrow.terminal)
                last[_vertex(port)] = port
        sizes.update(dict.fromkeys([*first, *last], (0.0, 10.0)))
        gaps.update(dict.fromkeys(first, 24.0))
        return sizes, gaps, first, last

    def _terminals(self, name: str) -> list[str]:
        return [*dict.fromkeys(arrow.terminal for arrow in self._graph.arrows if arrow.source == name)]

    # Ends of lines

    def _ends(self, scene: Scene, layout: Layout, top: float) -> dict[tuple[str, str, str], float]:
        """How far down each terminal of each box is: `in` or `out`, node, terminal."""
        goals: dict[str, dict[str, list[float]]] = {name: {} for name in self._boxes}
        inputs: dict[str, dict[str, None]] = {name: {} for name in self._boxes}
        for number, (edge, arrow) in enumerate(self._edges.items()):
            if edge[0] in goals:
                goal = self._goal(number, edge[1], arrow, scene, layout, top)
                goals[edge[0]].setdefault(arrow.terminal, []).append(goal)
            if edge[1] in inputs:
                inputs[edge[1]][arrow.input] = None
        ends: dict[tuple[str, str, str], float] = {}
        for name in self._boxes:
            means = {terminal: sum(each) / len(each) for terminal, each in goals[name].items()}
            outputs = sorted(means, key=means.__getitem__)
            ends.update({("out", name, each): y for each, y in _spread(outputs, scene.boxes[name])})
            ends.update({("in", name, each): y for each, y in _spread([*inputs[name]], scene.boxes[name])})
        return ends

    def _goal(self, number: int, target: str, arrow: Arrow, scene: Scene, layout: Layout, top: float) -> float:
        """How far down a line goes next: terminals stand in this order, so that their lines do not cross."""
        if number in layout.back:
            return layout.back[number] + top
        if layout.between[number]:
            return layout.between[number][0][1] + top
        if target in self._groups:
            return scene.frames[target].y + self._groups[target].ports["in", arrow.target, arrow.input]
        if target in self._boxes:
            return scene.boxes[target].y + scene.boxes[target].height / 2
        return scene.ports["out", arrow.source, arrow.terminal]

    def _line(self, number: int, edge: tuple[str, str, str, str], arrow: Arrow, level: _Level) -> Line:
        source, target, *_ = edge
        layout, offset = level.layout, level.offset
        start, end = self._start(source, arrow, level), self._end(target, arrow, level)
        has_head = target in self._boxes
        # Level as far as the layer is wide and the terminal's name is long: nothing of the layer is crossed.
        named = len(arrow.terminal) * MARK_WIDTH if source in self._boxes else 0.0
        right = layout.columns[source][1] + offset[0] + named
        left = layout.columns[target][0] + offset[0]
        if number in layout.back:
            down, right, left = layout.back[number] + offset[1], right + _TURN, left - _TURN
            points = (*start, (right, start[-1][1]), (right, down), (left, down), (left, end[0][1]), *end)
            return Line(points, arrow.style, has_head, runs_back=True)
        between = [(x + offset[0], y + offset[1]) for x, y in layout.between[number]]
        points = (*start, (right, start[-1][1]), *between, (left, end[0][1]), *end)
        return Line(points, arrow.style, has_head)

    def _start(self, source: str, arrow: Arrow, level: _Level) -> tuple[Point, ...]:
        """The first point; two, from a port to where the inner layers begin."""
        if source in self._boxes:
            box = level.scene.boxes[source]
            return ((box.x + box.width, level.ends["out", arrow.source, arrow.terminal]),)
        if source in self._groups:
            frame = level.scene.frames[source]
            return ((frame.x + frame.width, frame.y + self._groups[source].ports["out", arrow.source, arrow.terminal]),)
        y = level.scene.ports["in", arrow.target, arrow.input]
        return ((0.0, y), (level.layout.corners[source][0] + level.offset[0], y))

    def _end(self, target: str, arrow: Arrow, level: _Level) -> tuple[Point, ...]:
        if target in self._boxes:
            return ((level.scene.boxes[target].x, level.ends["in", arrow.target, arrow.input]),)
        if target in self._groups:
            frame = level.scene.frames[target]
            return ((frame.x, frame.y + self._groups[target].ports["in", arrow.target, arrow.input]),)
        y = level.scene.ports["out", arrow.source, arrow.terminal]
        return ((level.layout.corners[target][0] + level.offset[0], y), (level.scene.width, y))

    def _marks(self, scene: Scene, ends: Mapping[tuple[str, str, str], float]) -> Iterator[Mark]:
        styles = {(arrow.source, arrow.terminal): arrow.style for arrow in self._graph.arrows}
        for (way, name, terminal), y in ends.items():
            box = scene.boxes[name]
            if way == "out":
                yield Mark(terminal, (box.x + box.width, y), styles[name, terminal])
            elif terminal != "in":
                yield Mark(terminal, (box.x, y), Style.PLAIN, ends_there=True)


def _vertex(port: Port) -> str:
    return " ".join(port)


def _spread(terminals: Sequence[str], box: Rectangle) -> Iterator[tuple[str, float]]:
    """Terminals at even distances along the side of a box."""
    step = box.height / max(len(terminals), 1)
    for at, terminal in enumerate(terminals):
        yield terminal, box.y + step * (at + 0.5)

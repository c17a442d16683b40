"""Layered layout of a graph, from left to right.

Every vertex stands one layer to the right of the farthest vertex that leads to it (longest path). Edges over several
layers get a place of their own in each layer between. Within layers, vertices are put in the order of the barycentres
of their neighbours, back and forth, and the order with the fewest crossings is kept. Then each comes as near to the
height of its neighbours as the others in its layer let it. Edges that close a loop stand outside of all this, and run
back below the rest.
"""

from bisect import bisect_right, insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

Point = tuple[float, float]
Size = tuple[float, float]
Vertex = str | tuple[int, int]
"""A vertex of the graph, or the place of an edge (by number) in a layer."""

_SWEEPS = 12
_ROW_GAP = 22.0
_EDGE_HEIGHT = 10.0
_STRAIGHT = 4.0
"""How much more the places of edges insist on being level with their neighbours than vertices do."""
_TRACK = 16.0
_LEAST_GAP = 40.0


@dataclass(slots=True)
class Layout:
    """Where everything stands."""

    width: float
    height: float
    corners: dict[str, Point] = field(default_factory=dict)
    """The upper left corner of each vertex."""
    columns: dict[str, tuple[float, float]] = field(default_factory=dict)
    """The left and right side of the layer that each vertex stands in."""
    between: dict[int, list[Point]] = field(default_factory=dict)
    """By edge: the points it passes between its ends; two in each layer, at its left and right."""
    back: dict[int, float] = field(default_factory=dict)
    """Edges that run back, and how far down."""


def layered(
    sizes: Mapping[str, Size],
    edges: Sequence[tuple[str, str]],
    gaps: Mapping[str, float],
    *,
    first: frozenset[str] = frozenset(),
    last: frozenset[str] = frozenset(),
) -> Layout:
    """Lay out a graph. `gaps` is the room that a vertex needs to its right; `first` and `last` stand outermost."""
    back = _back_edges(sizes, edges)
    forward = [(number, edge) for number, edge in enumerate(edges) if number not in back]
    layer_of = _layers(sizes, [edge for _, edge in forward], first, last)
    layers, chains, neighbours = _with_places(sizes, forward, layer_of)
    order = _ordered(layers, neighbours, layer_of)
    heights = {vertex: sizes[vertex][1] if isinstance(vertex, str) else _EDGE_HEIGHT for row in order for vertex in row}
    centres = _centres(order, neighbours, layer_of, heights)
    lefts, widths, width = _columns(order, sizes, gaps)
    layout = Layout(width, max((centres[v] + heights[v] / 2 for row in order for v in row), default=0.0))
    for vertex in sizes:
        at = layer_of[vertex]
        left = lefts[at] + (widths[at] - sizes[vertex][0]) / 2
        if vertex in first:
            left = lefts[at]
        elif vertex in last:
            left = lefts[at] + widths[at] - sizes[vertex][0]
        layout.corners[vertex] = left, centres[vertex] - heights[vertex] / 2
        layout.columns[vertex] = lefts[at], lefts[at] + widths[at]
    for number, chain in chains.items():
        layout.between[number] = [
            (x, centres[place]) for place in chain for x in (lefts[place[1]], lefts[place[1]] + widths[place[1]])
        ]
    for number in sorted(back, key=lambda number: layer_of[edges[number][0]] - layer_of[edges[number][1]]):
        layout.height += _TRACK
        layout.back[number] = layout.height
    return layout


# Layers


def _back_edges(vertices: Mapping[str, Size], edges: Sequence[tuple[str, str]]) -> set[int]:
    """Edges that lead back to where the search came from, when it begins where no edge leads to."""
    behind: dict[str, list[tuple[int, str]]] = {vertex: [] for vertex in vertices}
    for number, (source, target) in enumerate(edges):
        behind[source].append((number, target))
    reached = {target for _, target in edges}
    back: set[int] = set()
    done: set[str] = set()
    for start in [*(v for v in vertices if v not in reached), *vertices]:
        if start in done:
            continue
        path, open_ = {start}, [(start, iter(behind[start]))]
        while open_:
            vertex, following = open_[-1]
            step = next(following, None)
            if step is None:
                open_.pop()
                path.discard(vertex)
                done.add(vertex)
            elif step[1] in path:
                back.add(step[0])
            elif step[1] not in done:
                path.add(step[1])
                open_.append((step[1], iter(behind[step[1]])))
    return back


def _layers(
    vertices: Mapping[str, Size], edges: Sequence[tuple[str, str]], first: frozenset[str], last: frozenset[str]
) -> dict[str, int]:
    before: dict[str, list[str]] = {vertex: [] for vertex in vertices}
    for source, target in edges:
        before[target].append(source)
    layer_of: dict[str, int] = dict.fromkeys(first, 0)
    open_ = [vertex for vertex in reversed([*vertices]) if vertex not in first and vertex not in last]
    while open_:
        waits = [source for source in before[open_[-1]] if source not in layer_of]
        if waits:
            open_ += waits
            continue
        vertex = open_.pop()
        # What comes from outside stands in layer 0, and nothing else beside it.
        layer_of[vertex] = max((layer_of[source] + 1 for source in before[vertex]), default=1 if first else 0)
    outermost = max(layer_of.values(), default=-1) + 1
    layer_of.update(dict.fromkeys(last, outermost))
    return layer_of


Neighbours = dict[Vertex, tuple[list[Vertex], list[Vertex]]]
"""Of each vertex: those in the layer before, and those in the layer behind."""


def _with_places(
    sizes: Mapping[str, Size], edges: Sequence[tuple[int, tuple[str, str]]], layer_of: Mapping[str, int]
) -> tuple[list[list[Vertex]], dict[int, list[tuple[int, int]]], Neighbours]:
    """Layers with the places of edges that pass them."""
    layers: list[list[Vertex]] = [[] for _ in range(max(layer_of.values(), default=-1) + 1)]
    for vertex in sizes:
        layers[layer_of[vertex]].append(vertex)
    neighbours: Neighbours = {vertex: ([], []) for vertex in sizes}
    chains: dict[int, list[tuple[int, int]]] = {}
    for number, (source, target) in edges:
        chain = [(number, at) for at in range(layer_of[source] + 1, layer_of[target])]
        chains[number] = chain
        for place in chain:
            layers[place[1]].append(place)
            neighbours[place] = ([], [])
        way: list[Vertex] = [source, *chain, target]
        for one, other in pairwise(way):
            neighbours[one][1].append(other)
            neighbours[other][0].append(one)
    return layers, chains, neighbours


# Order


def _ordered(layers: list[list[Vertex]], neighbours: Neighbours, layer_of: Mapping[str, int]) -> list[list[Vertex]]:
    order = _searched(layers, neighbours, layer_of)
    best, fewest = order, _crossings(order, neighbours)
    for sweep in range(_SWEEPS):
        if not fewest:
            break
        order = [list(layer) for layer in order]
        before = sweep % 2 == 0
        for at in range(1, len(order)) if before else range(len(order) - 2, -1, -1):
            _sort_by_barycentre(order[at], order[at - 1] if before else order[at + 1], neighbours, 0 if before else 1)
        crossings = _crossings(order, neighbours)
        if crossings < fewest:
            best, fewest = order, crossings
    return best


def _searched(layers: list[list[Vertex]], neighbours: Neighbours, layer_of: Mapping[str, int]) -> list[list[Vertex]]:
    """The order in which a search in depth comes by: what belongs together begins together."""
    order: list[list[Vertex]] = [[] for _ in layers]
    seen: set[Vertex] = set()
    for start in (vertex for layer in layers for vertex in layer):
        open_ = [start]
        while open_:
            vertex = open_.pop()
            if vertex in seen:
                continue
            seen.add(vertex)
            order[vertex[1] if isinstance(vertex, tuple) else layer_of[vertex]].append(vertex)
            open_ += reversed(neighbours[vertex][1])
    return order


def _sort_by_barycentre(layer: list[Vertex], fixed: list[Vertex], neighbours: Neighbours, side: int) -> None:
    place = {vertex: float(at) for at, vertex in enumerate(fixed)}
    own = {vertex: at * len(fixed) / len(layer) for at, vertex in enumerate(layer)}

    def barycentre(vertex: Vertex) -> float:
        places = [place[other] for other in neighbours[vertex][side]]
        # Who has no neighbours stays about where it is.
        return sum(places) / len(places) if places else own[vertex]

    layer.sort(key=barycentre)


def _crossings(order: list[list[Vertex]], neighbours: Neighbours) -> int:
    count = 0
    for layer, following in pairwise(order):
        place = {vertex: at for at, vertex in enumerate(following)}
        passed: list[int] = []
        for vertex in layer:
            ends = [place[other] for other in neighbours[vertex][1]]
            count += sum(len(passed) - bisect_right(passed, end) for end in ends)
            for end in ends:
                insort(passed, end)
    return count


# Heights


def _centres(
    order: list[list[Vertex]],
    neighbours: Neighbours,
    layer_of: Mapping[str, int],
    heights: Mapping[Vertex, float],
) -> dict[Vertex, float]:
    """Where the middle of each vertex is, from the top."""
    centres: dict[Vertex, float] = {}
    for layer in order:
        top = 0.0
        for vertex in layer:
            centres[vertex] = top + heights[vertex] / 2
            top += heights[vertex] + _ROW_GAP
    for sweep in range(_SWEEPS):
        side = sweep % 2
        for layer in order if side == 0 else reversed(order):
            wanted = [_wanted(vertex, neighbours[vertex][side], centres) for vertex in layer]
            weights = [_STRAIGHT if isinstance(vertex, tuple) else 1.0 for vertex in layer]
            distances = [(heights[one] + heights[other]) / 2 + _ROW_GAP for one, other in pairwise(layer)]
            centres.update(zip(layer, _nearest(wanted, weights, distances), strict=True))
    top = min((centres[vertex] - heights[vertex] / 2 for vertex in centres), default=0.0)
    return {vertex: centre - top for vertex, centre in centres.items()}


def _wanted(vertex: Vertex, others: Sequence[Vertex], centres: Mapping[Vertex, float]) -> float:
    return sum(centres[other] for other in others) / len(others) if others else centres[vertex]


def _nearest(wanted: Sequence[float], weights: Sequence[float], distances: Sequence[float]) -> list[float]:
    """Places as near as possible to those that are wanted, in order and with these distances at least.

    Without the distances this is isotonic regression: neighbours in the wrong order are pooled at their mean.
    """
    offsets = [0.0]
    for distance in distances:
        offsets.append(offsets[-1] + distance)
    pools: list[tuple[float, float, int]] = []
    for want, weight, offset in zip(wanted, weights, offsets, strict=False):
        mean, total, count = want - offset, weight, 1
        while pools and pools[-1][0] > mean:
            other, other_total, other_count = pools.pop()
            mean = (mean * total + other * other_total) / (total + other_total)
            total, count = total + other_total, count + other_count
        pools.append((mean, total, count))
    means = [mean for mean, _, count in pools for _ in range(count)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=False)]


# Columns


def _columns(
    order: list[list[Vertex]], sizes: Mapping[str, Size], gaps: Mapping[str, float]
) -> tuple[list[float], list[float], float]:
    """Left sides and widths of layers, and the width of all."""
    lefts, widths, left = [], [], 0.0
    for at, layer in enumerate(order):
        named = [vertex for vertex in layer if isinstance(vertex, str)]
        widths.append(max((sizes[vertex][0] for vertex in named), default=0.0))
        lefts.append(left)
        left += widths[-1]
        if at + 1 < len(order):
            left += max((gaps.get(vertex, _LEAST_GAP) for vertex in named), default=_LEAST_GAP)
    return lefts, widths, left

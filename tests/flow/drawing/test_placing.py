"""Layouts: nothing overlaps, lines run from left to right, whatever the graph is."""

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.flow.drawing.graph import Arrow, Box, Graph, Role, Style
from heliograph.flow.drawing.layering import layered
from heliograph.flow.drawing.placing import Rectangle, placed

SIZE = (100.0, 40.0)
TINY = 0.001


def layout(*edges: tuple[str, str], **more: frozenset[str]):
    vertices = {name: SIZE for edge in edges for name in edge}
    return layered(vertices, edges, {}, **more)


def test_a_vertex_is_right_of_the_farthest_that_leads_to_it() -> None:
    made = layout(("a", "b"), ("b", "c"), ("a", "c"))
    left = {name: corner[0] for name, corner in made.corners.items()}
    assert left["a"] < left["b"] < left["c"]


def test_an_edge_over_a_layer_gets_a_place_there() -> None:
    made = layout(("a", "b"), ("b", "c"), ("a", "c"))
    (one, other) = made.between[2]
    assert one[1] == other[1]
    top = made.corners["b"][1]
    assert not top < one[1] < top + SIZE[1]


def test_crossings_are_sorted_out() -> None:
    made = layout(("a", "y"), ("b", "x"), ("a", "z"), ("c", "x"))
    top = {name: corner[1] for name, corner in made.corners.items()}
    ends = sorted([("a", "y"), ("a", "z"), ("b", "x"), ("c", "x")], key=lambda edge: (top[edge[0]], top[edge[1]]))
    assert [top[target] for _, target in ends] == sorted(top[target] for _, target in ends)


def test_a_loop_runs_back_below() -> None:
    made = layout(("a", "b"), ("b", "c"), ("c", "b"))
    assert list(made.back) == [2]
    assert made.back[2] > max(corner[1] + SIZE[1] for corner in made.corners.values())


def test_a_chain_is_level() -> None:
    made = layout(("a", "b"), ("b", "c"), ("c", "d"))
    assert len({corner[1] for corner in made.corners.values()}) == 1


def test_who_is_to_stand_outermost_does() -> None:
    made = layout(("in", "a"), ("a", "b"), ("a", "out"), first=frozenset({"in"}), last=frozenset({"out"}))
    left = {name: corner[0] for name, corner in made.corners.items()}
    assert left["in"] < left["a"] < left["b"] < left["out"]


# -- any graph --------------------------------------------------------------------------------------------------------

NAMES = [*"abcdef", "s.a", "s.b", "s.c", "s.t.a", "s.t.b", "u.a", "u.b"]
TERMINALS = st.sampled_from(["out", "failure", "true"])
GRAPHS = st.lists(
    st.tuples(st.sampled_from(NAMES), TERMINALS, st.sampled_from(NAMES)), min_size=1, max_size=25, unique=True
)


def graph(arrows: list[tuple[str, str, str]]) -> Graph:
    names = dict.fromkeys(name for source, _, target in arrows for name in (source, target))
    return Graph(
        "any",
        [Box(name, "Compute", "x.esql", Role.WORK) for name in names],
        [Arrow(source, terminal, target, "in", Style.PLAIN) for source, terminal, target in arrows],
    )


def overlap(one: Rectangle, other: Rectangle) -> bool:
    return (
        one.x + TINY < other.x + other.width
        and other.x + TINY < one.x + one.width
        and one.y + TINY < other.y + other.height
        and other.y + TINY < one.y + one.height
    )


def inside(one: Rectangle, other: Rectangle) -> bool:
    return (
        other.x - TINY <= one.x
        and one.x + one.width <= other.x + other.width + TINY
        and other.y - TINY <= one.y
        and one.y + one.height <= other.y + other.height + TINY
    )


@settings(max_examples=150, deadline=None)
@given(GRAPHS)
def test_boxes_do_not_overlap_and_frames_hold_their_own_boxes_only(arrows: list[tuple[str, str, str]]) -> None:
    scene = placed(graph(arrows))
    for one, other in combinations(scene.boxes.values(), 2):
        assert not overlap(one, other)
    for frame, around in scene.frames.items():
        for name, box in scene.boxes.items():
            if name.startswith(f"{frame}."):
                assert inside(box, around)
            else:
                assert not overlap(box, around)
    whole = Rectangle(0.0, 0.0, scene.width, scene.height)
    assert all(inside(box, whole) for box in scene.boxes.values())


@settings(max_examples=150, deadline=None)
@given(GRAPHS)
def test_lines_begin_and_end_at_sides_of_boxes_and_frames_and_run_forward(arrows: list[tuple[str, str, str]]) -> None:
    scene = placed(graph(arrows))
    rectangles = [*scene.boxes.values(), *scene.frames.values()]
    rights = {round(each.x + each.width, 3) for each in rectangles}
    lefts = {round(each.x, 3) for each in rectangles}
    for line in scene.lines:
        (start, _), (end, _) = line.points[0], line.points[-1]
        assert round(start, 3) in rights | lefts
        assert round(end, 3) in lefts | rights
        if line.has_head:
            assert round(end, 3) in lefts
        if not line.runs_back:
            assert all(one[0] <= other[0] + 0.01 for one, other in zip(line.points, line.points[1:], strict=False))
        assert all(-20 < x <= scene.width + TINY and -TINY <= y <= scene.height + TINY for x, y in line.points)


@settings(max_examples=60, deadline=None)
@given(GRAPHS)
def test_level_pieces_of_lines_pass_no_box(arrows: list[tuple[str, str, str]]) -> None:
    scene = placed(graph(arrows))
    for line in scene.lines:
        for (x, y), (end, end_y) in zip(line.points, line.points[1:], strict=False):
            if abs(y - end_y) > 0.01 or line.runs_back:
                continue
            for box in scene.boxes.values():
                within = box.y < y < box.y + box.height and x < box.x + box.width - 0.01 and end > box.x + 0.01
                assert not within, (line, box)


def test_a_long_chain_does_not_exhaust_the_stack() -> None:
    edges = [(f"n{at}", f"n{at + 1}") for at in range(3000)]
    assert len(layout(*edges).corners) == 3001


@pytest.mark.parametrize(
    "arrows", [[("a", "out", "a")], [("s.a", "out", "s.a")], [("s.a", "out", "b"), ("b", "out", "s.a")]]
)
def test_loops_at_one_node_and_into_frames(arrows: list[tuple[str, str, str]]) -> None:
    assert any(line.runs_back for line in placed(graph(arrows)).lines)

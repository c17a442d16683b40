"""Charts: scales with round ends, histograms that lose nothing, and words for those who do not see them."""

import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.lab.report.charts.chart import (
    Axis,
    Bar,
    BarChart,
    Chart,
    IntervalChart,
    RatioInterval,
    Series,
    chart_table,
    shares,
    thinned,
)
from heliograph.lab.report.charts.drawing import HEIGHT, WIDTH, draw, draw_bars, draw_intervals
from heliograph.lab.report.charts.scale import scale_for

POSITIVE = st.floats(1e-6, 1e9)


@given(st.lists(POSITIVE, min_size=1), st.booleans())
def test_every_value_is_on_the_scale_and_ticks_are_few(values: list[float], logarithmic: bool) -> None:
    scale = scale_for(values, 0, 100, logarithmic=logarithmic, most=5)
    assert all(-1e-6 <= scale.place(value) <= 100.0001 for value in values)
    assert 1 <= len(scale.ticks(6)) <= 7


def test_ticks_are_round() -> None:
    assert scale_for([0, 97], 0, 1, logarithmic=False, most=5).ticks(5) == [0, 20, 40, 60, 80, 100]
    assert scale_for([3, 4000], 0, 1, logarithmic=True, most=5).ticks(6) == [10, 100, 1000]


@given(st.lists(st.tuples(POSITIVE, st.integers(1, 1000)), min_size=1))
def test_a_histogram_is_one_hundred_per_cent(buckets: list[tuple[float, float]]) -> None:
    assert sum(share for _, share in shares(buckets)) == pytest.approx(100)


def test_many_seconds_become_few_points_with_the_same_mean() -> None:
    points = thinned([(float(second), float(second % 7)) for second in range(3600)], most=180)
    assert len(points) == 180
    assert sum(y for _, y in points) / 180 == pytest.approx(3, abs=0.01)


def chart(*series: Series, **options: bool) -> Chart:
    return Chart("c", "A: <rate>", "rate", "How it went.", Axis("second"), Axis("rate", "rate"), series, **options)


def test_a_chart_says_what_it_is() -> None:
    root = ET.fromstring(draw(chart(Series("one", ((0, 1), (1, 3))))))
    assert root.attrib["role"] == "img"
    assert root.attrib["aria-labelledby"] == "c-title c-desc"
    assert [root.findtext("title"), root.findtext("desc")] == ["A: <rate>", "How it went."]


@pytest.mark.parametrize("steps", [False, True])
def test_marks_stay_inside(steps: bool) -> None:
    root = ET.fromstring(draw(chart(Series("one", tuple((float(n), n**3) for n in range(100))), steps=steps)))
    places = [
        tuple(map(float, pair.split(",")))
        for element in root.iter()
        if "points" in element.attrib
        for pair in element.attrib["points"].split()
    ]
    assert len(places) >= 100
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in places)


def test_a_single_point_is_seen() -> None:
    assert "<circle" in draw(chart(Series("one", ((5, 5),))))


def test_the_numbers_of_a_chart_are_a_table() -> None:
    table = chart_table(chart(Series("a", ((0, 1), (1, 2))), Series("b", ((1, 9),))))
    assert table.rows == ({"x": 0, "a": 1}, {"x": 1, "a": 2, "b": 9})


def test_bars_are_as_long_as_their_values() -> None:
    groups = (("one", (Bar("x", 2.0, 0),)), ("two", (Bar("x", 1.0, 0),)))
    root = ET.fromstring(draw_bars(BarChart("b", "t", "t", "d", Axis("cores"), groups, most=2.0)))
    long, short = (float(rect.attrib["width"]) for rect in root.iter("rect"))
    assert long == pytest.approx(2 * short, rel=0.01)


def test_intervals_are_on_the_side_of_one_that_they_belong_to() -> None:
    intervals = (RatioInterval("faster", 2.6, 2.4, 2.8, 0), RatioInterval("alike", 1.0, 0.9, 1.1, 5))
    root = ET.fromstring(
        draw_intervals(IntervalChart("i", "t", "t", "d", Axis("a / b", "ratio", logarithmic=True), intervals, ()))
    )
    same = float(next(root.iter("line")).attrib["x1"])
    faster, alike = ((float(rect.attrib["x"]), float(rect.attrib["width"])) for rect in root.iter("rect"))
    assert faster[0] > same
    assert alike[0] < same < alike[0] + alike[1]


def test_numbers_below_an_axis_do_not_touch() -> None:
    crowded = Chart(
        "c", "t", "t", "d", Axis("latency", "ms", logarithmic=True), Axis("share", "percent"),
        (Series("one", tuple((10**n, 1.0) for n in range(-3, 4))),),
    )  # fmt: skip
    root = ET.fromstring(draw(crowded))
    feet = [
        (float(text.attrib["x"]), len(text.text or ""))
        for text in root.iter("text")
        if text.attrib["class"] == "tick" and text.attrib["text-anchor"] == "middle"
    ]
    assert len(feet) >= 3
    assert all(right - left >= 3 * (one + other) for (left, one), (right, other) in pairwise(feet))

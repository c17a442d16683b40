"""Metrics as Prometheus reads them."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.server.http.metrics import Metric, lines_for_prometheus


def test_a_metric_has_help_type_and_value() -> None:
    assert "".join(lines_for_prometheus([Metric("helio_connections", "gauge", "Open connections.", 3)])) == (
        "# HELP helio_connections Open connections.\n# TYPE helio_connections gauge\nhelio_connections 3\n"
    )


def test_a_metric_may_have_a_value_for_each_set_of_labels() -> None:
    metric = Metric(
        "m_total", "counter", "", [({"listener": "tcp", "qos": "0"}, 1), ({"listener": "ws", "qos": "1"}, 2)]
    )
    assert "".join(lines_for_prometheus([metric])).splitlines()[2:] == [
        'm_total{listener="tcp",qos="0"} 1',
        'm_total{listener="ws",qos="1"} 2',
    ]


def test_a_metric_without_any_value_yet_is_still_announced() -> None:
    assert "".join(lines_for_prometheus([Metric("m", "gauge", "h", [])])) == "# HELP m h\n# TYPE m gauge\n"


@pytest.mark.parametrize(
    ("value", "text"), [(0.5, "0.5"), (1e300, "1e+300"), (math.nan, "NaN"), (math.inf, "+Inf"), (-math.inf, "-Inf")]
)
def test_numbers_are_written_as_prometheus_reads_them(value: float, text: str) -> None:
    assert "".join(lines_for_prometheus([Metric("m", "gauge", "", value)])).splitlines()[2] == f"m {text}"


def unescape(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: "\n" if match[1] == "n" else match[1], text)


@given(st.text(), st.text())
def test_any_text_can_be_help_or_the_value_of_a_label(help_text: str, label: str) -> None:
    page = "".join(lines_for_prometheus([Metric("m", "gauge", help_text, [({"label": label}, 1)])]))
    help_line, _, sample, end = page.split("\n")
    assert unescape(help_line.removeprefix("# HELP m ")) == help_text
    inner = re.fullmatch(r'm\{label="((?:[^"\\]|\\["\\n])*)"\} 1', sample)
    assert inner is not None
    assert unescape(inner[1]) == label
    assert end == ""


@pytest.mark.parametrize(("name", "kind"), [("m", "counter"), ("m_total", "gauge"), ("1m", "gauge"), ("a-b", "gauge")])
def test_a_name_that_prometheus_would_misread_is_refused(name: str, kind: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        Metric(name, kind, "", 1)


@pytest.mark.parametrize("label", ["", "1", "a-b", "__reserved"])
def test_a_label_that_prometheus_would_misread_is_refused(label: str) -> None:
    with pytest.raises(ValueError, match="in a label of m"):
        Metric("m", "gauge", "", [({label: "x"}, 1)])


def test_a_metric_given_twice_is_refused() -> None:
    metric = Metric("m", "gauge", "", 1)
    with pytest.raises(ValueError, match="found m again"):
        list(lines_for_prometheus([metric, metric]))

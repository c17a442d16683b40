"""The published figures: all there, and right by their own arithmetic."""

import pytest

from heliograph.lab.flows.flow_cases import cases
from heliograph.lab.flows.published_rows import published_rows

PROCESSORS = 4


@pytest.mark.parametrize("row", published_rows(), ids=lambda row: f"{row.section}-{row.size}-{row.persistent}")
def test_cpu_time_per_message_follows_from_rate_and_load(row):
    busy_ms = row.cpu_percent / 100 * PROCESSORS * 1000
    assert row.cpu_ms == pytest.approx(busy_ms / row.rate, rel=0.02)


def test_every_section_is_measured():
    assert {row.section for row in published_rows()} == {case.section for case in cases()}


def test_no_row_is_there_twice():
    rows = [(row.section, row.size, row.persistent) for row in published_rows()]
    assert len(rows) == len(set(rows)) == 206

"""The page in a real browser: on a desktop, a phone, in the dark, and on paper."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from heliograph.lab.report import write_report
from lab.report import synthetic
from lab.report.browser import Tab, browser

SECTIONS = [
    "summary",
    "score-card",
    "requests",
    "flows",
    "comparison",
    "scenarios",
    "latencies",
    "costs",
    "bottlenecks",
    "outliers",
    "health",
    "systems",
    "configuration",
    "repeat",
    "limitations",
]
PHONE = 375
A4 = (595, 842)  # points
PAPER = 703  # A4 without its margins, in CSS pixels

# Elements that reach beyond the right edge, but not those inside something that scrolls by itself.
WIDER = """
    [...document.querySelectorAll('body *')]
      .filter(e => e.getBoundingClientRect().right > innerWidth + 0.5 && !e.closest('.scroll, pre, .unseen, thead'))
      .map(e => e.tagName + ' ' + e.className + ' ' + e.textContent.slice(0, 30))
"""
# Of every chart: the size of its marks together, and whether they are inside of it.
CHARTS = """
    [...document.querySelectorAll('.chart')].map(chart => {
      const svg = chart.querySelector(':scope > svg'), frame = svg.getBoundingClientRect();
      const marks = [...svg.querySelectorAll('.mark')].map(mark => mark.getBoundingClientRect());
      return {
        name: chart.id,
        width: frame.width,
        marks: marks.filter(mark => mark.width >= 1 && mark.height >= 1).length,
        inside: marks.every(mark => mark.left >= frame.left - 2 && mark.right <= frame.right + 2
          && mark.top >= frame.top - 2 && mark.bottom <= frame.bottom + 2),
        rows: chart.querySelectorAll('details tbody tr').length,
        words: svg.querySelector('title').textContent.length * svg.querySelector('desc').textContent.length,
      };
    })
"""
TEXT_SIZES = "[...document.querySelectorAll('svg text')].map(text => text.getBoundingClientRect().height)"
# Luminance of a colour as WCAG has it, for contrast between text and what is behind it.
CONTRAST = """
    (() => {
      const light = colour => {
        const [r, g, b] = colour.match(/[0-9.]+/g).map(Number)
          .map(v => v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const paper = light(getComputedStyle(document.documentElement).backgroundColor);
      const against = colour => (Math.max(light(colour), paper) + 0.05) / (Math.min(light(colour), paper) + 0.05);
      const of = (selector, property) => against(getComputedStyle(document.querySelector(selector))[property]);
      return {
        paper,
        text: of('main p', 'color'), note: of('.note', 'color'), link: of('nav a', 'color'),
        tick: of('svg .tick', 'fill'), first: of('svg .line.s0', 'stroke'), second: of('svg .line.s1', 'stroke'),
      };
    })()
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of all synthetic runs."""
    (file,) = write_report(synthetic.write(tmp_path_factory.mktemp("results")), ["html"])
    return file


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    """A tab of a browser, for all tests: it takes its time to start."""
    with browser(tmp_path_factory.mktemp("profile")) as found:
        yield found


def test_all_sections_are_there_and_can_be_reached(tab: Tab, page: Path) -> None:
    tab.open(page, width=1280)
    assert tab.ask("[...document.querySelectorAll('main > section')].map(section => section.id)") == SECTIONS
    assert tab.ask("[...document.querySelectorAll('header nav a')].map(link => link.hash.slice(1))") == SECTIONS
    heights = tab.ask("[...document.querySelectorAll('main > section')].map(s => s.getBoundingClientRect().height)")
    assert min(heights) > 80


@pytest.mark.parametrize("width", [PHONE, 768, 1280])
def test_nothing_is_wider_than_the_screen(tab: Tab, page: Path, width: int) -> None:
    tab.open(page, width=width, height=800)
    assert tab.ask("document.documentElement.scrollWidth") == width
    assert tab.ask(WIDER) == []


def test_rows_are_cards_with_labels_on_a_phone(tab: Tab, page: Path) -> None:
    cell = "document.querySelector('#table-score_card td.number')"
    label = f"getComputedStyle({cell}, '::before').content"
    tab.open(page, width=1280)
    assert tab.ask(label) == "none"
    tab.open(page, width=PHONE)
    assert tab.ask(label) == '"Value"'
    assert tab.ask("document.querySelector('#table-score_card').scrollWidth") <= PHONE
    # A row is still a row for a screen reader, although it is no longer laid out as one.
    assert tab.ask(f"{cell}.closest('tr').getAttribute('role')") == "row"


@pytest.mark.parametrize("width", [PHONE, 1280])
def test_charts_have_marks_that_can_be_seen_and_numbers(tab: Tab, page: Path, width: int) -> None:
    tab.open(page, width=width)
    charts: list[dict[str, Any]] = tab.ask(CHARTS)
    names = " ".join(chart["name"] for chart in charts)
    assert all(kind in names for kind in ("throughput-clients", "fan-out-curve", "distribution", "rate", "cpu"))
    for chart in charts:
        assert chart["marks"], chart
        assert chart["inside"], chart
        assert chart["rows"], chart
        assert chart["words"], chart
        assert 280 <= chart["width"] <= width, chart
    assert min(tab.ask(TEXT_SIZES)) >= 10


@pytest.mark.parametrize("dark", [False, True])
def test_colours_follow_the_system_and_can_be_read(tab: Tab, page: Path, dark: bool) -> None:
    tab.open(page, width=1280, dark=dark)
    contrast = tab.ask(CONTRAST)
    assert (contrast["paper"] < 0.05) == dark
    assert min(contrast[name] for name in ("text", "note", "link", "tick")) >= 4.5
    assert min(contrast[name] for name in ("first", "second")) >= 3


def test_paper_is_white_and_tables_are_not_cut(tab: Tab, page: Path, tmp_path: Path) -> None:
    tab.open(page, width=PAPER, dark=True)
    tab.show_as_printed(PAPER)
    assert tab.ask(CONTRAST)["paper"] == 1
    assert tab.ask("getComputedStyle(document.querySelector('nav')).display") == "none"
    tables = "[...document.querySelectorAll('table.cards')]"
    wide = f"{tables}.filter(t => t.getBoundingClientRect().right > innerWidth + 0.5).map(t => t.id)"
    assert tab.ask(wide) == []
    assert tab.ask("getComputedStyle(document.querySelector('tbody tr')).breakInside") == "avoid"
    tab.print(tmp_path / "report.pdf")
    pdf = (tmp_path / "report.pdf").read_bytes()
    assert pdf.startswith(b"%PDF")
    sheets = re.findall(rb"/MediaBox \[0 0 ([0-9.]+) ([0-9.]+)\]", pdf)
    assert {(round(float(width)), round(float(height))) for width, height in sheets} == {A4}

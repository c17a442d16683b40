"""Writes a report as one HTML page that needs nothing else: no network, no scripts, style and charts in the page."""

from collections.abc import Iterable
from html import escape
from pathlib import Path

from heliograph.lab.report.charts.bars import draw_bars
from heliograph.lab.report.charts.chart import AnyChart, BarChart, Chart, IntervalChart
from heliograph.lab.report.charts.data import chart_table
from heliograph.lab.report.charts.drawing import COLOURS, draw
from heliograph.lab.report.charts.intervals import draw_intervals
from heliograph.lab.report.document import Report, Section
from heliograph.lab.report.html_table import table_html

_STYLE = Path(__file__).with_name("page.css")


def page(report: Report) -> str:
    """The page as text."""
    body = "\n".join(_section(section, 2) for section in report.sections)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(report.title)}: {escape(report.subtitle)}</title>
<style>
{_STYLE.read_text(encoding="utf-8")}</style>
</head>
<body>
<header>
<h1>{escape(report.title)}</h1>
<p>{escape(report.subtitle)}</p>
<nav aria-label="Contents"><ul>{_links(report.sections)}</ul></nav>
</header>
<main>
{body}
</main>
</body>
</html>
"""


def _section(section: Section, level: int) -> str:
    inside = "\n".join(_inside(section, level))
    return (
        f'<section id="{section.name}" aria-labelledby="{section.name}-heading">\n'
        f'<h{level} id="{section.name}-heading">{escape(section.title)}</h{level}>\n{inside}\n</section>'
    )


def _inside(section: Section, level: int) -> Iterable[str]:
    yield from (f"<p>{escape(text)}</p>" for text in section.paragraphs)
    if section.points:
        yield "<ul>" + "".join(f"<li>{escape(point)}</li>" for point in section.points) + "</ul>"
    if section.commands:
        yield f'<pre tabindex="0" aria-label="Commands">{"".join(map(_command, section.commands))}</pre>'
    if section.charts:
        yield f'<div class="charts">{"".join(_chart(chart) for chart in section.charts)}</div>'
    # A table that is called what its section is called needs no second heading.
    yield from (table_html(table, hidden=table.title == section.title) for table in section.tables)
    if section.parts:
        yield f'<nav aria-label="{escape(section.title)}"><ul>{_links(section.parts)}</ul></nav>'
    yield from (_section(part, level + 1) for part in section.parts)


def _command(line: str) -> str:
    """A line for a shell; where it is too long it breaks between words, never inside an option."""
    return "<code>" + " ".join(f"<span>{escape(word)}</span>" for word in line.split(" ")) + "</code>"


def _links(sections: Iterable[Section]) -> str:
    return "".join(f'<li><a href="#{section.name}">{escape(section.title)}</a></li>' for section in sections)


def _chart(chart: AnyChart) -> str:
    numbers = table_html(chart_table(chart), hidden=True, plain=True)
    scale = f'<p class="axis-name">{escape(chart.y.title)}</p>' if isinstance(chart, Chart) else ""
    return (
        f'<figure class="chart" id="{chart.name}"><figcaption>{escape(chart.caption)}</figcaption>'
        f"{_legend(chart)}{scale}{_drawn(chart)}<details><summary>Numbers</summary>{numbers}</details></figure>\n"
    )


def _drawn(chart: AnyChart) -> str:
    if isinstance(chart, IntervalChart):
        return draw_intervals(chart)
    return draw_bars(chart) if isinstance(chart, BarChart) else draw(chart)


def _legend(chart: AnyChart) -> str:
    keys = "".join(
        f'<li><svg class="key" viewBox="0 0 18 10" aria-hidden="true"><line class="line s{colour % COLOURS}'
        f'{" dashed" if dashed else ""}" x1="0" x2="18" y1="5" y2="5"/></svg>{escape(name)}</li>'
        for name, (colour, dashed) in _names(chart).items()
    )
    return f'<ul class="legend">{keys}</ul>'


def _names(chart: AnyChart) -> dict[str, tuple[int, bool]]:
    """What the colours of a chart stand for, and whether lines of it are dashed."""
    if isinstance(chart, IntervalChart):
        return {name: (colour, False) for name, colour in chart.keys}
    if isinstance(chart, BarChart):
        return {bar.series: (bar.colour, False) for _, bars in chart.groups for bar in bars}
    return {series.name: (series.colour, series.dashed) for series in chart.series}

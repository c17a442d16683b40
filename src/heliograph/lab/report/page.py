"""Writes a report as one HTML page without scripts and links to other files: style and charts are in the page.

On a narrow screen the style turns rows of tables into cards, so every cell carries its label. Cards are no tables any
more to a browser: ARIA roles are written out, so that a screen reader still announces rows and columns.
"""

import re
from collections.abc import Iterable
from html import escape
from itertools import chain, groupby, pairwise
from pathlib import Path

from heliograph.lab.report.charts.chart import AnyChart, BarChart, Chart, IntervalChart, chart_table
from heliograph.lab.report.charts.drawing import COLOURS, draw, draw_bars, draw_intervals
from heliograph.lab.report.document import Report, Section
from heliograph.lab.report.table import NOTHING, Column, Table, TableRow, text

_STYLE = Path(__file__).with_name("page.css")


def table_html(table: Table, *, hidden: bool = False, plain: bool = False) -> str:
    """The table, or the sentence that says why there is none.

    `hidden` keeps its title for those who listen only; a `plain` one stays a table on narrow screens.
    """
    if not table.rows:
        return f'<p class="otherwise">{escape(table.otherwise)}</p>'
    columns = table.filled
    caption = f'<caption class="{"unseen" if hidden else "seen"}">{escape(table.title)}</caption>'
    heads = "".join(
        f'<th role="columnheader" scope="col"{_right(column)}>{_breakable(column.heading)}</th>' for column in columns
    )
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in (table.omitted, table.note) if note)
    style = "plain" if plain else "cards"
    return (
        f'<div class="scroll" tabindex="0" role="group" aria-label="{escape(table.title)}">'
        f'<table role="table" class="{style}" id="table-{table.name}">{caption}'
        f'<thead role="rowgroup"><tr role="row">{heads}</tr></thead>'
        f"{''.join(_bodies(table, columns))}</table></div>{notes}"
    )


def _breakable(heading: str) -> str:
    """A name that may go on in the next line after a slash or a dot: columns are narrower than some names."""
    return re.sub(r"([/.])(?=\w{2})", r"\1<wbr>", escape(heading))


def _bodies(table: Table, columns: tuple[Column, ...]) -> Iterable[str]:
    if not table.group:
        yield f'<tbody role="rowgroup">{_lines(table.shown, columns)}</tbody>\n'
        return
    for group, rows in groupby(table.shown, key=lambda row: row[table.group]):
        head = f'<th role="rowheader" scope="rowgroup" colspan="{len(columns)}">{escape(str(group))}</th>'
        yield f'<tbody role="rowgroup"><tr role="row" class="group">{head}</tr>{_lines(list(rows), columns)}</tbody>\n'


def _lines(rows: Iterable[TableRow], columns: tuple[Column, ...]) -> str:
    return "\n".join(
        f'<tr role="row">{_cells(row, columns, before)}</tr>' for before, row in pairwise(chain([{}], rows))
    )


def _cells(row: TableRow, columns: tuple[Column, ...], before: TableRow) -> str:
    first, *others = columns
    again = all(row.get(key) == before.get(key) for key in (first.key, first.detail))
    # What the row above says of the same thing need not be said twice.
    detail = row.get(first.detail) if first.detail and not again else None
    content = _breakable(text(row.get(first.key), first.kind)) + _small(detail)
    head = f'<th role="rowheader" scope="row"{_right(first)}>{content}</th>'
    return head + "".join(
        f'<td role="cell" data-label="{escape(column.heading)}"{_style(row, column)}>{_content(row, column)}</td>'
        for column in others
    )


def _content(row: TableRow, column: Column) -> str:
    return escape(text(row.get(column.key), column.kind)) + _small(row.get(column.detail) if column.detail else None)


def _small(detail: object) -> str:
    return f"<small>{escape(str(detail))}</small>" if detail else ""


def _style(row: TableRow, column: Column) -> str:
    """A cell without a value is left out of a card."""
    names = (
        ["number"] * column.is_number
        + ["lines"] * (column.kind == "lines")
        + ["nothing"] * (text(row.get(column.key), column.kind) == NOTHING)
    )
    return f' class="{" ".join(names)}"' if names else ""


def _right(column: Column) -> str:
    return ' class="number"' if column.is_number else ""


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

"""Writes a report as CSV (exact values, a file for each table), JSON and Markdown."""

import csv
import json
import math
from collections.abc import Iterable
from datetime import datetime
from io import StringIO
from typing import Any

from heliograph.lab.report.charts.chart import chart_table
from heliograph.lab.report.document import Report, Section
from heliograph.lab.report.table import Column, Table, TableRow, text


def csv_files(report: Report) -> Iterable[tuple[str, str]]:
    """Names and contents of files: every table that has rows, and the numbers of every chart."""
    for table in report.tables:
        if table.rows:
            yield f"{table.name}.csv", _csv(table)
    for chart in report.charts:
        yield f"charts/{chart.name}.csv", _csv(chart_table(chart))


def _csv(table: Table) -> str:
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.keys)
    writer.writerows([_exact(row.get(key)) for key in table.keys] for row in table.rows)
    return out.getvalue()


def as_json(report: Report) -> str:
    """The report as one object, sections by name."""
    said = {
        "title": report.title,
        "subtitle": report.subtitle,
        "sections": [_section_data(section) for section in report.sections],
    }
    return json.dumps(said, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _section_data(section: Section) -> dict[str, Any]:
    charts = [chart_table(chart) for chart in section.charts]
    said = {
        "name": section.name,
        "title": section.title,
        "paragraphs": section.paragraphs,
        "points": section.points,
        "commands": section.commands,
        "tables": [_table_data(table) for table in section.tables],
        "charts": [_table_data(table) for table in charts],
        "parts": [_section_data(part) for part in section.parts],
    }
    return {key: value for key, value in said.items() if value}


def _table_data(table: Table) -> dict[str, Any]:
    said: dict[str, Any] = {"name": table.name, "title": table.title, "note": table.note}
    if not table.rows:
        said["otherwise"] = table.otherwise
    said["columns"] = {column.key: {"title": column.heading, "kind": column.kind} for column in table.columns}
    said["rows"] = [{key: _exact(row.get(key)) for key in table.keys} for row in table.rows]
    return said


def _exact(value: Any) -> Any:
    """A value that JSON knows; what is no number is nothing."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value.isoformat() if isinstance(value, datetime) else value


def markdown(report: Report) -> str:
    """The report as text."""
    parts = [f"# {report.title}", report.subtitle]
    for section in report.sections:
        parts += _section(section, 2)
    return "\n\n".join(parts) + "\n"


def _section(section: Section, level: int) -> Iterable[str]:
    yield f"{'#' * level} {section.title}"
    yield from section.paragraphs
    if section.points:
        yield "\n".join(f"- {point}" for point in section.points)
    if section.commands:
        yield "\n".join(["```sh", *section.commands, "```"])
    for table in section.tables:
        if table.title != section.title:
            yield f"**{table.title}**"
        yield from _table(table)
    for part in section.parts:
        yield from _section(part, level + 1)


def _table(table: Table) -> Iterable[str]:
    if not table.rows:
        yield table.otherwise
        return
    columns = table.filled
    grouped = (Column(table.group, table.group.capitalize()),) if table.group else ()
    every = grouped + tuple(one for column in columns for one in _split(column))
    lines = [
        _line(column.heading for column in every),
        _line("---:" if column.is_number else "---" for column in every),
    ]
    lines += [_line(_cell(row, column) for column in every) for row in table.shown]
    yield "\n".join(lines)
    yield from (note for note in (table.omitted, table.note) if note)


def _split(column: Column) -> tuple[Column, ...]:
    """A cell has one line in Markdown, so the detail gets a column of its own."""
    if not column.detail:
        return (column,)
    return column, Column(column.detail, column.detail.replace("_", " ").capitalize())


def _cell(row: TableRow, column: Column) -> str:
    return text(row.get(column.key), column.kind).replace("|", "\\|").replace("\n", "<br>")


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"

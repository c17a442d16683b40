"""Writes a report for programs: exact values as CSV, a file for each table, and as one JSON object."""

import csv
import json
import math
from collections.abc import Iterable
from datetime import datetime
from io import StringIO
from typing import Any

from heliograph.lab.report.charts.data import chart_table
from heliograph.lab.report.document import Report, Section
from heliograph.lab.report.table import Table


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
        "sections": [_section(section) for section in report.sections],
    }
    return json.dumps(said, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _section(section: Section) -> dict[str, Any]:
    charts = [chart_table(chart) for chart in section.charts]
    said = {
        "name": section.name,
        "title": section.title,
        "paragraphs": section.paragraphs,
        "points": section.points,
        "commands": section.commands,
        "tables": [_table(table) for table in section.tables],
        "charts": [_table(table) for table in charts],
        "parts": [_section(part) for part in section.parts],
    }
    return {key: value for key, value in said.items() if value}


def _table(table: Table) -> dict[str, Any]:
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

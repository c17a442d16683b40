"""Writes a report as Markdown: sentences and tables; charts are in the page, their numbers in CSV and JSON."""

from collections.abc import Iterable

from heliograph.lab.report.document import Report, Section
from heliograph.lab.report.figures import text
from heliograph.lab.report.table import Column, Row, Table


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


def _cell(row: Row, column: Column) -> str:
    return text(row.get(column.key), column.kind).replace("|", "\\|").replace("\n", "<br>")


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"

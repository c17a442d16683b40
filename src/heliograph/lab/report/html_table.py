"""Writes tables as HTML. On a narrow screen the style turns rows into cards, so every cell carries its label.

Cards are no tables any more to a browser: the roles are written out, so that a screen reader still tells of rows and
columns.
"""

import re
from collections.abc import Iterable
from html import escape
from itertools import chain, groupby, pairwise

from heliograph.lab.report.figures import NOTHING, text
from heliograph.lab.report.table import Column, Row, Table


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


def _lines(rows: Iterable[Row], columns: tuple[Column, ...]) -> str:
    return "\n".join(
        f'<tr role="row">{_cells(row, columns, before)}</tr>' for before, row in pairwise(chain([{}], rows))
    )


def _cells(row: Row, columns: tuple[Column, ...], before: Row) -> str:
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


def _content(row: Row, column: Column) -> str:
    return escape(text(row.get(column.key), column.kind)) + _small(row.get(column.detail) if column.detail else None)


def _small(detail: object) -> str:
    return f"<small>{escape(str(detail))}</small>" if detail else ""


def _style(row: Row, column: Column) -> str:
    """A cell without a value is left out of a card."""
    names = (
        ["number"] * column.is_number
        + ["lines"] * (column.kind == "lines")
        + ["nothing"] * (text(row.get(column.key), column.kind) == NOTHING)
    )
    return f' class="{" ".join(names)}"' if names else ""


def _right(column: Column) -> str:
    return ' class="number"' if column.is_number else ""

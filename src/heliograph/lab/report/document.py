"""A report before it is written in any format: sections with sentences, tables and charts."""

from dataclasses import dataclass

from heliograph.lab.report.charts.chart import AnyChart
from heliograph.lab.report.table import Table


@dataclass(frozen=True)
class Section:
    """One part of a report. `points` are sentences of a list, `commands` are lines for a shell."""

    name: str
    title: str
    paragraphs: tuple[str, ...] = ()
    points: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    charts: tuple[AnyChart, ...] = ()
    parts: tuple["Section", ...] = ()

    @property
    def every_table(self) -> tuple[Table, ...]:
        """The tables of this section and of its parts."""
        return self.tables + tuple(table for part in self.parts for table in part.every_table)

    @property
    def every_chart(self) -> tuple[AnyChart, ...]:
        """The charts of this section and of its parts."""
        return self.charts + tuple(chart for part in self.parts for chart in part.every_chart)


@dataclass(frozen=True)
class Report:
    """All that is said of one folder of results."""

    title: str
    subtitle: str
    sections: tuple[Section, ...]

    @property
    def tables(self) -> tuple[Table, ...]:
        """Every table, in order."""
        return tuple(table for section in self.sections for table in section.every_table)

    @property
    def charts(self) -> tuple[AnyChart, ...]:
        """Every chart, in order."""
        return tuple(chart for section in self.sections for chart in section.every_chart)

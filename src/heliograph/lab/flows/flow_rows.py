"""Rows of the report: a published figure, and what was measured of the same flow here."""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from heliograph.errors import Problem
from heliograph.lab.errors import UnknownCase
from heliograph.lab.flows import end_to_end, in_memory, postgresql
from heliograph.lab.flows.end_to_end import CaseSite, EndToEnd, Workers
from heliograph.lab.flows.flow_cases import FlowCase, Storage, cases
from heliograph.lab.flows.in_memory import InMemory
from heliograph.lab.flows.published_rows import PublishedRow, published_rows
from heliograph.lab.machine import Cores, work_folder

_UNKNOWN_US = 2000.0
"""What a flow is taken to need that cannot run in memory."""


@dataclass(frozen=True, slots=True)
class FlowEffort:
    """How much to measure."""

    memory_seconds: float
    run_seconds: float
    quick: bool = False


FULL = FlowEffort(memory_seconds=0.2, run_seconds=1.0)
QUICK = FlowEffort(memory_seconds=0.1, run_seconds=0.4, quick=True)


@dataclass(frozen=True, slots=True)
class FlowRow:
    """One row of the published report."""

    case: FlowCase
    published: PublishedRow
    memory: InMemory | None = None
    run: EndToEnd | None = None
    error: str = ""

    @property
    def times_rate(self) -> float | None:
        """How many times the published rate ours is."""
        return None if self.run is None else self.run.rate / self.published.rate

    @property
    def times_cpu(self) -> float | None:
        """How many times less CPU time than published ours takes."""
        return None if self.run is None or not self.run.cpu_ms else self.published.cpu_ms / self.run.cpu_ms


def chosen_cases(patterns: Sequence[str]) -> list[FlowCase]:
    """Those whose section or name fits one of the patterns; all, if there is none."""
    chosen = [
        case
        for case in cases()
        if not patterns
        or any(fnmatchcase(case.section, pattern) or fnmatchcase(case.name, pattern) for pattern in patterns)
    ]
    if not chosen:
        raise UnknownCase(f"no case fits {', '.join(patterns)}; --list shows all")
    return chosen


def rows_of(case: FlowCase, *, quick: bool) -> list[PublishedRow]:
    """The published rows of a case: all, or (quick) the smallest, and one persistent in each section."""
    mine = [row for row in published_rows() if row.section == case.section]
    if not quick:
        return mine
    plain = [row for row in mine if not row.persistent][:1]
    first_of_section = case.section.split(".")[2:] in ([], ["1"], ["1", "1"])
    return plain + [row for row in mine if row.persistent][:1] if first_of_section else plain


def measure_all(chosen: Sequence[FlowCase], cores: Cores, effort: FlowEffort) -> Iterator[FlowRow]:
    """Measure case after case, row after row. What fails is a row with an error, and the next one is measured."""
    known: dict[tuple[str, int], InMemory] = {}
    with tempfile.TemporaryDirectory(prefix="helio-flows-", dir=work_folder()) as folder:
        workers = Workers(Path(folder), cores)
        try:
            for case in chosen:
                yield from _measure(case, workers, cores, effort, known)
        finally:
            workers.close()


def _measure(
    case: FlowCase, workers: Workers, cores: Cores, effort: FlowEffort, known: dict[tuple[str, int], InMemory]
) -> Iterator[FlowRow]:
    published = rows_of(case, quick=effort.quick)
    if case.storage is Storage.POSTGRESQL and not postgresql.is_installed():
        yield from (FlowRow(case, row, error=postgresql.MISSING) for row in published)
        return
    left = list(published)
    try:
        with end_to_end.case_site(case, workers, cores) as site:
            while left:
                row = left[0]
                memory = _in_memory(case, row, effort, known)
                yield _run(case, row, memory, site, effort)
                left.pop(0)
    except Problem as problem:
        workers.close()  # whatever they do now; the next case gets new ones
        yield from (FlowRow(case, row, error=str(problem)) for row in left)


def _run(case: FlowCase, row: PublishedRow, memory: InMemory | None, site: CaseSite, effort: FlowEffort) -> FlowRow:
    cost = _UNKNOWN_US if memory is None else memory.flow
    messages = end_to_end.how_many(case, row, cost, effort.run_seconds)
    run = site.measure(row, messages)
    return FlowRow(case, row, None if row.persistent else memory, run)


def _in_memory(
    case: FlowCase, row: PublishedRow, effort: FlowEffort, known: dict[tuple[str, int], InMemory]
) -> InMemory | None:
    """Persistence makes no difference in memory, nor does the number of subscribers or instances."""
    if not in_memory.can_run(case):
        return None
    key = (case.alike or case.section, row.size)
    if key not in known:
        known[key] = in_memory.measure(case, row.size, effort.memory_seconds)
    return known[key]

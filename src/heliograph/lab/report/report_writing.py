"""Builds the report of a folder of results, and writes it in the formats that are asked for."""

from collections.abc import Sequence
from pathlib import Path

from heliograph.lab.errors import InvalidResults
from heliograph.lab.report.document import Report
from heliograph.lab.report.exports import as_json, csv_files, markdown
from heliograph.lab.report.page import page
from heliograph.lab.report.parts.comparison import comparison
from heliograph.lab.report.parts.costs import bottlenecks, costs
from heliograph.lab.report.parts.details import details
from heliograph.lab.report.parts.health import health, outliers
from heliograph.lab.report.parts.limitations import limitations
from heliograph.lab.report.parts.repeating import repeating
from heliograph.lab.report.parts.scores import TYPES, latencies, nodes, responders, score_card
from heliograph.lab.report.parts.summary import summary
from heliograph.lab.report.parts.systems import configuration, systems
from heliograph.lab.report.reference import CATALOGUED, ReferenceData
from heliograph.lab.report.report_cases import ReportCase, cases
from heliograph.lab.report.results import Results

FORMATS = ("html", "csv", "md", "json")


def build_report(results: Results) -> Report:
    """The report of these results."""
    found = sorted(cases(results), key=lambda case: _place(results, case))
    sections = (
        summary(results, found),
        score_card(results, found),
        responders(results, found),
        nodes(results, found),
        comparison(results, found),
        details(results, found, _colours(found)),
        latencies(results, found),
        costs(results, found),
        bottlenecks(results, found),
        outliers(results, found),
        health(results, found),
        systems(results, found),
        configuration(found),
        repeating(results, found),
        limitations(found),
    )
    return Report("Lab report", _subtitle(results, found), sections)


def _place(results: Results, case: ReportCase) -> tuple[object, ...]:
    """Scenarios by type, then as in the catalogue; targets of one scenario stay in their order."""
    run = case.run
    kind = TYPES.index(run.type) if run.type in TYPES else len(TYPES)
    return kind, results.known.place(run.scenario, run.variant), run.scenario, run.variant, run.scale


def _colours(found: list[ReportCase]) -> dict[str, int]:
    """A colour for each target, the same in all charts."""
    return {target: number for number, target in enumerate(dict.fromkeys(case.run.target for case in found))}


def _subtitle(results: Results, found: list[ReportCase]) -> str:
    named = [f"{run.target} {run.target_version}".strip() for run in (case.run for case in found)]
    return f"{', '.join(dict.fromkeys(named))} · {results.runs[-1].started:%d %B %Y}"


def write_report(directory: Path, formats: Sequence[str] = FORMATS, known: ReferenceData = CATALOGUED) -> list[Path]:
    """Read the runs and scores of this folder, and write `DIR/report/`; the files (for CSV the folder) that were made.

    The scores must be there already; where a table is missing, the report says so.
    """
    unknown = [name for name in formats if name not in FORMATS]
    if unknown:
        raise InvalidResults(f"unknown format {unknown[0]!r}: expected any of {', '.join(FORMATS)}")
    report = build_report(Results.read(directory, known))
    return [_write(report, directory / "report", name) for name in dict.fromkeys(formats)]


def _write(report: Report, folder: Path, name: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    if name == "csv":
        return _write_csv(report, folder / "csv")
    texts = {"html": page, "md": markdown, "json": as_json}
    file = folder / f"report.{name}"
    file.write_text(texts[name](report), encoding="utf-8")
    return file


def _write_csv(report: Report, folder: Path) -> Path:
    """Files of an older report would tell of runs that are not in this one, so they go first."""
    for old in (*folder.glob("*.csv"), *folder.glob("charts/*.csv")):
        old.unlink()
    (folder / "charts").mkdir(parents=True, exist_ok=True)
    for name, content in csv_files(report):
        (folder / name).write_text(content, encoding="utf-8")
    return folder

"""Writes a report of a folder of results, in the formats that are asked for."""

from collections.abc import Sequence
from pathlib import Path

from heliograph.lab.errors import InvalidResults
from heliograph.lab.report.building import build_report
from heliograph.lab.report.catalogued import CATALOGUED
from heliograph.lab.report.data import as_json, csv_files
from heliograph.lab.report.document import Report
from heliograph.lab.report.known import Known
from heliograph.lab.report.markdown import markdown
from heliograph.lab.report.page import page
from heliograph.lab.report.results import Results

FORMATS = ("html", "csv", "md", "json")


def write_report(directory: Path, formats: Sequence[str] = FORMATS, known: Known = CATALOGUED) -> list[Path]:
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

"""Writes a report of a folder of results, in the formats that are asked for."""

from collections.abc import Sequence
from pathlib import Path

FORMATS = ("html", "csv", "md", "json")


def write_report(directory: Path, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Read the runs and scores of this folder, and write `DIR/report/`; the files (for CSV the folder) that were made.

    The scores must be there already; where a table is missing, the report says so.
    """
    raise NotImplementedError

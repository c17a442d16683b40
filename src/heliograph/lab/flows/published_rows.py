"""The published figures of message flows."""

import csv
from dataclasses import dataclass
from importlib import resources


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """One row of the published report."""

    section: str
    test: str
    persistent: bool
    size: int
    rate: float
    """Messages per second."""
    cpu_percent: float
    """Of all four processors."""
    cpu_ms: float
    """Milliseconds of CPU time per message, of everything on the machine."""


def published_rows() -> list[PublishedRow]:
    """All rows, in the report's order."""
    text = (resources.files("heliograph.lab") / "published" / "message_flows.csv").read_text("utf-8")
    return [
        PublishedRow(
            row["section"],
            row["test"],
            row["persistent"] == "yes",
            int(row["size"]),
            float(row["rate"]),
            float(row["cpu_percent"]),
            float(row["cpu_ms"]),
        )
        for row in csv.DictReader(text.splitlines())
    ]

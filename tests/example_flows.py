"""The flows in examples/flows, and what their test cases send and expect."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from heliograph.flow.testing.case import Case
from heliograph.flow.testing.case_running import select_cases

FLOWS = Path(__file__).parents[1] / "examples" / "flows"
NAMES = sorted(folder.name for folder in FLOWS.iterdir() if folder.is_dir())


def cases(name: str) -> list[Case]:
    """The test cases of a flow."""
    return select_cases(FLOWS / name)


def usual_cases(name: str) -> Iterator[Case]:
    """Those that need nothing but a server with queues: no other parameters, no refusals, no waiting."""
    for case in cases(name):
        waits = any(step.wait is not None for step in case.steps)
        if not (case.environment or case.parameters or case.refuse or case.expected.error or waits):
            yield case


def make_databases(name: str, state: Path) -> None:
    """The tables that the flow ships, in the files where its embedded databases are when it runs."""
    for file in (FLOWS / name).glob("*.sql"):
        state.mkdir(parents=True, exist_ok=True)
        database = sqlite3.connect(state / f"{file.stem.upper()}.db")
        database.executescript(file.read_text())
        database.commit()
        database.close()

"""What is compared: the runs that a word on the command line stands for."""

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from heliograph.common.suggestions import closest_name
from heliograph.errors import InvalidInput
from heliograph.pipeline.scoring.costs import FINAL
from heliograph.pipeline.scoring.ledger import SCORES
from heliograph.pipeline.scoring.raw import RUNS


def folder_of(word: str, directory: Path) -> Path:
    """The folder of results that a word is about: itself, or `directory` for runs and experiments."""
    name = word.rpartition("@")[2]
    return Path(name) if (Path(name) / RUNS).is_dir() else directory


def select(word: str, directory: Path) -> pa.Table:
    """The figures of the runs that a word stands for, which must have been scored.

    A word is the id of a run, the id of an experiment, a folder of results, or `target@experiment`, `target@folder`.
    """
    target, _, name = word.rpartition("@")
    folder = folder_of(word, directory)
    figures = pq.read_table(folder / SCORES / "figures")
    if folder == directory and Path(name) != directory:
        figures = _named(figures, name, directory)
    if target:
        figures = _only(figures, "target", target, f"runs of {name}")
    counted = figures.filter(pc.is_in(figures["purpose"], pa.array(FINAL)))
    return counted if counted.num_rows else figures


def _named(figures: pa.Table, name: str, directory: Path) -> pa.Table:
    for column in ("run", "experiment"):
        found = figures.filter(pc.equal(figures[column], name))
        if found.num_rows:
            return found
    known = {text for column in ("run", "experiment") for text in figures[column].to_pylist()}
    raise InvalidInput(
        f"{name!r}: expected a run or an experiment of {directory}, or a folder with results, found none"
        f"{_suggestion(name, known)}"
    )


def _only(figures: pa.Table, column: str, value: str, what: str) -> pa.Table:
    found = figures.filter(pc.equal(figures[column], value))
    if not found.num_rows:
        there = sorted(set(figures[column].to_pylist()))
        raise InvalidInput(f"expected a {column} that is in the {what}, found {value!r}; there are: {', '.join(there)}")
    return found


def _suggestion(name: str, known: Iterable[str]) -> str:
    near = closest_name(name, sorted(known))
    return f"; did you mean {near!r}?" if near else ""

"""Which runs have been scored, and how their rows come into the tables: all of them or none.

Tables of new runs are written into a folder of their own. When all are there, an entry of the ledger is written: from
then on the runs are scored, and what is left to do (move files, remove those that they replace) is done again from the
start if it was interrupted. What has no entry is thrown away.
"""

import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from heliograph.errors import InvalidInput
from heliograph.pipeline.scoring.raw import RUNS

SCORES = "scores"
VERSION = 1
"""Of the tables. Runs that were scored by another version are scored again."""
_STAMPED = ("manifest.parquet", "samples.parquet")
"""What may change in a finished run: the log of a power meter comes later."""


@dataclass(frozen=True)
class Batch:
    """Runs that were scored together."""

    name: str
    runs: dict[str, int]
    """When their data were last changed, in ns."""
    replaces: tuple[str, ...] = ()
    """Batches whose rows are not to stay."""


class Ledger:
    """The tables of a folder, and what is in them."""

    def __init__(self, directory: Path, whole: Sequence[str]) -> None:
        """`whole` are tables that every batch writes anew, from the figures of all runs."""
        self._runs = directory / RUNS
        self.folder = directory / SCORES
        self._entries = self.folder / ".ledger"
        self._staged = self.folder / ".staged"
        self._whole = whole

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the folder for scoring; complete or delete what an interrupted process left."""
        if not self._runs.is_dir():
            raise InvalidInput(f"{self._runs.parent}: expected a folder with results of `helio lab run`, found none")
        self._entries.mkdir(parents=True, exist_ok=True)
        with open(self.folder / ".lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._recover()
            yield

    def next_batch(self, most: int) -> Batch | None:
        """A limited number of runs that are new or have changed since they were scored; None if there are none."""
        found = {run: self._stamp(run) for run in self._finished()}
        stale: list[Batch] = []
        current: set[str] = set()
        for batch, version in self._batches():
            same = version == VERSION and all(found.get(run) == stamp for run, stamp in batch.runs.items())
            current |= set(batch.runs) if same else set()
            stale += [] if same else [batch]
        chosen: dict[str, int] = {}
        for batch in stale:
            chosen |= {run: found[run] for run in batch.runs if run in found}
        fresh = [run for run in sorted(found) if run not in current and run not in chosen]
        chosen |= {run: found[run] for run in fresh[: max(0, most - len(chosen))]}
        replaces = tuple(batch.name for batch in stale)
        return Batch(uuid4().hex[:12], chosen, replaces) if chosen or replaces else None

    def stage(self, batch: Batch, table: str) -> Path:
        """Where a table of this batch is written."""
        return self._staged / batch.name / table

    def kept(self, table: str, batch: Batch) -> list[Path]:
        """Files of a table that this batch does not replace."""
        files = sorted((self.folder / table).glob("*.parquet"))
        return [file for file in files if not file.name.startswith(batch.replaces)] if batch.replaces else files

    def commit(self, batch: Batch) -> None:
        """All tables of this batch are written: from now on its runs are scored."""
        entry = {"version": VERSION, "runs": batch.runs, "replaces": batch.replaces}
        partial = self._entries / f".{batch.name}"
        with open(partial, "w", encoding="utf-8") as file:
            json.dump(entry, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, self._entries / f"{batch.name}.json")
        self._finish(batch)

    def _recover(self) -> None:
        entries = {batch.name: batch for batch, _ in self._batches()}
        for folder in self._staged.glob("*"):
            if folder.name in entries:
                self._finish(entries[folder.name])
            else:
                shutil.rmtree(folder)

    def _finish(self, batch: Batch) -> None:
        """Every step may have been done before."""
        staged = self._staged / batch.name
        for folder in sorted(staged.iterdir()):
            table = self.folder / folder.name
            table.mkdir(exist_ok=True)
            for file in sorted(folder.glob("*.parquet")):
                os.replace(file, table / f"{batch.name}-{file.name.split('-')[1]}.parquet")
            for file in table.glob("*.parquet"):
                mine = file.name.startswith(batch.name)
                if file.name.startswith(batch.replaces or ("/",)) or (folder.name in self._whole and not mine):
                    file.unlink()
        for name in batch.replaces:
            (self._entries / f"{name}.json").unlink(missing_ok=True)
        shutil.rmtree(staged)

    def _batches(self) -> Iterator[tuple[Batch, int]]:
        for file in sorted(self._entries.glob("*.json")):
            entry = json.loads(file.read_text("utf-8"))
            yield Batch(file.stem, entry["runs"], tuple(entry["replaces"])), entry["version"]

    def _finished(self) -> list[str]:
        return [folder.name for folder in self._runs.iterdir() if (folder / "manifest.parquet").is_file()]

    def _stamp(self, run: str) -> int:
        files = (self._runs / run / name for name in _STAMPED)
        return max(file.stat().st_mtime_ns for file in files if file.exists())

"""The folder of a pipeline: its figures from the status file in it, and removing it."""

import json
import os
import shutil
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heliograph.common.private_files import DirectoryLock
from heliograph.errors import Problem
from heliograph.log.streams import StreamReader, stream_lag

Facts = dict[str, Any]

PIPELINES_FOLDER = "pipelines"
"""In the folder of the log, with a folder for each pipeline."""
_STATUS_FILE = "status.json"
_GOES_ON = {"starting", "running", "retrying", "stopping"}


@dataclass(frozen=True, slots=True)
class Watched:
    """A pipeline of the configuration."""

    name: str
    source: str
    runs: str
    """The flow or the job."""
    reads_here: bool
    """Whether it reads a stream of this server."""
    state: str
    """How its process is doing; nothing if it has not been started."""
    restarts: int


def figures(directory: Path, watched: Iterable[Watched]) -> list[Facts]:
    """All pipelines by name: those of the configuration, and those of which only a file in `directory` tells."""
    known = {one.name: one for one in watched}
    names = {path.parent.name for path in (directory / PIPELINES_FOLDER).glob(f"*/{_STATUS_FILE}")} | set(known)
    return [_facts(directory, name, known.get(name)) for name in sorted(names)]


def _facts(directory: Path, name: str, watched: Watched | None) -> Facts:
    told = _told(directory / PIPELINES_FOLDER / name / _STATUS_FILE)
    alive = _is_alive(told)
    found = {
        "name": name,
        "state": _state(told, alive, watched),
        "configured": watched is not None,
        "runs": watched.runs if watched else told.get("runs", ""),
        "source": watched.source if watched else told.get("source", ""),
        "pid": told["pid"] if alive else 0,
        "since": told.get("since", 0.0) if alive else 0.0,
        "updated": told.get("updated", 0.0),
        "batch": told.get("batch"),
        "rows": told.get("rows", 0),
        "rows_per_second": told.get("rows_per_second", 0.0) if alive else 0.0,
        "offsets": told.get("offsets", {}),
        "lag_messages": told.get("lag_messages"),
        "lag_seconds": told.get("lag_seconds"),
        "restarts": told.get("restarts", 0) + (watched.restarts if watched else 0),
        "error": told.get("error", ""),
    }
    if watched is not None and watched.reads_here:
        found |= _lag(directory, found["offsets"])
    return found


def _told(file: Path) -> Facts:
    """What a pipeline says; nothing if it has never said anything."""
    with suppress(OSError, ValueError):
        found = json.loads(file.read_bytes())
        if isinstance(found, dict):
            return found
    return {}


def _is_alive(told: Facts) -> bool:
    """Whether the process that wrote this is still there, and is the same."""
    pid = told.get("pid", 0)
    if not isinstance(pid, int) or pid <= 0 or told.get("state") not in _GOES_ON:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # somebody else's, but there
    with suppress(OSError, ValueError, IndexError):
        born = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
        return bool(born == told.get("born", 0))
    return True


def _state(told: Facts, alive: bool, watched: Watched | None) -> str:
    """Its supervisor knows best. Otherwise its file says it, if its process has not died without a word."""
    if watched is not None and watched.state:
        return watched.state
    last = str(told.get("state", "stopped"))
    return "dead" if last in _GOES_ON and not alive else last


def _lag(directory: Path, offsets: Mapping[str, Mapping[str, int]]) -> Facts:
    """How far behind it is, as it is now, whether its process is there or not."""
    messages, seconds = 0, 0.0
    if not offsets:
        return {"lag_messages": None, "lag_seconds": None}
    try:
        for stream, partitions in offsets.items():
            done = {int(number): offset for number, offset in partitions.items()}
            with StreamReader(directory, stream) as reader:
                lag = stream_lag(reader, done, time.time() * 1000)
            messages, seconds = messages + lag.messages, max(seconds, lag.seconds)
    except (Problem, OSError):
        return {"lag_messages": None, "lag_seconds": None}
    return {"lag_messages": messages, "lag_seconds": round(seconds, 3)}


STATE = "state"
"""With the embedded databases of its flow, which somebody may have filled before it ran."""
_STATUS = "status.json"


def has_databases(folder: Path) -> bool:
    """Whether there is something in it that was not made by Spark alone."""
    return (folder / STATE).is_dir() and any((folder / STATE).iterdir())


def remove_folder(folder: Path, *, purge: bool) -> None:
    """Remove it, but for databases unless `purge`. A Problem if a process runs the pipeline, OSError of the disk."""
    lock = DirectoryLock(folder, f"pipeline {folder.name}, which runs")
    try:
        # The file that lists go by is the last: what could not be removed is still seen, and can be tried again.
        for path in sorted(folder.iterdir(), key=lambda path: path.name == _STATUS):
            if path.name == STATE and not purge and has_databases(folder):
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
        if not any(folder.iterdir()):
            folder.rmdir()
    finally:
        lock.release()

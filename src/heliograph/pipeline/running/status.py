"""The status of a pipeline: a small JSON file in its folder, written at each change.

The server reads it (`server/processes/pipeline_folder.py`), so its keys are an interface.
"""

import json
import os
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from heliograph.common import private_files
from heliograph.errors import StorageError

STATUS_FILE = "status.json"


class State(StrEnum):
    """The state of a pipeline. If its process is gone, this is the last state that it reported."""

    STARTING = "starting"
    RUNNING = "running"
    RETRYING = "retrying"
    """A query has failed, and is started again in a moment."""
    STOPPING = "stopping"
    STOPPED = "stopped"
    FINISHED = "finished"
    """All that was there has been done."""
    FAILED = "failed"


@dataclass(slots=True)
class Status:
    """The status that a pipeline reports."""

    name: str
    source: str
    server: str
    runs: str
    """The flow or the job."""
    state: State = State.STARTING
    pid: int = 0
    born: int = 0
    """When the process began, in ticks since the machine did: another process may get the same number later."""
    since: float = 0.0
    """When the process began, in seconds since 1970."""
    updated: float = 0.0
    batch: int | None = None
    rows: int = 0
    """Messages taken in all, by this process and those before it."""
    rows_per_second: float = 0.0
    offsets: dict[str, dict[str, int]] = field(default_factory=dict)
    """By stream and partition, the offset of the next message that is not done."""
    lag_messages: int | None = None
    lag_seconds: float | None = None
    restarts: int = 0
    """Times that queries were started again by this process."""
    error: str = ""
    """What went wrong last; it stays until the process is started again."""

    def begin(self, before: "Status | None") -> None:
        """Make this the status of this process, continuing the figures of an earlier one."""
        self.pid, self.born = os.getpid(), ticks_of(os.getpid())
        self.since = time.time()
        if before is not None and before.source == self.source:
            self.batch, self.rows, self.offsets = before.batch, before.rows, before.offsets


def ticks_of(pid: int) -> int:
    """When a process began, in ticks since the machine did; 0 where that cannot be known."""
    with suppress(OSError, ValueError, IndexError):
        # The name of the program, in parentheses, may have spaces in it.
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    return 0


class StatusFile:
    """The status of the pipeline in a folder."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / STATUS_FILE

    def read(self) -> Status | None:
        """The status in the file; None if there is none, or none that this version understands."""
        with suppress(FileNotFoundError, ValueError, TypeError, KeyError):
            found: dict[str, Any] = json.loads(self._path.read_bytes())
            return Status(**{**found, "state": State(found["state"])})
        return None

    def note_stopped(self) -> None:
        """The process ends before there was anything to stop."""
        if (status := self.read()) is not None:
            status.state = State.STOPPED
            self.write(status)

    def write(self, status: Status) -> None:
        """Replace the file atomically."""
        status.updated = time.time()
        new = self._path.with_name(f"{self._path.name}.new")
        try:
            with open(new, "w", opener=private_files.opener) as file:
                file.write(json.dumps(asdict(status), indent=2) + "\n")
            new.rename(self._path)
        except OSError as error:
            raise StorageError(f"{self._path}: {error.strerror or error}") from None

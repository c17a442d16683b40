"""One process per directory: one server for a log, one process for a pipeline."""

import fcntl
import os
from pathlib import Path

from heliograph.errors import Problem

_NAME = "LOCK"


class DirectoryLock:
    """Held from its making to `release`, and gone with the process whatever happens to it."""

    def __init__(self, directory: Path, holder: str = "another server") -> None:
        """Take the lock; a Problem names the process that has it, and says that it is `holder`."""
        self._descriptor = os.open(directory / _NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            owner = os.read(self._descriptor, 32).decode(errors="replace").strip() or "unknown"
            os.close(self._descriptor)
            raise Problem(f"{directory}: in use by {holder} (process {owner})") from None
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Let others have the directory."""
        os.close(self._descriptor)

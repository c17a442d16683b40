"""Files and folders that only their owner can read, because they contain messages; and locks on folders."""

import fcntl
import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from heliograph.common.errors import DirectoryInUse

FOLDER_MODE = 0o700
FILE_MODE = 0o600
_LOCK_NAME = "LOCK"


def make_folder(folder: Path) -> None:
    """Make a folder, unless it is there."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=FOLDER_MODE, exist_ok=True)


def opener(path: str, flags: int) -> int:
    """For `open`: a file that is made gets the mode of a private one."""
    return os.open(path, flags, FILE_MODE)


def tighten(paths: Iterable[Path]) -> None:
    """Take the rights of all others away from files and folders that were made without such care.

    What belongs to somebody else stays as it is, and so does a folder that all may write to, such as /tmp.
    """
    for path in paths:
        with suppress(OSError):
            mode = path.lstat().st_mode
            if mode & 0o077 and not mode & stat.S_ISVTX and not stat.S_ISLNK(mode):
                path.chmod(stat.S_IMODE(mode) & FOLDER_MODE)


class DirectoryLock:
    """Held from its making to `release`, and gone with the process whatever happens to it."""

    def __init__(self, directory: Path, holder: str = "another server") -> None:
        """Take the lock; DirectoryInUse names the process that has it, and says that it is `holder`."""
        self._descriptor = os.open(directory / _LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            owner = os.read(self._descriptor, 32).decode(errors="replace").strip() or "unknown"
            os.close(self._descriptor)
            raise DirectoryInUse(f"{directory}: in use by {holder} (process {owner})") from None
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Let others have the directory."""
        os.close(self._descriptor)

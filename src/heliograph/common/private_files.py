"""Files and folders that nobody but their owner can read, because messages are in them."""

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

FOLDER_MODE = 0o700
FILE_MODE = 0o600


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

"""The folder of a pipeline that nobody needs any more: how far it was, how it was doing, and its databases."""

import shutil
from pathlib import Path

from heliograph.common.private_files import DirectoryLock

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

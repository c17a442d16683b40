"""SHARED variables of a flow that is kept to one partition.

The task of each micro-batch may run in another process. It begins with the variables as the micro-batch before has left
them, so that a task that is repeated begins with the same values again.
"""

import os
import pickle
from pathlib import Path
from typing import Any

from heliograph.common import private_files
from heliograph.pipeline.errors import NotDeployable

_SUFFIX = ".shared"


def load_shared(folder: Path, batch: int) -> dict[str, Any]:
    """The variables as the previous micro-batch left them."""
    numbers = [number for number in _numbers(folder) if number < batch]
    if not numbers:
        return {}
    found: dict[str, Any] = pickle.loads((folder / f"{max(numbers)}{_SUFFIX}").read_bytes())  # noqa: S301 - our own
    return found


def save_shared(folder: Path, batch: int, values: dict[str, Any]) -> None:
    """Save the variables for the next micro-batch. Those from before this one are kept, as it may be repeated."""
    try:
        data = pickle.dumps(values)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise NotDeployable(
            f"the SHARED variables {', '.join(values)} cannot be kept for the next batch: {error}"
        ) from error
    private_files.make_folder(folder)
    part = folder / f".{batch}.{os.getpid()}"
    with open(part, "wb", opener=private_files.opener) as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    part.replace(folder / f"{batch}{_SUFFIX}")
    before = [number for number in _numbers(folder) if number < batch]
    for number in sorted(before)[:-1]:
        (folder / f"{number}{_SUFFIX}").unlink(missing_ok=True)


def _numbers(folder: Path) -> list[int]:
    return [int(file.stem) for file in folder.glob(f"*{_SUFFIX}") if file.stem.isdecimal()]

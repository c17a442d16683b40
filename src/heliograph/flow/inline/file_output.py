"""Files that a flow writes: those of FileOutput nodes, and those of Trace nodes."""

import logging
import os
from pathlib import Path
from uuid import uuid4

from heliograph.errors import InvalidInput, StorageError
from heliograph.flow.engine.outcome import WriteFile

# Where the texts of Trace nodes go: the log, or files.


class TraceWriter:
    """Writes traces of one instance."""

    def __init__(self, flow: str) -> None:
        self._log = logging.getLogger("heliograph.flow.trace")
        self._flow = flow

    def __call__(self, destination: str, text: str) -> None:
        """`user` and `log` are for the log; everything else names a file."""
        if destination == "user":
            self._log.info("%s: %s", self._flow, text)
        elif destination == "log":
            self._log.warning("%s: %s", self._flow, text)
        else:
            with Path(destination).open("a", encoding="utf-8") as file:
                file.write(text if text.endswith("\n") else text + "\n")


# Files that flows write: whole ones appear at once under their name, records are added to the end.


def write_file(effect: WriteFile) -> None:
    """Do it. `Problem` if the file cannot be written, or would be somewhere else than in its folder."""
    folder = Path(effect.directory)
    if effect.name in {"", ".", ".."} or Path(effect.name).name != effect.name:
        raise InvalidInput(f"{effect.name!r} is not the name of a file in {folder}")
    target = folder / effect.name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if effect.append:
            with target.open("ab") as file:
                _write(file.fileno(), effect.data)
        else:
            _replace(target, effect.data)
    except OSError as error:
        raise StorageError(f"cannot write {target}: {error.strerror or error}") from error


def _replace(target: Path, data: bytes) -> None:
    """Nobody sees half of it: it gets its name when it is whole."""
    part = target.with_name(f".{target.name}.{uuid4().hex}.part")
    try:
        with part.open("xb") as file:
            _write(file.fileno(), data)
        part.replace(target)
    except OSError:
        part.unlink(missing_ok=True)
        raise


def _write(file: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(file, rest) :]
    os.fsync(file)

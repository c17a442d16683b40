"""Consumes files: claimed by renaming, read whole or by records, and moved to another folder when done.

Theory of operation. An instance claims a file by renaming it into a folder of its own, because a rename is atomic: only
one of several instances succeeds. The file is processed from there, and then moved to the folder
`processed` or `failed`. A claimed file that a crash leaves behind is processed again from
its beginning when the instance, which has the same name after a restart, starts again.
"""

import fcntl
import os
import re
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import IO, Any

from heliograph.errors import InvalidInput, StorageError
from heliograph.flow.definition import NodeDefinition
from heliograph.flow.engine.outcome import LogEvent, Result
from heliograph.flow.errors import FlowStopped, InvalidFlow
from heliograph.flow.formats.envelope import Envelope
from heliograph.flow.hosting import ATTEMPTS, Step
from heliograph.flow.inline.flow_settings import MOST_INSTANCES
from heliograph.flow.inline.units_of_work import UnitsOfWork

_CHUNK = 1 << 20
_BATCH = 100
_LOCK = ".lock"
LARGEST_RECORD = 64 << 20
"""Bytes of a record, which is in memory as a whole."""
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "0": "\0", "\\": "\\"}


class RecordProblem(InvalidInput):
    """A file that cannot be split into records."""


class _Stopped(Exception):
    """The instance must stop in the middle of a file, which will be processed again from its beginning."""


def delimiter_of(text: str) -> bytes:
    """A delimiter as the flow writes it: `\\n`, `\\x1e` and so on are single bytes."""

    def replaced(found: re.Match[str]) -> str:
        code = found.group(1)
        return chr(int(code[1:], 16)) if code.startswith("x") else _ESCAPES.get(code, code)

    return re.sub(r"\\(x[0-9A-Fa-f]{2}|.)", replaced, text).encode("latin-1", "replace")


def records(path: Path, kind: str, delimiter: bytes = b"\n", length: int = 0) -> Iterator[tuple[int, bytes]]:
    """The records of a file, each with its offset; a delimiter is no part of a record."""
    with path.open("rb") as file:
        if kind == "whole":
            data = file.read(LARGEST_RECORD + 1)
            if len(data) > LARGEST_RECORD:
                raise _too_large(0)
            yield 0, data
            return
        if kind == "fixed":
            at = 0
            while data := file.read(length):
                yield at, data
                at += len(data)
            return
        yield from _delimited(file, b"\n" if kind == "line" else delimiter, strip=b"\r" if kind == "line" else b"")


def _delimited(file: Any, delimiter: bytes, strip: bytes) -> Iterator[tuple[int, bytes]]:
    rest, at = b"", 0
    room = _CHUNK
    while chunk := file.read(room):
        *whole, rest = (rest + chunk).split(delimiter)
        for record in whole:
            yield at, record.removesuffix(strip)
            at += len(record) + len(delimiter)
        if len(rest) > LARGEST_RECORD:
            raise _too_large(at)
        room = max(_CHUNK, len(rest))  # so that a long record is not copied again for each block that is read
    if rest:
        yield at, rest.removesuffix(strip)


def _too_large(offset: int) -> RecordProblem:
    return RecordProblem(f"the record at offset {offset} has more than {LARGEST_RECORD >> 20} MB")


class FileConsumer:
    """Takes files for one instance of a FileInput."""

    def __init__(self, node: NodeDefinition, owner: str, units: UnitsOfWork, stop: threading.Event) -> None:
        """`owner` is a name that no other instance has, and that is the same after a restart."""
        properties = node.properties
        self._node = node
        self._units = units
        self._stop = stop
        self._directory = Path(properties["directory"])
        self._kind: str = properties["record"]
        self._delimiter = delimiter_of(properties["delimiter"])
        self._length: int = properties["length"]
        if self._kind == "fixed" and not self._length:
            raise InvalidFlow(f"{node.place}: FileInput {node.name} with records of fixed length needs a length")
        if self._kind == "delimited" and not self._delimiter:
            raise InvalidFlow(f"{node.place}: FileInput {node.name} with delimited records needs a delimiter")
        self._seen: dict[str, tuple[int, int]] = {}
        """Size and time of the files that were there at the last look."""
        self._told = ""
        try:
            self._claims, self._lock = self._claims_folder(owner)
        except OSError as error:
            raise StorageError(f"{node.place}: cannot use the folder {self._directory}: {error.strerror}") from error

    def _claims_folder(self, owner: str) -> tuple[Path, IO[str]]:
        """Return a claims folder that no running process uses. Files in those of processes that are gone are
        released."""
        self._directory.mkdir(parents=True, exist_ok=True)
        for number in range(MOST_INSTANCES):
            folder = self._directory / (f".claimed.{owner}~{number}" if number else f".claimed.{owner}")
            folder.mkdir(exist_ok=True)
            lock = (folder / _LOCK).open("w")
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:  # the same flow runs twice
                lock.close()
                continue
            for left in sorted(folder.iterdir()):
                if left.name != _LOCK:
                    left.rename(self._directory / left.name)
            return folder, lock
        raise FlowStopped(f"{self._node.place}: more than {MOST_INSTANCES} processes use {self._directory}")

    def turn(self) -> None:
        """Take all files that are there, or wait until it is time to look again."""
        found = False
        for name in self._names():
            if self._stop.is_set():
                return
            claimed = self._claim(name)
            if claimed is not None:
                found = True
                try:
                    self._take(claimed)
                except _Stopped:
                    return
        if not found:
            self._stop.wait(self._node.properties["interval"])

    def _names(self) -> list[str]:
        """Return the files that seem to be complete, the oldest first."""
        pattern = self._node.properties["pattern"]
        seen: dict[str, tuple[int, int]] = {}
        with os.scandir(self._directory) as entries:
            for entry in entries:
                if entry.name.startswith(".") or not fnmatchcase(entry.name, pattern) or not entry.is_file():
                    continue
                with suppress(FileNotFoundError):  # another instance was faster
                    status = entry.stat()
                    seen[entry.name] = (status.st_mtime_ns, status.st_size)
        settled = time.time_ns() - int(self._node.properties["interval"] * 1e9)
        files = [(at, name) for name, (at, size) in seen.items() if at < settled or self._seen.get(name) == (at, size)]
        self._seen = seen
        return [name for _, name in sorted(files)]

    def _claim(self, name: str) -> Path | None:
        try:
            return (self._directory / name).rename(self._claims / name)
        except FileNotFoundError:  # another instance was faster
            return None
        except OSError as error:
            if str(error) != self._told:  # logged once, not at each look at the folder
                self._told = str(error)
                self._units.log(LogEvent(self._node.name, f"cannot take {name}: {error.strerror or error}"))
            return None

    def _take(self, path: Path) -> None:
        well = True
        batch: list[Envelope] = []
        try:
            for envelope in self._envelopes(path):
                batch.append(envelope)
                if len(batch) == _BATCH:
                    well = self._process(batch) and well
                    batch = []
            if batch:
                well = self._process(batch) and well
        except (OSError, RecordProblem) as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or error
            self._units.log(LogEvent(self._node.name, f"cannot read {path.name}: {reason}"))
            well = False
        self._put_away(path, "processed" if well else "failed")

    def _envelopes(self, path: Path) -> Iterator[Envelope]:
        status = path.stat()
        facts = {"Directory": str(self._directory), "Name": path.name, "Size": status.st_size}
        reader = records(path, self._kind, self._delimiter, self._length)
        for number, (offset, data) in enumerate(reader, 1):
            identity = f"{path.name}:{status.st_mtime_ns}:{number}".encode()
            yield Envelope(
                data,
                message_id=identity,
                created=status.st_mtime,
                properties={**facts, "Record": number, "Offset": offset},
            )

    def _process(self, batch: list[Envelope]) -> bool:
        """False if any failed."""
        step, outcomes = self._units.process(self._node.name, batch)
        while step is Step.LATER and not self._stop.is_set():
            step, outcomes = self._units.process(self._node.name, batch)
        if step is Step.LATER:
            raise _Stopped
        if step.is_done:
            return all(outcome.result is Result.DONE for outcome in outcomes)
        if len(batch) > 1:
            results = [self._process([envelope]) for envelope in batch]
            return all(results)
        return any(self._units.process(self._node.name, batch)[0].is_done for _ in range(ATTEMPTS))

    def _put_away(self, path: Path, where: str) -> None:
        folder = self._directory / self._node.properties[where]
        folder.mkdir(parents=True, exist_ok=True)
        target, number = folder / path.name, 1
        while target.exists():
            target = folder / f"{path.name}.{number}"
            number += 1
        path.rename(target)

    def close(self) -> None:
        """Nothing is claimed any more."""
        self._lock.close()

"""Parquet files that appear exactly once, whatever is repeated.

Tasks write files into a folder that readers ignore (`_heliograph`). When all tasks of a batch are done, a manifest
lists its files, and only then are they renamed. If a micro-batch that has a manifest is repeated, the renames in the
manifest are completed, and files of the repeated tasks are dropped.
"""

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from heliograph.errors import StorageError
from heliograph.pipeline.sink.part import Part

HIDDEN = "_heliograph"
DAY = "day"
_NOTHING = "__HIVE_DEFAULT_PARTITION__"
"""What Spark calls the folder of rows without a value."""
_MOST_ROWS = 100_000
_MOST_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Staged:
    """A file that waits to be renamed; paths are relative to the folder."""

    folder: str
    path: str
    name: str


@dataclass(slots=True)
class _Growing:
    """A file that is being written."""

    staged: Staged
    writer: Any
    waiting: list[pa.Table] = field(default_factory=list)
    rows: int = 0
    bytes: int = 0


class ParquetStage:
    """The files of one task."""

    def __init__(self, part: Part) -> None:
        self._part = part
        self._attempt = uuid4().hex[:8]
        self._files: dict[tuple[str, str, str], _Growing] = {}

    def add(self, folder: str, route: str, partition: Sequence[str], rows: pa.Table) -> None:
        """Write rows into files of a folder, and of folders inside it for the values of the partition columns."""
        for inside, some in _divided(rows, partition):
            growing = self._growing(folder, route, inside, some.schema)
            growing.waiting.append(some)
            growing.rows += some.num_rows
            growing.bytes += some.nbytes
            if growing.rows >= _MOST_ROWS or growing.bytes >= _MOST_BYTES:
                _flush(growing)

    def close(self) -> list[Staged]:
        """Flush all files to the disk, under their temporary names."""
        for growing in self._files.values():
            _flush(growing)
            growing.writer.close()
            _sync(Path(growing.staged.folder) / growing.staged.path)
        return [growing.staged for growing in self._files.values()]

    def _growing(self, folder: str, route: str, inside: str, schema: pa.Schema) -> _Growing:
        key = (folder, route, inside)
        found = self._files.get(key)
        if found is None:
            part = self._part
            name = f"{inside}{quote(route, safe='')}-{part.name}-{part.batch}-{part.partition}.parquet"
            place = f"{HIDDEN}/{part.name}/{part.batch}"
            path = f"{place}/{part.partition}-{self._attempt}-{len(self._files)}.parquet"
            (Path(folder) / place).mkdir(parents=True, exist_ok=True)
            writer = pq.ParquetWriter(Path(folder) / path, schema, compression="zstd")
            found = self._files[key] = _Growing(Staged(folder, path, name), writer)
        return found


def _flush(growing: _Growing) -> None:
    if growing.waiting:
        growing.writer.write_table(pa.concat_tables(growing.waiting).combine_chunks())
        growing.waiting, growing.rows, growing.bytes = [], 0, 0


def _divided(rows: pa.Table, partition: Sequence[str]) -> Iterator[tuple[str, pa.Table]]:
    """The rows of each combination of values, without these columns, and the folder they go to."""
    if not partition:
        yield "", rows
        return
    values = rows.select(list(partition)).group_by(list(partition)).aggregate([])
    rest = rows.drop_columns(list(partition))
    for combination in values.to_pylist():
        mask = None
        for name, value in combination.items():
            same = pc.is_null(rows[name]) if value is None else pc.equal(rows[name], pa.scalar(value, rows[name].type))
            mask = same if mask is None else pc.and_(mask, same)
        inside = "".join(f"{quote(name)}={_folder(value)}/" for name, value in combination.items())
        yield inside, rest.filter(mask)


def _folder(value: Any) -> str:
    return _NOTHING if value is None or value == "" else quote(str(value), safe=" ")


def commit_files(folders: Iterable[str], query: str, batch: int, staged: Iterable[Staged]) -> None:
    """Rename the files of a micro-batch. `folders` are all that the query may write to."""
    by_folder: dict[str, list[Staged]] = {folder: [] for folder in folders}
    for one in staged:
        by_folder[one.folder].append(one)
    for folder, files in by_folder.items():
        _commit_folder(Path(folder), query, batch, [(one.path, one.name) for one in files])


def _commit_folder(folder: Path, query: str, batch: int, files: list[tuple[str, str]]) -> None:
    place = folder / HIDDEN / query
    manifest = place / f"{batch}.json"
    if manifest.exists():
        files = [(path, name) for path, name in json.loads(manifest.read_text())]
    elif files:
        _write_manifest(manifest, files)
    else:
        return
    changed = set()
    for path, name in files:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            (folder / path).replace(target)
        except FileNotFoundError:
            if not target.exists():
                raise StorageError(f"{folder}: {path} of batch {batch} is gone before it became {name}") from None
        changed.add(target.parent)
    for directory in changed:
        _sync(directory)
    _clean(place, batch)


def _write_manifest(manifest: Path, files: list[tuple[str, str]]) -> None:
    part = manifest.with_suffix(".part")
    part.write_text(json.dumps(files))
    _sync(part)
    part.replace(manifest)
    _sync(manifest.parent)


def _clean(place: Path, batch: int) -> None:
    """Delete staged files up to this micro-batch, and the manifests of earlier ones."""
    for found in place.iterdir():
        if found.is_dir() and found.name.isdecimal() and int(found.name) <= batch:
            shutil.rmtree(found, ignore_errors=True)
        elif found.suffix == ".json" and int(found.stem) < batch:
            found.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def with_day(rows: pa.Table, timestamps: pa.ChunkedArray) -> pa.Table:
    """The rows with a column for the day of the message, in UTC."""
    return rows.append_column(DAY, pc.strftime(timestamps, format="%Y-%m-%d"))

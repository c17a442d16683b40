"""What a run leaves behind: messages in the stream, rows in files, and how far Spark's checkpoint says it is."""

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pyarrow.parquet as pq

from faults.pipelines.rules import Row, Stored
from heliograph.log.streams.stream_reader import StreamReader

_LOG = "_spark_metadata"
_COMPACT = ".compact"


class Checkpoint:
    """Spark's checkpoint of a query."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def batches(self) -> int:
        """How many micro-batches are complete."""
        return max(_numbers(self.folder / "commits"), default=-1) + 1

    def done(self) -> dict[int, int]:
        """The next offset of each partition: all before it are in complete micro-batches."""
        batches = self.batches
        if not batches:
            return {}
        *_, offsets = (self.folder / "offsets" / str(batches - 1)).read_text().splitlines()
        return {int(partition): offset for partition, offset in json.loads(offsets)["partitions"].items()}


def _numbers(folder: Path) -> Iterator[int]:
    if folder.exists():
        yield from (int(found.name) for found in folder.iterdir() if found.name.isdecimal())


def stored(directory: Path, stream: str) -> dict[tuple[int, int], Stored]:
    """All messages of a stream, by partition and offset."""
    with StreamReader(directory, stream) as reader:
        return {
            (partition, message.offset): Stored(message.topic, message.payload)
            for partition in range(reader.partitions)
            for message in reader.messages(partition, reader.earliest(partition))
        }


def files_of_spark(folder: Path) -> list[Path]:
    """The files of a streaming query's output: those in Spark's log of them. Others are of attempts that failed."""
    log = folder / _LOG
    compacted = max(
        (int(found.stem) for found in log.iterdir() if found.suffix == _COMPACT and found.stem.isdecimal()), default=-1
    )
    later = sorted(number for number in _numbers(log) if number > compacted)
    entries = [log / f"{compacted}{_COMPACT}"] if compacted >= 0 else []
    entries += [log / str(number) for number in later]
    lines = [json.loads(line) for entry in entries for line in entry.read_text().splitlines()[1:]]
    return [Path(unquote(urlsplit(line["path"]).path)) for line in lines if line["action"] == "add"]


def files_that_show(folder: Path) -> list[Path]:
    """The files that a reader finds who knows nothing of Spark: none that are hidden."""
    files = [found.relative_to(folder) for found in folder.rglob("*.parquet")]
    return [folder / file for file in files if not any(part.startswith("_") for part in file.parts)]


def rows(files: list[Path]) -> list[Row]:
    """All rows of Parquet files, one for each time that they are listed."""
    found: list[Row] = []
    for file in files:
        table = pq.ParquetFile(file).read(["partition", "offset", "payload"])
        columns = (table[name].to_pylist() for name in ("partition", "offset", "payload"))
        found += [Row(*values) for values in zip(*columns, strict=True)]
    return found

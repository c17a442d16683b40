"""Parquet files of a micro-batch appear once, whatever is repeated."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from heliograph.pipeline.flows.outlets.parquet import HIDDEN, ParquetStage, commit_files
from heliograph.pipeline.sink.part import Part

QUERY = "query"


@pytest.fixture
def folder(tmp_path):
    return str(tmp_path / "out")


def stage(folder, batch, values, partition=0, by=()):
    """A task that writes rows, and their files."""
    staging = ParquetStage(Part(QUERY, batch, partition))
    staging.add(folder, "big", by, pa.table({"n": values, "kind": ["odd" if n % 2 else "even" for n in values]}))
    return staging.close()


def commit(folder, batch, staged):
    commit_files([folder], QUERY, batch, staged)


def rows(folder):
    """What readers find."""
    files = [file for file in Path(folder).rglob("*.parquet") if HIDDEN not in file.parts]
    return sorted(n for file in files for n in pq.ParquetFile(file).read()["n"].to_pylist())


def test_rows_are_there_when_the_batch_is_complete(folder):
    staged = stage(folder, 0, [1, 2]) + stage(folder, 0, [3], partition=1)
    assert rows(folder) == []
    commit(folder, 0, staged)
    assert rows(folder) == [1, 2, 3]


def test_a_commit_that_is_repeated_changes_nothing(folder):
    staged = stage(folder, 0, [1, 2])
    commit(folder, 0, staged)
    commit(folder, 0, staged)
    assert rows(folder) == [1, 2]


def test_a_batch_that_is_repeated_as_a_whole_changes_nothing(folder):
    commit(folder, 0, stage(folder, 0, [1, 2]))
    commit(folder, 0, stage(folder, 0, [1, 2]))
    assert rows(folder) == [1, 2]


def test_a_commit_that_was_cut_short_is_finished_with_the_files_that_it_began_with(folder, monkeypatch):
    staged = stage(folder, 0, [1, 2]) + stage(folder, 0, [3], partition=1)
    rename = Path.replace

    def fail(path, target):
        if str(target).endswith("-0-1.parquet"):
            raise KeyboardInterrupt
        return rename(path, target)

    with monkeypatch.context() as broken, pytest.raises(KeyboardInterrupt):
        broken.setattr(Path, "replace", fail)
        commit(folder, 0, staged)
    assert rows(folder) == [1, 2]
    # Cut into other partitions this time: the parts that are there already must not come twice.
    commit(folder, 0, stage(folder, 0, [1]) + stage(folder, 0, [2, 3], partition=1))
    assert rows(folder) == [1, 2, 3]


def test_files_of_attempts_that_failed_are_removed(folder):
    stage(folder, 0, [7])
    commit(folder, 0, stage(folder, 0, [1]))
    commit(folder, 1, stage(folder, 1, [2]))
    assert rows(folder) == [1, 2]
    left = [file.name for file in (Path(folder) / HIDDEN).rglob("*") if file.is_file()]
    assert left == ["1.json"]


def test_rows_go_into_folders_by_their_values(folder):
    commit(folder, 0, stage(folder, 0, [1, 2, 3], by=["kind"]))
    assert {file.parent.name for file in Path(folder).glob("*/*.parquet")} == {"kind=odd", "kind=even"}
    assert pq.read_table(folder, partitioning="hive").num_rows == 3


def test_a_batch_without_rows_leaves_nothing(folder):
    commit(folder, 0, [])
    assert not Path(folder).exists()

"""What a crash leaves behind is finished or thrown away."""

import os
from pathlib import Path

import pytest

from heliograph.errors import Problem
from heliograph.pipeline.scoring import ledger as module
from heliograph.pipeline.scoring.ledger import Batch, Ledger

TABLES = ("costs", "pairs", "rates")


def new_run(directory: Path, name: str) -> None:
    (directory / "runs" / name).mkdir(parents=True)
    (directory / "runs" / name / "manifest.parquet").write_bytes(b"")


def staged(ledger: Ledger) -> Batch:
    """The next batch, with a file in each of its tables."""
    batch = ledger.next_batch(100)
    assert batch is not None
    for table in TABLES:
        folder = ledger.stage(batch, table)
        folder.mkdir(parents=True)
        (folder / "part-00000-x.zstd.parquet").write_text(" ".join(batch.runs))
    return batch


def contents(directory: Path, table: str) -> list[str]:
    return sorted(file.read_text() for file in (directory / "scores" / table).glob("*.parquet"))


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    new_run(tmp_path, "one")
    return Ledger(tmp_path, ["pairs"])


def test_runs_that_are_scored_are_not_new(ledger: Ledger, tmp_path: Path) -> None:
    with ledger.locked():
        ledger.commit(staged(ledger))
        assert ledger.next_batch(100) is None
        new_run(tmp_path, "two")
        batch = ledger.next_batch(100)
        assert batch is not None
        assert (list(batch.runs), batch.replaces) == (["two"], ())


def test_tables_of_all_runs_are_replaced_and_others_added_to(ledger: Ledger, tmp_path: Path) -> None:
    with ledger.locked():
        ledger.commit(staged(ledger))
        new_run(tmp_path, "two")
        ledger.commit(staged(ledger))
    assert contents(tmp_path, "rates") == ["one", "two"]
    assert contents(tmp_path, "pairs") == ["two"]


def test_what_was_not_committed_is_thrown_away(ledger: Ledger, tmp_path: Path) -> None:
    with ledger.locked():
        staged(ledger)
    with ledger.locked():
        assert contents(tmp_path, "rates") == []
        ledger.commit(staged(ledger))
    assert contents(tmp_path, "rates") == ["one"]


@pytest.mark.parametrize("moves", range(1, len(TABLES) + 1))
def test_a_commit_that_was_interrupted_is_finished_by_the_next_one(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moves: int
) -> None:
    replace, done = os.replace, []

    def crash(source: Path, target: Path) -> None:
        if len(done) == moves:
            raise KeyboardInterrupt
        done.append(target)
        replace(source, target)

    with ledger.locked():
        batch = staged(ledger)
        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
            patched.setattr(module.os, "replace", crash)
            ledger.commit(batch)
    assert [contents(tmp_path, table) for table in TABLES] != [["one"]] * 3
    with ledger.locked():
        assert [contents(tmp_path, table) for table in TABLES] == [["one"]] * 3
        assert ledger.next_batch(100) is None


def test_batches_with_runs_that_changed_or_went_away_are_made_anew(ledger: Ledger, tmp_path: Path) -> None:
    new_run(tmp_path, "two")
    with ledger.locked():
        ledger.commit(staged(ledger))
        (tmp_path / "runs" / "two" / "manifest.parquet").unlink()
        os.utime(tmp_path / "runs" / "one" / "manifest.parquet", ns=(1, 1))
        ledger.commit(staged(ledger))
        assert contents(tmp_path, "rates") == ["one"]
        assert ledger.next_batch(100) is None


def test_tables_of_another_version_are_made_anew(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ledger.locked():
        ledger.commit(staged(ledger))
        monkeypatch.setattr(module, "VERSION", module.VERSION + 1)
        batch = ledger.next_batch(100)
        assert batch is not None
        assert list(batch.runs) == ["one"]
        assert len(batch.replaces) == 1


def test_a_batch_has_no_more_runs_than_asked_for(ledger: Ledger, tmp_path: Path) -> None:
    for name in ("two", "three"):
        new_run(tmp_path, name)
    with ledger.locked():
        batch = ledger.next_batch(2)
    assert batch is not None
    assert list(batch.runs) == ["one", "three"]


def test_a_folder_without_runs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Problem, match="expected a folder with results"), Ledger(tmp_path, []).locked():
        pass

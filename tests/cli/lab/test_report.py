"""`helio lab report` scores what is new, writes, and says where the report is."""

from pathlib import Path
from typing import Any

import pytest

from heliograph.cli.lab import results
from heliograph.cli.main import main
from lab.report import synthetic


@pytest.fixture
def scored(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What was handed to Spark, which is tested elsewhere: scoring takes longer than all of these tests."""
    calls: list[Any] = []
    monkeypatch.setattr(results, "score", calls.append)
    return calls


def test_scores_first_then_writes_and_prints_where(
    tmp_path: Path, scored: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    synthetic.write(tmp_path, synthetic.runs()[:1])
    assert main(["lab", "report", str(tmp_path), "--format", "html,md", "--master", "local[1]"]) == 0
    assert [(args.directory, args.master) for args in scored] == [(tmp_path, "local[1]")]
    assert capsys.readouterr().out.split() == [str(tmp_path / "report" / f"report.{name}") for name in ("html", "md")]


def test_a_folder_without_runs_is_refused_before_spark_starts(
    tmp_path: Path, scored: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["lab", "report", str(tmp_path)]) == 1
    assert "expected a folder with runs, found none; `helio lab run` makes them" in capsys.readouterr().err
    assert scored == []


def test_an_unknown_format_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["lab", "report", "--format", "html,pdf"])
    assert "expected any of html, csv, md, json, found 'pdf'" in capsys.readouterr().err

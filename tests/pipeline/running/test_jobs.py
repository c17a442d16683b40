"""Mistakes in the Python file of a job, none of which need Spark to be told."""

from pathlib import Path

import pytest

from heliograph.errors import Problem
from heliograph.pipeline.running.jobs import start_job
from heliograph.pipeline.running.pipeline import JobSettings, Pipeline


def told(tmp_path: Path, text: str) -> str:
    file = tmp_path / "job.py"
    file.write_text(text)
    pipeline = Pipeline("p", "stream:s", tmp_path, job=str(file))
    with pytest.raises(Problem) as problem:
        start_job(None, str(file), JobSettings(pipeline, once=False))  # type: ignore[arg-type]
    return str(problem.value).replace(str(file), "job.py")


def test_a_file_that_is_not_there() -> None:
    settings = JobSettings(Pipeline("p", "stream:s", Path(), job="x"), once=False)
    with pytest.raises(Problem, match=r"nowhere\.py: expected a Python file"):
        start_job(None, "nowhere.py", settings)  # type: ignore[arg-type]


def test_a_file_without_the_function(tmp_path: Path) -> None:
    assert told(tmp_path, "x = 1") == "job.py: expected a function build(spark, settings), found none"


def test_a_file_that_is_no_python(tmp_path: Path) -> None:
    assert told(tmp_path, "x = 1\ndef build(:\n").startswith("job.py:2: SyntaxError: ")


def test_an_exception_is_told_with_the_line_in_the_job(tmp_path: Path) -> None:
    text = "import json\ndef build(spark, settings):\n    return json.loads('?')\n"
    assert told(tmp_path, text).startswith("job.py:3: JSONDecodeError: ")


def test_a_result_that_is_no_list_of_queries(tmp_path: Path) -> None:
    expected = "job.py: expected build to return a list of streaming queries, found "
    assert told(tmp_path, "def build(spark, settings): pass") == expected + "None"
    assert told(tmp_path, "def build(spark, settings): return []") == expected + "[]"


def test_modules_beside_the_file_can_be_imported(tmp_path: Path) -> None:
    (tmp_path / "beside_the_job.py").write_text("ANSWER = 42")
    assert told(tmp_path, "from beside_the_job import ANSWER\ndef build(spark, settings): return ANSWER").endswith("42")

"""Jobs: Python files that start queries of their own."""

import importlib.util
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from heliograph.errors import Problem
from heliograph.pipeline.errors import JobError
from heliograph.pipeline.running.pipeline import JobSettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


def job_file(file: str) -> Path:
    """Where the file is; a Problem if it is not there."""
    path = Path(file).absolute()
    if not path.is_file():
        raise JobError(f"{file}: expected a Python file with build(spark, settings), found none")
    return path


def start_job(spark: "SparkSession", file: str, settings: JobSettings) -> list["StreamingQuery"]:
    """Call the file's `build(spark, settings)`, which starts queries. An exception becomes a Problem with its line."""
    path = job_file(file)
    folder = str(path.parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)  # as if the file had been run: what is beside it can be imported
    try:
        spec = importlib.util.spec_from_file_location(f"job_{path.stem}", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        build = getattr(module, "build", None)
        if not callable(build):
            raise JobError(f"{file}: expected a function build(spark, settings), found none")
        queries = build(spark, settings)
    except Problem:
        raise
    except Exception as error:
        raise JobError(f"{_place(path, error)}: {type(error).__name__}: {error}") from error
    if not isinstance(queries, list) or not queries or not all(hasattr(one, "lastProgress") for one in queries):
        raise JobError(f"{file}: expected build to return a list of streaming queries, found {queries!r}")
    return queries


def _place(path: Path, error: Exception) -> str:
    """The last line of the job itself that had a part in it."""
    if isinstance(error, SyntaxError) and error.lineno is not None:
        return f"{error.filename}:{error.lineno}"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return f"{path}:{lines[-1]}" if lines else str(path)

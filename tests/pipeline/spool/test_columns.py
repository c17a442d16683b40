"""Columns that a user's own schema may have where a broker is read."""

from pathlib import Path

import pytest
from pyspark.sql.types import StructType

from heliograph.errors import Problem
from heliograph.pipeline.spool.reading import spool_reader, spool_schema


def options(spool: Path) -> dict[str, str]:
    return {"topic": "plant/#", "spool": str(spool)}


@pytest.mark.parametrize(("name", "kind"), [("text", "boolean"), ("expiry", "long")])
def test_what_only_streams_have_is_refused(tmp_path: Path, name: str, kind: str) -> None:
    wanted = StructType().add("topic", "string").add(name, kind)
    with pytest.raises(Problem, match=f'unknown column "{name}".*; columns are: stream, partition'):
        spool_reader(wanted, options(tmp_path))


def test_all_columns_that_there_are_can_be_named(tmp_path: Path) -> None:
    for field in spool_schema(options(tmp_path)):
        spool_reader(StructType([field]), options(tmp_path))

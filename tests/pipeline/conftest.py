"""One Spark session for all tests of a process: starting one takes seconds."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from heliograph.pipeline.session import build_session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session on this machine, with our data sources; 1 GB of heap."""
    session = build_session("tests", quick=True, conf={"spark.driver.memory": "1g"})
    yield session
    session.stop()

"""One Spark session and one cluster for all tests of a process: starting them takes seconds."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from heliograph.pipeline.session import build_session
from pipeline.cluster import Cluster, running_cluster


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session on this machine, with our data sources; 1 GB of heap."""
    session = build_session("tests", quick=True, conf={"spark.driver.memory": "1g"})
    yield session
    session.stop()


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A master and two workers whose executors do not have our package: `cluster.run(program)`."""
    with running_cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running

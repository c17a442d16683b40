"""Which tests are run when, and by which process."""

import pytest
from xdist.scheduler import LoadFileScheduling

WITH_SPARK = (
    "tests/pipeline/flows/native/test_dropping.py",
    "tests/pipeline/flows/test_aggregation.py",
    "tests/pipeline/flows/test_example_flows.py",
    "tests/pipeline/flows/test_starting.py",
    "tests/pipeline/scoring/",
    "tests/pipeline/running/test_jobs.py",
    "tests/pipeline/sink/test_writing.py",
    "tests/pipeline/source/test_batch_reads.py",
    "tests/pipeline/source/test_streaming_reads.py",
    "tests/pipeline/spool/test_reading.py",
)
"""How the names of tests begin that share a session of Spark."""
LONG = (
    "tests/faults/test_pipeline_kills.py",
    "tests/lab/spark/test_spark_bench.py",
    "tests/pipeline/examples/test_telemetry.py::test_alerts",
    "tests/pipeline/flows/test_aggregation.py::test_sets_are_complete",
    "tests/pipeline/flows/test_cluster_flow.py",
    "tests/pipeline/scoring/test_scores.py::test_only_runs_that_are_new",
    "tests/pipeline/scoring/test_scores_on_a_cluster.py",
    "tests/pipeline/running/test_past.py",
    "tests/pipeline/running/test_run.py",
    "tests/pipeline/session/test_cluster.py",
    "tests/pipeline/session/test_session.py",
    "tests/pipeline/source/test_cluster_reads.py",
)
"""Those that start Spark again and again, or a cluster of it."""

ONE_BY_ONE = "tests/documents/test_pages.py"
"""Each page of the documentation is work enough for a process of its own."""


class SparkApart(LoadFileScheduling):
    """Files side by side, but all that need Spark in one process: they share a session, and two Javas at a time would
    be more than two cores can bear."""

    def _split_scope(self, nodeid: str) -> str:
        if nodeid.startswith(ONE_BY_ONE):
            return nodeid
        return "spark" if nodeid.startswith(WITH_SPARK) else super()._split_scope(nodeid)


def mark_spark(items: list[pytest.Item]) -> None:
    """The long ones take minutes together: `make test-spark` runs them, and `make test` all others."""
    for item in items:
        if item.nodeid.startswith(LONG):
            item.add_marker(pytest.mark.spark)
        elif item.nodeid.startswith(WITH_SPARK):
            item.add_marker(pytest.mark.spark_session)


def longest_first(items: list[pytest.Item]) -> None:
    """The longest piece of work comes first, so that nobody waits for it at the end."""
    items.sort(key=lambda item: not item.nodeid.startswith(WITH_SPARK))

"""Which tests are run when, and by which process."""

import pytest
from xdist.scheduler import LoadFileScheduling

_ROOMS = ("tests/pipeline/", "tests/faults/test_pipeline", "tests/lab/spark/")
"""How the names of tests begin that may need Spark."""
_FIXTURES = {"spark", "cluster"}
_WITH_A_SPARK_OF_THEIR_OWN = (
    "tests/faults/test_pipeline_kills.py",
    "tests/lab/spark/test_spark_measuring.py",
    "tests/pipeline/examples/test_telemetry.py::test_alerts",
    "tests/pipeline/measurements/test_scores_on_a_cluster.py",
    "tests/pipeline/running/test_run.py",
    "tests/pipeline/session/test_session.py",
    "tests/pipeline/session/test_cluster.py",
)
_ALWAYS = (
    "tests/pipeline/flows/test_example_flows.py",
    "tests/pipeline/measurements/",
    "tests/pipeline/source/test_batch_reads.py",
)
"""With Spark, but so quick that `make test` has them."""


class SparkApart(LoadFileScheduling):
    """Files side by side, but all that need Spark in one process: they share a session, and two Javas at a time would
    be more than two cores can bear."""

    def _split_scope(self, nodeid: str) -> str:
        return "spark" if nodeid.startswith(_ROOMS) else super()._split_scope(nodeid)


def mark_spark(items: list[pytest.Item]) -> None:
    """Tests that start Spark take minutes together: `make test-spark` runs them, and `make test` a few."""
    for item in items:
        needs = _FIXTURES & set(getattr(item, "fixturenames", ()))
        if item.nodeid.startswith(_WITH_A_SPARK_OF_THEIR_OWN) or (needs and not item.nodeid.startswith(_ALWAYS)):
            item.add_marker(pytest.mark.spark)


def longest_first(items: list[pytest.Item]) -> None:
    """The longest piece of work comes first, so that nobody waits for it at the end."""
    items.sort(key=lambda item: not item.nodeid.startswith(_ROOMS))

"""Which process runs which tests."""

import pytest
from xdist.scheduler import LoadFileScheduling

SPARK = ("tests/pipeline/", "tests/faults/test_pipeline", "tests/lab/spark/")
"""How the names of tests with Spark begin."""


class SparkApart(LoadFileScheduling):
    """Files side by side, but all that need Spark in one process: they share a session, and two Javas at a time would
    be more than two cores can bear."""

    def _split_scope(self, nodeid: str) -> str:
        return "spark" if nodeid.startswith(SPARK) else super()._split_scope(nodeid)


def spark_first(items: list[pytest.Item]) -> None:
    """The longest piece of work comes first, so that nobody waits for it at the end."""
    items.sort(key=lambda item: not item.nodeid.startswith(SPARK))

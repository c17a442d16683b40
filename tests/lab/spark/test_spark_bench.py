"""The measurement itself, on a real server and with real Spark, of very few messages."""

import pytest

from heliograph.lab.spark.site import spark_site
from heliograph.lab.spark.spark_bench import measure, written_before
from heliograph.lab.spark.spark_rows import SparkEffort

CASES = "source", "alerts"
TINY = SparkEffort(2000, 200, 100, 100, 500, 100, rounds=1, warm_seconds=0.5, alert_seconds=1.0)


@pytest.mark.timeout(400)  # fifteen seconds on a machine that does nothing else
def test_sources_are_read_and_alerts_come_with_nothing_lost():
    with spark_site(quick=True, write=written_before(TINY, CASES)) as site:
        rows = list(measure(site, TINY, CASES))
    assert [row.error for row in rows if row.error] == []
    assert len(rows) == 6 * 8 + 1
    assert all(row.run is not None and row.run.rate > 0 for row in rows[:-1])
    assert rows[-1].figures["50P ms"] > 0
    assert rows[-1].steps["addBatch"] > 0

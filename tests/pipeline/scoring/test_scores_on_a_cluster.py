"""Runs are scored by a cluster as they are here."""

import json
from pathlib import Path

import pytest

from pipeline.cluster import Cluster
from pipeline.scoring.made_runs import row, steady

SCORE = """
import json, sys
from pathlib import Path
from heliograph.pipeline.scoring import score_runs

master = str(spark.sparkContext.master)
print(json.dumps([master, score_runs(Path(sys.argv[1]), master=master).runs]))
spark.stop()
"""


@pytest.mark.timeout(300)
def test_a_cluster_scores_runs(cluster: Cluster, tmp_path: Path) -> None:
    for name, latency in (("one", 1.0), ("two", 2.0)):
        steady(name, latency_ms=latency).write(tmp_path)
    assert json.loads(cluster.run(SCORE, str(tmp_path)).splitlines()[-1]) == [cluster.master, 2]
    assert row(tmp_path, "percentiles", run="two")["p99_ms"] == 2.0

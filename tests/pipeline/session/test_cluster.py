"""On a cluster, executors get our package with the session."""

import json
import subprocess
from pathlib import Path

import pytest

from pipeline.cluster import Cluster

REPORT_FROM_EXECUTORS = """
import json

def report(batches):
    import importlib, os
    import pyarrow as pa

    for room in ("log.stream_index", "client", "flow.engine", "flow.engine.database"):
        importlib.import_module(f"heliograph.{room}")
    import google_crc32c, heliograph, sqlalchemy, xmlschema, yaml

    for batch in batches:
        found = {"directory": os.getcwd(), "ours": heliograph.__file__, "checksums": google_crc32c.implementation}
        yield pa.record_batch([pa.array([json.dumps(found)])], names=["report"])

rows = spark.range(0, 2, numPartitions=2).mapInArrow(report, "report string", barrier=True).collect()
print(json.dumps([json.loads(row.report) for row in rows]))
spark.stop()
"""


@pytest.mark.timeout(300)
def test_executors_of_both_workers_run_our_package_as_the_driver_sent_it(cluster: Cluster) -> None:
    alone = [cluster.python, "-c", "import heliograph"]
    without = subprocess.run(alone, env={}, capture_output=True, text=True, check=False)
    assert "No module named 'heliograph'" in without.stderr

    reports = json.loads(cluster.run(REPORT_FROM_EXECUTORS))

    assert len({report["directory"] for report in reports}) == 2
    for report in reports:
        assert Path(report["ours"]).is_relative_to(report["directory"])
        assert report["checksums"] == "c"

"""A session that just works."""

import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from heliograph.pipeline.session.java import find_java
from heliograph.pipeline.session.settings import this_machine

# Each of these may start a session of its own, which takes long on a busy machine.
pytestmark = pytest.mark.timeout(240)

ROWS_THROUGH_PYTHON = """
import os
from heliograph.pipeline.session import build_session
spark = build_session(quick=True, conf={"spark.driver.memory": "1g", "spark.driver.extraJavaOptions": "%s"})
assert "JAVA_HOME" not in os.environ, "what Spark was started with is left in the environment"
print(spark.range(10).mapInArrow(lambda batches: batches, "id long").groupBy().sum().collect()[0][0])
print(spark.sparkContext._jvm.System.getProperty("java.home"))
spark.stop()
"""


def run(environment: dict[str, str], java_options: str) -> subprocess.CompletedProcess[str]:
    """A program that sends rows through Python's workers and says which Java it ran on."""
    program = [sys.executable, "-c", ROWS_THROUGH_PYTHON % java_options]
    here = {"PYTHONPATH": str(Path(__file__).parents[3] / "src"), **environment}
    return subprocess.run(program, env=here, capture_output=True, text=True, check=False, timeout=200)


def test_rows_go_through_python_workers(spark: SparkSession) -> None:
    rows = spark.range(10).mapInArrow(lambda batches: batches, "id long").collect()
    assert [row.id for row in rows] == list(range(10))


def test_a_session_uses_the_cores_of_the_machine(spark: SparkSession) -> None:
    assert spark.sparkContext.defaultParallelism == this_machine().cores


def test_the_java_of_the_extra_carries_a_session_that_says_nothing(tmp_path: Path) -> None:
    for program in ("bash", "sh", "dirname", "env", "chmod", "readlink", "ps", "cat"):
        (tmp_path / program).symlink_to(Path("/usr/bin") / program)
    done = run({"PATH": str(tmp_path)}, "")
    assert done.stderr == ""
    assert done.stdout.split() == ["45", str(find_java({"PATH": str(tmp_path)}).home)]


def test_whoever_has_imported_mllib_can_use_it(tmp_path: Path) -> None:
    program = """
from pyspark.ml.linalg import Vectors
from pyspark.ml.regression import LinearRegression
from heliograph.pipeline.session import build_session
spark = build_session(quick=True, conf={"spark.driver.memory": "1g"})
points = spark.createDataFrame([(2.0 * x, Vectors.dense(x)) for x in range(5)], ["label", "features"])
print(round(LinearRegression().fit(points).coefficients[0], 3))
"""
    here = {"PYTHONPATH": str(Path(__file__).parents[3] / "src"), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=here, capture_output=True, text=True, check=False, timeout=200
    )
    assert done.stdout.split() == ["2.0"], done.stderr


def test_a_damaged_archive_is_ignored_in_silence(tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.jsa"
    damaged.write_bytes(b"\x00" * 100_000)
    done = run({"PATH": "/usr/bin:/bin"}, f"-XX:SharedArchiveFile={damaged}")
    assert done.stderr == ""
    assert done.stdout.split()[0] == "45"

"""A session that just works."""

from pyspark.sql import SparkSession


def test_a_session_counts_rows_in_python_workers(spark: SparkSession) -> None:
    rows = spark.range(10).mapInArrow(lambda batches: batches, "id long").collect()
    assert [row.id for row in rows] == list(range(10))


def test_a_session_knows_our_data_source(spark: SparkSession) -> None:
    assert spark.conf.get("spark.sql.python.filterPushdown.enabled") == "true"

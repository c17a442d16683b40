"""Measures pipelines on Spark: `helio bench spark` (`make bench-spark`)."""

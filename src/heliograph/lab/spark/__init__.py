"""Measures pipelines on Spark: `python -m heliograph.lab.spark` (`make bench-spark`)."""

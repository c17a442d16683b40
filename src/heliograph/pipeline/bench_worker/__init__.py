"""Spark's side of `make bench-spark`: a process with one session, which runs jobs and reports their times."""

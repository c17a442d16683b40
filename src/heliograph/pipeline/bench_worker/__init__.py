"""Spark's side of `make bench-spark`: a process with one session, which does jobs and says what they took."""

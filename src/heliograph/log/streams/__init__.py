"""Streams in the log: their partitions and index, and readers of them, from files or over HTTP."""

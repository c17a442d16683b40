"""Trials: runs of scenarios on systems under test, repeated, interleaved, and searched for the highest rate."""

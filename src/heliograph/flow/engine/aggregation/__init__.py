"""Aggregation: what was asked of whom, which replies have come, and what is still awaited."""

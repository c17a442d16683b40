"""The language of flows: ESQL, and its values."""

"""`format("heliograph-outputs")`: the one sink of a flow's query, which writes all of its outputs exactly once.

`data_source` is what Spark calls; `parquet` and `tables` write to files and databases, and messages go the way of
`pipeline.sink`. Workers of this sink do not need the flow itself.
"""

"""What Spark decides by itself: messages that a flow certainly drops do not go to Python.

A Filter that only compares fields of JSON with values becomes a condition on Spark's columns. The condition says of a
message either that the flow has no outputs for it, for certain, or nothing. In the first case the message is done. In
the other it goes through the flow in Python, as it would without this package, so outputs are made in one place only.

| module | |
|---|---|
| `verdicts` | three-valued logic of ESQL, in SQL, with what is certain |
| `operands` | values that are compared |
| `documents` | fields of a JSON text, and when Spark and our parser agree on it |
| `conditions` | ESQL's conditions as verdicts |
| `dropping` | Filter nodes, and where messages end in the graph |
| `marking` | all of it on a DataFrame, and what Python does with marked messages |
"""

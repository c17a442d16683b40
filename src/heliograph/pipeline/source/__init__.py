"""Streams of a server as rows of Spark: `spark.readStream.format("heliograph")`, and `spark.read` for back-fill."""

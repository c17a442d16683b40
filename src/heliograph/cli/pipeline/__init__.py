"""Run flows and jobs on Apache Spark: pipelines that read streams of a server, and send their outputs to one."""

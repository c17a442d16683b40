"""`helio pipeline`: flows and jobs on Spark."""

"""Other processes that the server starts and looks after: queue managers and pipelines."""

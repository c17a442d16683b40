"""The HTTP pages: health, metrics, statistics, queues, streams."""

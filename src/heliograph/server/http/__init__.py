"""The pages for people and programs: health, metrics, statistics, queues, streams."""

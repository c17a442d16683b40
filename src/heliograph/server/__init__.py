"""The process: listeners, configuration, life cycle, metrics."""

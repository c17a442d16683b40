"""heliograph: a messaging platform that moves runs of messages."""

__version__ = "0.1.0"

"""A SparkSession that just works: Java found or brought along, sized to the machine, quiet, and quick to start."""

from heliograph.pipeline.session.session import build_session, set_up

__all__ = ["build_session", "set_up"]

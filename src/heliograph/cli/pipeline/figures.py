"""Figures of pipelines for people, and those of one pipeline."""

import time
from collections.abc import Mapping
from typing import Any

from heliograph.cli.queues.mqsc_commands import Ask
from heliograph.cli.shared.tables import duration
from heliograph.errors import Problem


def find(ask: Ask, name: str) -> dict[str, Any]:
    """The pipeline of this name; a Problem names those that there are."""
    pipelines: list[dict[str, Any]] = ask("pipeline-list", {})
    for one in pipelines:
        if one["name"] == name:
            return one
    there = ", ".join(one["name"] for one in pipelines) or "none"
    raise Problem(f"no pipeline {name!r}; there are: {there}")


def number(value: int | None) -> int | str:
    """What is not known is a dash."""
    return "-" if value is None else value


def lag_text(seconds: float | None) -> str:
    """A time that somebody is behind."""
    if seconds is None:
        return "-"
    return duration(seconds) or "0 s"


def when(seconds: float) -> str:
    """A time in UTC; nothing for none."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds)) if seconds else ""


def progress_text(status: Mapping[str, Any]) -> str:
    """How a pipeline is doing, in one line."""
    batch = "" if status["batch"] is None else f"batch {status['batch']}, "
    line = (
        f"{status['name']}: {status['state']}, {batch}{status['rows']:,} rows, {status['rows_per_second']:,.0f} rows/s"
    )
    if status["lag_messages"] is not None:
        line += f", lag {status['lag_messages']:,} messages, {lag_text(status['lag_seconds'])}"
    return line

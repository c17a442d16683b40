"""What a server tells of its pipelines: a list, all of one, and how far they are behind their streams."""

import argparse
import json
import time
from collections.abc import Mapping
from typing import Any

from heliograph.cli.commands import Action
from heliograph.cli.errors import UnknownPipeline
from heliograph.cli.shared.amqp import Ask, add_url, management
from heliograph.cli.shared.output import duration, pairs, table

_LIST_EXAMPLES = """\
  helio pipeline list
  helio pipeline list --url amqp://admin:secret@broker.example.com --json
"""
_STATUS_EXAMPLES = """\
  helio pipeline status telemetry
  helio pipeline status telemetry --json | jq .offsets
"""
_LAG_EXAMPLES = """\
  helio pipeline lag
  helio pipeline lag telemetry --watch
  helio pipeline lag telemetry --json
"""
_LIST_HEADINGS = ("NAME", "STATE", "PID", "RUNS", "SOURCE", "BATCH", "ROWS", "ROWS/S", "LAG", "LAG TIME", "RESTARTS")
_WATCH_SECONDS = 2.0


def list_pipelines(ask: Ask) -> list[dict[str, Any]]:
    """All pipelines that the server knows."""
    pipelines: list[dict[str, Any]] = ask("pipeline-list", {})
    return pipelines


def find(ask: Ask, name: str) -> dict[str, Any]:
    """The pipeline of this name; UnknownPipeline, with the names that there are, if there is none."""
    pipelines = list_pipelines(ask)
    for one in pipelines:
        if one["name"] == name:
            return one
    there = ", ".join(one["name"] for one in pipelines) or "none"
    raise UnknownPipeline(f"no pipeline {name!r}; there are: {there}")


def progress_text(status: Mapping[str, Any]) -> str:
    """The progress of a pipeline in one line."""
    batch = "" if status["batch"] is None else f"batch {status['batch']}, "
    line = (
        f"{status['name']}: {status['state']}, {batch}{status['rows']:,} rows, {status['rows_per_second']:,.0f} rows/s"
    )
    if status["lag_messages"] is not None:
        line += f", lag {status['lag_messages']:,} messages, {_lag_text(status['lag_seconds'])}"
    return line


def _list_arguments(parser: argparse.ArgumentParser) -> None:
    add_url(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")


def _list(args: argparse.Namespace) -> int:
    with management(args.url) as ask:
        pipelines = list_pipelines(ask)
    if args.json:
        print(json.dumps(pipelines, indent=2))
        return 0
    rows = [
        (
            one["name"],
            one["state"],
            one["pid"] or "-",
            one["runs"],
            one["source"],
            _number(one["batch"]),
            one["rows"],
            round(one["rows_per_second"]),
            _number(one["lag_messages"]),
            _lag_text(one["lag_seconds"]),
            one["restarts"],
        )
        for one in pipelines
    ]
    print(*table(_LIST_HEADINGS, rows), sep="\n")
    return 0


def _status_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="the pipeline")
    _list_arguments(parser)


def _status(args: argparse.Namespace) -> int:
    with management(args.url) as ask:
        pipeline = find(ask, args.name)
    for line in [json.dumps(pipeline, indent=2)] if args.json else pairs(_status_pairs(pipeline)):
        print(line)
    return 0


def _status_pairs(pipeline: dict[str, Any]) -> dict[str, Any]:
    offsets = [
        f"{stream} {partition}: {offset}"
        for stream, partitions in pipeline["offsets"].items()
        for partition, offset in sorted(partitions.items(), key=lambda pair: int(pair[0]))
    ]
    return {
        "name": pipeline["name"],
        "state": pipeline["state"],
        "configured": pipeline["configured"],
        "runs": pipeline["runs"],
        "source": pipeline["source"],
        "pid": pipeline["pid"] or "-",
        "since": _when(pipeline["since"]),
        "last update": _when(pipeline["updated"]),
        "batch": _number(pipeline["batch"]),
        "rows": pipeline["rows"],
        "rows per second": pipeline["rows_per_second"],
        "next offsets": offsets or "-",
        "lag, messages": _number(pipeline["lag_messages"]),
        "lag, time": _lag_text(pipeline["lag_seconds"]),
        "restarts": pipeline["restarts"],
        "last error": pipeline["error"] or "-",
    }


def _lag_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="the pipeline (default: all)")
    add_url(parser)
    parser.add_argument("--json", action="store_true", help="print JSON, one line each time")
    parser.add_argument("--watch", action="store_true", help="print again every 2 seconds, until Ctrl-C")


def _lag(args: argparse.Namespace) -> int:
    with management(args.url) as ask:
        while True:
            pipelines = list_pipelines(ask) if args.name is None else [find(ask, args.name)]
            if args.json:
                print(json.dumps([_lag_figures(one) for one in pipelines]), flush=True)
            else:
                _print_lag(pipelines)
            if not args.watch:
                return 0
            time.sleep(_WATCH_SECONDS)


def _lag_figures(one: dict[str, Any]) -> dict[str, Any]:
    return {key: one[key] for key in ("name", "state", "lag_messages", "lag_seconds", "rows_per_second")}


def _print_lag(pipelines: list[dict[str, Any]]) -> None:
    rows = [
        (
            one["name"],
            one["state"],
            _number(one["lag_messages"]),
            _lag_text(one["lag_seconds"]),
            round(one["rows_per_second"]),
        )
        for one in pipelines
    ]
    print(*table(("NAME", "STATE", "MESSAGES", "TIME", "ROWS/S"), rows), sep="\n", flush=True)


def _number(value: int | None) -> int | str:
    """What is not known is a dash."""
    return "-" if value is None else value


def _lag_text(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    return duration(seconds) or "0 s"


def _when(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds)) if seconds else "-"


ACTIONS = {
    "list": Action(
        "List the pipelines of a server: those of its configuration, and others that have a folder in its data.",
        _LIST_EXAMPLES,
        _list_arguments,
        _list,
    ),
    "status": Action(
        "Show the state of a pipeline, what it runs, its progress, and its last error.",
        _STATUS_EXAMPLES,
        _status_arguments,
        _status,
    ),
    "lag": Action(
        "Show how far pipelines are behind: unprocessed messages, and the age of the oldest of them.",
        _LAG_EXAMPLES,
        _lag_arguments,
        _lag,
    ),
}

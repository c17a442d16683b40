"""Run flows and jobs on Apache Spark: pipelines that read streams of a server, and where their outputs go."""

import argparse

from heliograph.cli.actions import add_actions, run_action

_ACTIONS = {
    "run": "run a flow or a job on a stream, until it is stopped, once, or over a range of the past",
    "list": "list the pipelines of a server",
    "status": "show all there is to know of one",
    "lag": "show how far behind pipelines are",
    "start": "start one that was stopped, and wait until it runs",
    "stop": "stop one until it is started again, and wait until it has stopped",
    "remove": "forget one that does not run and is not in the server's configuration",
    "compare": "run the past through two versions of a flow, and show what differs",
    "setup": "prepare this machine, so that pipelines start sooner",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `helio pipeline`."""
    add_actions(parser, "pipeline", _ACTIONS)


def run(args: argparse.Namespace) -> int:
    """Do what the arguments ask for."""
    return run_action("pipeline", args)

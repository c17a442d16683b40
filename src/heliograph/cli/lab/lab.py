"""The lab: put load on this server or any other broker, measure, find the peak, keep raw data, write reports."""

import argparse

from heliograph.cli.actions import add_actions, run_action

_ACTIONS = {
    "list": "list the scenarios, and the systems that they can be run on",
    "show": "show a scenario: what it does, with which load, and when it has passed",
    "run": "run scenarios on one system or several, and keep raw data",
    "search": "find the highest rate that holds a scenario's pass rule",
    "compare": "tell whether one set of runs is really better than another",
    "report": "write a report of what was measured: a page, CSV, Markdown, JSON",
    "power": "add the log of a power meter to runs",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `helio lab`."""
    add_actions(parser, "lab", _ACTIONS)


def run(args: argparse.Namespace) -> int:
    """Do what the arguments ask for."""
    return run_action("lab", args)

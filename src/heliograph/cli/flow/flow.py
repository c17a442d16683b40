"""Write, check, draw, test, run and measure message flows: folders with a flow.yaml, ESQL, models and test cases."""

import argparse

from heliograph.cli.actions import add_actions, run_action

_ACTIONS = {
    "new": "begin a flow: a small one that is complete, with test cases",
    "lint": "check flows, without running anything",
    "show": "draw a flow",
    "test": "run the test cases of a flow, without a server",
    "compile": "show the Python that ESQL, mappings and models become",
    "run": "run a flow beside a server",
    "trace": "send messages through a flow, without a server, and print every step",
    "profile": "print the time that each node takes",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `helio flow`."""
    add_actions(parser, "flow", _ACTIONS)


def run(args: argparse.Namespace) -> int:
    """Do what the arguments ask for."""
    return run_action("flow", args)

"""Measure what one process must do at the least to pass messages on and keep them: no broker can cost less."""

import argparse

from heliograph.lab.bench import measure_copying

EXAMPLES = """\
  helio bench copy
"""


def add_arguments(_parser: argparse.ArgumentParser) -> None:
    """It has none."""


def run(_args: argparse.Namespace) -> int:
    """Measure and print."""
    measure_copying()
    return 0

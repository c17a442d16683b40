"""Check flows: the flow file, ESQL, mappings, models, subflows, settings, test cases, and every environment.

All mistakes are reported at once, with file, line and column. The exit status is 1 if there are mistakes, and 0 if
there are only warnings.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from heliograph.cli.flow.options import MISTAKE, WARNING, Finding, counted, finding
from heliograph.common.documents import Place
from heliograph.errors import Problem
from heliograph.flow.engine import compile_flow
from heliograph.flow.errors import DefinitionProblem, Mistake
from heliograph.flow.inline import read_flow_settings
from heliograph.flow.loading import flow_file, load_flow
from heliograph.flow.testing import read_cases

EXAMPLES = """\
  helio flow lint orders
  helio flow lint flows/*
  helio flow lint orders --env production
  helio flow lint orders --json | jq '.[].file'
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `helio flow lint`."""
    parser.add_argument("folders", type=Path, nargs="+", metavar="DIR", help="the folder of a flow")
    parser.add_argument("--env", metavar="ENV", help="with the parameters of this environment only (default: of each)")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Check all of them."""
    findings = [found for folder in args.folders for found in sorted(set(_findings(folder, args.env)))]
    mistakes = sum(found.severity == MISTAKE for found in findings)
    if args.json:
        print(json.dumps([found.facts() for found in findings], indent=2))
    else:
        for found in findings:
            print(found)
        flows = counted(len(args.folders), "flow")
        warnings = counted(len(findings) - mistakes, "warning")
        print(f"{flows} checked: {counted(mistakes, 'mistake')}, {warnings}")
    return 1 if mistakes else 0


def _findings(folder: Path, environment: str | None) -> Iterator[Finding]:
    home = folder.parent if folder.is_file() else folder
    there = sorted(file.stem for file in (home / "parameters").glob("*.yaml"))
    for chosen in [environment] if environment is not None else [None, *there]:
        yield from _of_environment(folder, chosen)
    for file in sorted((home / "tests").glob("*.yaml")):
        try:
            read_cases(file, f"tests/{file.name}")
        except DefinitionProblem as problem:
            yield from _of_problem(folder, problem)


def _of_environment(folder: Path, environment: str | None) -> Iterator[Finding]:
    try:
        definition = load_flow(folder, environment)
    except DefinitionProblem as problem:
        yield from _of_problem(folder, problem)
        return
    for warning in definition.warnings:
        yield finding(folder, warning, WARNING)
    try:
        read_flow_settings(definition)
        compile_flow(definition)
    except DefinitionProblem as problem:
        yield from _of_problem(folder, problem)
    except Problem as problem:
        yield finding(folder, Mistake(Place(flow_file(folder).name), str(problem)))


def _of_problem(folder: Path, problem: DefinitionProblem) -> Iterator[Finding]:
    for mistake in problem.mistakes:
        yield finding(folder, mistake)
    for warning in problem.warnings:
        yield finding(folder, warning, WARNING)

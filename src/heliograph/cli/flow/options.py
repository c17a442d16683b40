"""What the commands of `helio flow` have in common: which flow, in which environment, with which parameters."""

import argparse
from pathlib import Path
from typing import Any

from heliograph.cli.flow.findings import counted, finding
from heliograph.common.documents import read_document
from heliograph.errors import Problem
from heliograph.flow.definition import DefinitionProblem, Findings, FlowDefinition
from heliograph.flow.loading import load_flow


def add_flow(parser: argparse.ArgumentParser) -> None:
    """The folder, the environment and parameters."""
    parser.add_argument("folder", type=Path, metavar="DIR", help="the folder of the flow")
    add_parameters(parser)


def add_parameters(parser: argparse.ArgumentParser) -> None:
    """The environment and parameters."""
    parser.add_argument("--env", metavar="ENV", help="take the parameters of parameters/ENV.yaml")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        type=parameter,
        metavar="NAME=VALUE",
        help="the value of a parameter, before all others; can be repeated",
    )


def load(args: argparse.Namespace) -> FlowDefinition:
    """The flow that the arguments name; what is wrong with it is shown with the lines it stands in."""
    return load_from(args.folder, args.env, dict(args.set))


def load_from(folder: Path, environment: str | None = None, parameters: dict[str, Any] | None = None) -> FlowDefinition:
    """The flow of a folder; what is wrong with it is shown with the lines it stands in."""
    try:
        return load_flow(folder, environment, parameters)
    except DefinitionProblem as problem:
        raise explained(folder, problem) from problem


def explained(folder: Path, problem: DefinitionProblem) -> Problem:
    """The same with the lines that the mistakes stand in."""
    count = len(problem.mistakes)
    told = [str(finding(folder, mistake)) for mistake in problem.mistakes]
    return Problem("\n".join([f"{counted(count, 'mistake')} in {folder}", *told]))


def parameter(text: str) -> tuple[str, Any]:
    """`NAME=VALUE`, read as in a parameters file: numbers are numbers, and quotes make a text of anything."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"expected NAME=VALUE, found {text!r}")
    findings = Findings()
    read = read_document(value, name, findings.mistake).value
    try:
        findings.raise_mistakes()
    except DefinitionProblem as problem:
        raise argparse.ArgumentTypeError(f"{problem} (quotes make a text of it)") from problem
    return name, "" if read is None else read

"""What commands of `helio flow` have in common: the flow, its parameters, its mistakes, and the messages to send."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from heliograph.common.documents import read_document
from heliograph.errors import InvalidInput, Problem, StorageError
from heliograph.flow.definition import Findings, FlowDefinition
from heliograph.flow.engine import Observer
from heliograph.flow.errors import DefinitionProblem, Mistake
from heliograph.flow.loading import load_flow
from heliograph.flow.testing import Case, CaseStep, FlowUnderTest, prepared_flow, select_cases

MISTAKE = "mistake"
WARNING = "warning"


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One thing that is wrong with a flow, or hardly meant."""

    file: str
    """As seen from where the command is run."""
    line: int
    """From 1; 0 if the file as a whole is meant."""
    column: int
    severity: str
    text: str
    source_line: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        kind = "warning: " if self.severity == WARNING else ""
        told = f"{place}: {kind}{self.text}"
        if not self.source_line.strip():
            return told
        # A tab stays a tab under a tab, so that the caret is where the eye looks for it.
        before = "".join("\t" if character == "\t" else " " for character in self.source_line[: self.column - 1])
        return f"{told}\n  {self.source_line}\n  {before}^"

    def facts(self) -> dict[str, Any]:
        """For programs."""
        return asdict(self)


def finding(folder: Path, mistake: Mistake, severity: str = MISTAKE) -> Finding:
    """A mistake that was found in a flow's folder (or its file)."""
    place = mistake.place
    file = (folder.parent if folder.is_file() else folder) / place.file
    text, _, _ = mistake.text.partition("\n")  # what follows is a picture of the line, which is drawn here
    return Finding(str(file), place.line, place.column, severity, text, _line(file, place.line))


def _line(file: Path, line: int) -> str:
    if not line:
        return ""
    try:
        lines = file.read_text("utf-8").split("\n")
    except (OSError, UnicodeDecodeError):
        return ""
    return lines[line - 1].rstrip("\r") if line <= len(lines) else ""


def counted(number: int, what: str) -> str:
    """`1 mistake`, `2 mistakes`, `no mistakes`."""
    return f"{number or 'no'} {what}{'' if number == 1 else 's'}"


def add_flow(parser: argparse.ArgumentParser) -> None:
    """The folder, the environment and parameters."""
    parser.add_argument("folder", type=Path, metavar="DIR", help="the folder of the flow")
    add_parameters(parser)


def add_parameters(parser: argparse.ArgumentParser) -> None:
    """The environment and parameters."""
    parser.add_argument("--env", metavar="ENV", help="use the parameters of parameters/ENV.yaml")
    add_set(parser, "the value of a parameter; overrides all other sources; repeatable")


def add_set(parser: argparse.ArgumentParser, text: str) -> None:
    """The option that gives a parameter a value."""
    parser.add_argument("--set", action="append", default=[], type=parameter, metavar="NAME=VALUE", help=text)


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


def add_inputs(parser: argparse.ArgumentParser) -> None:
    """The flow, and what is sent to it."""
    add_flow(parser)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--input", nargs="+", metavar="FILE", help="files with one message each (- is standard input)")
    what.add_argument(
        "--case", metavar="CASE", help="send the messages of a test case, with its database rows and clock"
    )
    parser.add_argument("--into", metavar="NODE", help="the input node, if the flow has several")


@contextmanager
def flow_and_steps(
    args: argparse.Namespace, observer: Observer | None = None
) -> Iterator[tuple[FlowUnderTest, list[tuple[str, CaseStep]]]]:
    """The flow with everything around it in memory, and what to send, each with a name."""
    if args.case is None:
        steps = [(name, CaseStep(_read(name), args.into)) for name in args.input]
        now = datetime.now().astimezone().replace(tzinfo=None)
        with FlowUnderTest(load(args), now=now, observer=observer) as flow:
            yield flow, steps
        return
    if args.into is not None:
        raise InvalidInput("--into goes with --input; a test case says itself where its messages go")
    case = _case(args)
    with prepared_flow(args.folder, case, observer) as flow:
        yield flow, [(f"{case.name}, {at}", step) for at, step in enumerate(case.steps, 1)]


def _read(name: str) -> bytes:
    if name == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise StorageError(f"{name} cannot be read: {error.strerror}") from error


def _case(args: argparse.Namespace) -> Case:
    try:
        found = select_cases(args.folder, [args.case])
    except DefinitionProblem as problem:
        raise explained(args.folder, problem) from problem
    exact = [case for case in found if args.case in (case.name, case.name.partition(": ")[2])]
    if len(exact or found) > 1:
        names = ", ".join(repr(case.name) for case in found)
        raise InvalidInput(f"{args.folder}/tests: expected one case, found several with {args.case!r}: {names}")
    (case,) = exact or found
    case.environment = args.env or case.environment
    case.parameters.update(args.set)
    return case

"""Messages that are sent through a flow without a server: from files, or those of a test case."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from heliograph.cli.flow.options import add_flow, explained, load
from heliograph.errors import Problem
from heliograph.flow.definition import DefinitionProblem
from heliograph.flow.engine import Observer
from heliograph.flow.testing import Case, FlowUnderTest, Step, prepared, select_cases


def add_inputs(parser: argparse.ArgumentParser) -> None:
    """The flow, and what is sent to it."""
    add_flow(parser)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--input", nargs="+", metavar="FILE", help="files with one message each (- is standard input)")
    what.add_argument("--case", metavar="CASE", help="the messages of a test case, with its rows and its time")
    parser.add_argument("--into", metavar="NODE", help="the input node, if the flow has several")


@contextmanager
def flow_and_steps(
    args: argparse.Namespace, observer: Observer | None = None
) -> Iterator[tuple[FlowUnderTest, list[tuple[str, Step]]]]:
    """The flow with everything around it in memory, and what to send, each with a name."""
    if args.case is None:
        steps = [(name, Step(_read(name), args.into)) for name in args.input]
        now = datetime.now().astimezone().replace(tzinfo=None)
        with FlowUnderTest(load(args), now=now, observer=observer) as flow:
            yield flow, steps
        return
    if args.into is not None:
        raise Problem("--into goes with --input; a test case says itself where its messages go")
    case = _case(args)
    with prepared(args.folder, case, observer) as flow:
        yield flow, [(f"{case.name}, {at}", step) for at, step in enumerate(case.steps, 1)]


def _read(name: str) -> bytes:
    if name == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise Problem(f"{name} cannot be read: {error.strerror}") from error


def _case(args: argparse.Namespace) -> Case:
    try:
        found = select_cases(args.folder, [args.case])
    except DefinitionProblem as problem:
        raise explained(args.folder, problem) from problem
    exact = [case for case in found if args.case in (case.name, case.name.partition(": ")[2])]
    if len(exact or found) > 1:
        names = ", ".join(repr(case.name) for case in found)
        raise Problem(f"{args.folder}/tests: expected one case, found several with {args.case!r}: {names}")
    (case,) = exact or found
    case.environment = args.env or case.environment
    case.parameters.update(args.set)
    return case

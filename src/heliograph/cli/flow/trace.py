"""Send messages through a flow, without a server, and print every step.

For each step: the terminal, the node, and what has changed in the trees since the node before; at the first, the whole
message. Lines with * are what is sent, with # what is logged, with ! what fails. Databases are empty ones; a test case
(--case) brings its rows.
"""

import argparse
import sys

from heliograph.cli.flow.inputs import add_inputs, flow_and_steps
from heliograph.cli.flow.steps import Steps, described
from heliograph.cli.shared.colours import BOLD, CYAN, GREEN, RED, YELLOW, coloured, wants_colour
from heliograph.common.terminal import steer, visible
from heliograph.errors import Problem
from heliograph.flow.definition import known, suggestion
from heliograph.flow.engine import Result
from heliograph.flow.testing import FlowUnderTest

EXAMPLES = """\
  helio flow trace orders --input big.xml
  helio flow trace orders --input big.xml --node check
  helio flow trace orders --case 'small order'
  echo '<Order/>' | helio flow trace orders --input - --set limit=5
"""

_COLOURS = {"+ ": GREEN, "- ": RED, "! ": RED, "* ": CYAN, "# ": YELLOW}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `helio flow trace`."""
    add_inputs(parser)
    parser.add_argument(
        "--node", action="append", default=[], metavar="NAME", help="only steps from or to this node; can be repeated"
    )


def run(args: argparse.Namespace) -> int:
    """Trace them one after the other; 1 if one failed."""
    tell = _tell_in_colour if wants_colour(sys.stdout) else print
    steps = Steps(tell, args.node)
    with flow_and_steps(args, steps.observe) as (flow, messages):
        _check_nodes(args.node, flow)
        for name, step in messages:
            steps.begin(flow)
            if step.wait is not None:
                tell(f"{name}: {step.wait:g} seconds pass")
                flow.wait(step.wait)
                continue
            tell(f"{name}: {len(step.body)} bytes")
            result = flow.send(step.body, step.node, **step.envelope)
            for text in _ending(flow, result):
                tell(text)
    return 1 if flow.failures else 0


def _check_nodes(names: list[str], flow: FlowUnderTest) -> None:
    nodes = flow.definition.nodes
    for name in names:
        if name not in nodes:
            raise Problem(f"there is no node {name}{suggestion(name, nodes)}; there are: {known(nodes)}")


def _ending(flow: FlowUnderTest, result: Result) -> list[str]:
    if result is Result.DONE:
        return ["done"]
    lines = [f"! {result.value}: {flow.failures[-1].text}"]
    if result is Result.DEAD_LETTER:
        lines.append(f"* {described(flow.dead_letters[-1])}")
    return lines


def _tell_in_colour(line: str) -> None:
    colour = _COLOURS.get(line.lstrip()[:2])
    if colour is None and " -> " in line and line.rstrip().endswith(")"):
        colour = BOLD
    line = visible(line)
    steer(sys.stdout, (coloured(line, colour) if colour else line) + "\n")

"""Send messages through a flow, without a server, and print every step.

For each step: the terminal, the node, and the changes to the trees since the previous node; for the first step, the
whole message. Lines with * show messages sent, with # log entries, with ! failures. Databases are empty, unless a test
case (--case) has rows for them.
"""

import argparse
import re
import sys
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from difflib import unified_diff

from heliograph.cli.flow.options import add_inputs, flow_and_steps
from heliograph.cli.shared.output import BOLD, CYAN, GREEN, RED, YELLOW, coloured, wants_colour
from heliograph.common.terminal import steer, visible
from heliograph.errors import InvalidInput, Problem
from heliograph.flow.definition import Connection, known, suggestion
from heliograph.flow.engine import (
    Assembly,
    DeadLetter,
    Effect,
    ExceptionRecord,
    FlowException,
    Publish,
    Put,
    Respond,
    Result,
    Run,
    Target,
    WriteFile,
    copy_root,
)
from heliograph.flow.language import dump_tree
from heliograph.flow.testing import FlowUnderTest
from heliograph.flow.tree import Element

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
        "--node", action="append", default=[], metavar="NAME", help="print only steps from or to this node; repeatable"
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
            raise InvalidInput(f"there is no node {name}{suggestion(name, nodes)}; there are: {known(nodes)}")


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


_CONTEXT = 2
_WIDEST = 400
"""Characters of a line; bytes of a big BLOB are cut there."""

Trees = dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class _Visit:
    """A node that has a message now."""

    node: str
    trees: Trees


class Steps:
    """An observer of a compiled flow that tells what it sees."""

    def __init__(self, tell: Callable[[str], None], nodes: Collection[str] = ()) -> None:
        """`nodes`: only steps from or to these, if there are any."""
        self._tell = tell
        self._nodes = nodes
        self._flow: FlowUnderTest | None = None
        self._visits: list[_Visit] = []
        self._told_effects = self._told_events = self._told_trace = 0
        self._told_exception: ExceptionRecord | None = None
        self._attempt = 0

    def begin(self, flow: FlowUnderTest) -> None:
        """A new message comes to this flow, whose connections are observed."""
        self._flow = flow
        self._told_effects = self._told_events = self._attempt = 0
        self._told_exception = None

    def observe(self, connection: Connection, target: Target) -> Target:
        """See `engine.compiled.Observer`."""

        def accept(assembly: Assembly, run: Run) -> None:
            self._enter(connection, assembly, run)
            try:
                target(assembly, run)
            except FlowException as error:
                self._news(run)
                self._failed(connection.target, error.record)
                raise
            finally:
                self._news(run)
                self._visits.pop()

        return accept

    # What happens

    def _enter(self, connection: Connection, assembly: Assembly, run: Run) -> None:
        self._news(run)
        if run.origin.backout_count and run.origin.backout_count != self._attempt:
            self._attempt = run.origin.backout_count
            self._told_effects = self._told_events = 0
            self._tell(f"backed out; attempt {self._attempt + 1}")
        trees = _trees(assembly, run)
        source = connection.source or (self._visits[-1].node if self._visits else "")
        if self._is_wanted(source, connection.target):
            assert self._flow is not None
            node = self._flow.definition.nodes[connection.target]
            into = "" if connection.input == "in" else f".{connection.input}"
            self._line(f"{source}.{connection.terminal or 'label'} -> {node.name}{into} ({node.type})")
            before = self._visits[-1].trees if self._visits else None
            for line in _changes(before, trees):
                self._line(f"  {line}")
        self._visits.append(_Visit(connection.target, trees))

    def _failed(self, node: str, record: ExceptionRecord) -> None:
        """Print an exception once, at the node that raised it: it passes many nodes on its way back."""
        if record is self._told_exception or not self._is_wanted(node):
            return
        self._told_exception = record
        for number, line in enumerate(record.describe().splitlines()):
            self._line(f"! {line}" if number == 0 else f"  {line}")

    def _news(self, run: Run) -> None:
        """What was sent, logged and traced since the last look."""
        for effect in run.effects[self._told_effects :]:
            if self._is_wanted(effect.node):
                self._line(f"* {described(effect)}")
        for event in run.logged[self._told_events :]:
            if self._is_wanted(event.node):
                self._lines(f"# {event.severity} in {event.node}: {event.text}")
        self._told_effects, self._told_events = len(run.effects), len(run.logged)
        trace = self._flow.trace if self._flow is not None else ""
        for line in trace[self._told_trace :].splitlines():
            self._line(f"# trace: {line}")
        self._told_trace = len(trace)

    # Telling

    def _is_wanted(self, *nodes: str) -> bool:
        return not self._nodes or any(node in self._nodes for node in nodes)

    def _line(self, text: str) -> None:
        self._tell("  " * len(self._visits) + text)

    def _lines(self, text: str) -> None:
        for number, line in enumerate(text.splitlines()):
            self._line(line if number == 0 else f"  {line}")


def described(effect: Effect) -> str:
    """What is sent, in a line."""
    match effect:
        case Put():
            return f"put on {effect.queue}: {_shown(effect.envelope.body)}"
        case Publish():
            return f"publish on {effect.topic}: {_shown(effect.envelope.body)}"
        case WriteFile():
            verb = "append to" if effect.append else "write"
            return f"{verb} {effect.directory}/{effect.name}: {_shown(effect.data)}"
        case Respond():
            return f"answer with {effect.status}: {_shown(effect.body)}"
        case DeadLetter():
            return f"dead letter on {effect.queue}: {effect.reason}"


def _shown(data: bytes) -> str:
    text = data[:60].decode("utf-8", "replace")
    start = "".join(character if character.isprintable() else "." for character in text)
    return f"{len(data)} bytes, {start}{'...' if len(data) > 60 else ''}"


def _trees(assembly: Assembly, run: Run) -> Trees:
    return {
        "Message": _lines_of(lambda: copy_root(assembly.message.root)),
        "LocalEnvironment": _lines_of(lambda: assembly.local_environment),
        "ExceptionList": _lines_of(lambda: assembly.exception_list),
        "Environment": _lines_of(lambda: run.environment),
    }


def _lines_of(tree: Callable[[], Element]) -> list[str]:
    """A tree as lines; one that cannot be read says why.

    Messages are copied before they are looked at, so that the flow reads no more of them than it does otherwise.
    """
    try:
        element = tree()
        return [_cut(line) for child in element.children for line in _dumped(child)]
    except Problem as problem:
        return [f"(cannot be read: {problem})"]


def _dumped(element: Element) -> Iterator[str]:
    try:
        yield from dump_tree(element).splitlines()
    except Problem as problem:
        yield f"{element.name} (cannot be read: {problem})"


def _cut(line: str) -> str:
    return line if len(line) <= _WIDEST else f"{line[:_WIDEST]}... ({len(line)} characters)"


def _changes(before: Trees | None, now: Trees) -> Iterator[str]:
    """All of a message that comes in, and afterwards what is different."""
    for name, lines in now.items():
        old = before[name] if before is not None else []
        if lines == old:
            continue
        yield f"{name}:"
        if not old:
            yield from (f"    {line}" if before is None else f"  + {line}" for line in lines)
            continue
        for line in [*unified_diff(old, lines, lineterm="", n=_CONTEXT)][2:]:
            yield "    ..." if re.match(r"@@ -\d", line) else f"  {line[0]} {line[1:]}"

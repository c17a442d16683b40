"""Send messages through a flow, many times and without a server, and print where the time goes.

OWN is the CPU time of a node per input message; WITH BEHIND includes the nodes behind it. A message is parsed in the
node that first reads it, and serialized in the node that sends it. The rate is that of one instance, without the cost
of receiving messages from a server and sending them. Nothing is sent, and databases are rolled back.
"""

import argparse
from dataclasses import dataclass, replace
from time import thread_time_ns

from heliograph.cli.flow.options import add_inputs, flow_and_steps
from heliograph.cli.shared.output import table
from heliograph.errors import InvalidInput, Problem
from heliograph.flow.engine import Compilation, CompiledFlow, Result, Statistics, compile_flow, measured_target
from heliograph.flow.formats import Envelope
from heliograph.flow.testing import FlowUnderTest
from heliograph.flow.tree import Part

EXAMPLES = """\
  helio flow profile orders --input big.xml small.xml
  helio flow profile orders --input big.xml --messages 20000
  helio flow profile orders --case 'known customer'
"""

_BATCH = 100
"""Messages between two rollbacks, about as many as a runner has in a unit of work."""
_ROUNDS = 3
"""The machine has other things to do, too: the best round counts."""


@dataclass(frozen=True, slots=True)
class _Round:
    """What one way of running took, for each message, in microseconds of CPU."""

    each: float
    statistics: Statistics


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `helio flow profile`."""
    add_inputs(parser)
    parser.add_argument(
        "--messages",
        type=_count,
        default=2000,
        metavar="N",
        help="number of messages to send; the inputs are repeated (2000)",
    )


def _count(text: str) -> int:
    count = int(text)
    if count < 1:
        raise argparse.ArgumentTypeError("at least one message is needed")
    return count


def run(args: argparse.Namespace) -> int:
    """Measure, then print."""
    with flow_and_steps(args) as (flow, steps):
        sent = [step for _, step in steps if step.wait is None]
        node = _entry(flow, sent[0].node if sent else None)
        messages = [step for step in sent if (step.node or node) == node]
        if len(messages) < len(sent):
            print(f"only messages into {node} are sent; the case has {len(sent) - len(messages)} for other inputs\n")
        envelopes = [replace(Envelope(step.body), **step.envelope) for step in messages]
        batch = _repeated(envelopes, args.messages)
        _check(flow, node, batch[: len(envelopes)])
        plain = _measured(compile_flow(flow.definition), node, batch, flow)
        detailed = _measured(flow.flow, node, batch, flow)
        print(
            *table(
                ("NODE", "TYPE", "CALLS", "FAILED", "OWN us", "WITH BEHIND us", "SHARE %"),
                _rows(flow, node, plain, detailed, len(batch)),
            ),
            sep="\n",
        )
        print()
        print(f"{len(batch)} messages, {plain.each:.1f} us of CPU each: {1e6 / plain.each:,.0f} messages a second")
        for line in _formats(flow, node, envelopes):
            print(line)
    return 0


def _entry(flow: FlowUnderTest, node: str | None) -> str:
    inputs = flow.flow.inputs
    if node is not None and node in inputs:
        return node
    if node is not None or len(inputs) != 1:
        raise InvalidInput(f"say with --into which input is meant: {', '.join(inputs)}")
    return next(iter(inputs))


def _repeated(envelopes: list[Envelope], count: int) -> list[Envelope]:
    if not envelopes:
        raise InvalidInput("expected a case that sends messages, found one that only waits")
    return [replace(envelopes[number % len(envelopes)], message_id=b"message %d" % number) for number in range(count)]


def _check(flow: FlowUnderTest, node: str, envelopes: list[Envelope]) -> None:
    """Times of messages that fail say little; who asks for them should know."""
    for number, outcome in enumerate(flow.flow.process(node, envelopes, flow.resources, flow.now), 1):
        if outcome.result is not Result.DONE and outcome.exception is not None:
            print(f"message {number} fails ({outcome.result.value}): {outcome.exception.innermost().text}\n")
    flow.undo()


def _measured(compiled: CompiledFlow, node: str, batch: list[Envelope], flow: FlowUnderTest) -> _Round:
    """The best of a few rounds."""
    rounds = []
    for _ in range(_ROUNDS):
        flow.resources.statistics = statistics = Statistics()
        took = 0
        for start in range(0, len(batch), _BATCH):
            began = thread_time_ns()
            compiled.process(node, batch[start : start + _BATCH], flow.resources, flow.now)
            took += thread_time_ns() - began
            flow.undo()
        rounds.append(_Round(took / 1000 / len(batch), statistics))
    return min(rounds, key=lambda each: each.each)


def _rows(
    flow: FlowUnderTest, entry: str, plain: _Round, detailed: _Round, messages: int
) -> list[tuple[str, str, int, int, float, float, float]]:
    """By own time, most first.

    Measuring takes time itself, for each call. What it puts into each node is taken out; the rest is scaled to what
    messages take when nobody measures.
    """
    cost = _cost_of_measuring()
    nodes = detailed.statistics.nodes
    own = {name: max(0.0, done.cpu / 1000 - cost * done.messages) / messages for name, done in nodes.items()}
    behind_entry = sum(done.cpu for done in nodes.values()) / 1000 / messages
    own[entry] = max(0.0, detailed.each - behind_entry)
    scale = plain.each / (sum(own.values()) or 1.0)
    rows = []
    for name, microseconds in sorted(own.items(), key=lambda each: -each[1]):
        done = nodes.get(name)
        calls = done.messages if done is not None else messages
        failed = done.failures if done is not None else 0
        total = done.cpu_with_behind / 1000 / messages / detailed.each * plain.each if done is not None else plain.each
        share = 100 * microseconds * scale / plain.each
        shown = (round(microseconds * scale, 1), round(max(total, microseconds * scale), 1), round(share, 1))
        rows.append((name, flow.definition.nodes[name].type, calls, failed, *shown))
    return rows


def _cost_of_measuring() -> float:
    """Microseconds that measuring itself puts into the time of a node."""

    class _Nothing:
        resources = type("_Resources", (), {"statistics": Statistics()})

    calls = 5000
    target = measured_target("nothing", lambda assembly, run: None)
    for _ in range(calls):
        target(_Nothing, _Nothing)  # type: ignore[type-var]
    return _Nothing.resources.statistics.nodes["nothing"].cpu / 1000 / calls  # type: ignore[attr-defined,no-any-return]


def _formats(flow: FlowUnderTest, node: str, envelopes: list[Envelope]) -> list[str]:
    """For comparison: what it takes to read bodies as a whole, and to write them again."""
    reading = Compilation(flow.definition).reading(flow.definition.nodes[node])
    reads = writes = 0
    times = max(1, 200 // len(envelopes))
    domains = set()
    try:
        for envelope in envelopes * times:
            part = reading.parse(envelope).children[-1]
            assert isinstance(part, Part)
            domains.add(part.name)
            began = thread_time_ns()
            for _ in part.descendants():
                pass
            reads += thread_time_ns() - began
            began = thread_time_ns()
            part.format.write(part)
            writes += thread_time_ns() - began
    except Problem:
        return []  # messages that cannot be read, which has been told
    each = len(envelopes) * times * 1000
    what = ", ".join(sorted(domains))
    return [f"{what} as a whole, for comparison: read {reads / each:.1f} us, write {writes / each:.1f} us"]

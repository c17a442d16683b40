"""The actions of `helio bench`: what it measures besides its table of cases.

Actions need different extras. The packages of the lab import what they show when it is used, so they stand above;
`heliograph.pipeline.scoring` imports Spark at once, and is imported by its action.
"""

import argparse
from pathlib import Path

from heliograph.cli.commands import Action
from heliograph.lab import bench, flows, spark


def _no_arguments(_parser: argparse.ArgumentParser) -> None:
    """For actions without options."""


_FLOWS = "Measure message flows beside published figures: in memory, and from queue to queue."
_FLOWS_EXAMPLES = """\
  helio bench flows --quick
  helio bench flows --case '10.3.*' --markdown
  helio bench flows --target node-red
"""


def _flows_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--quick", action="store_true", help="only the smallest messages, and fewer of them")
    parser.add_argument("--case", metavar="GLOB", action="append", default=[], help="sections or names, such as 10.3.*")
    parser.add_argument("--list", action="store_true", help="show the cases and measure nothing")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write all figures to this file, too")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown at the end")
    parser.add_argument(
        "--target", choices=[flows.PEER], help="measure only this other system, and ours with the same flows"
    )


def _flows(args: argparse.Namespace) -> int:
    """Measure; 1 if a row failed."""
    if args.list:
        flows.list_cases(args.case, quick=args.quick)
        return 0
    if args.target:
        return flows.compare_with_peer(quick=args.quick)
    return flows.measure_flows(args.case, args.json, quick=args.quick, markdown=args.markdown)


_SPARK = "Measure pipelines on Spark: source, flow, filters in Spark, latency of alerts, sink."
_SPARK_EXAMPLES = """\
  helio bench spark --quick
  helio bench spark --case alerts
"""


def _spark_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--quick", action="store_true", help="shorter measurements; figures are rougher")
    parser.add_argument(
        "--case", metavar="NAME", action="append", choices=spark.CASES, help=f"one of {', '.join(spark.CASES)}"
    )
    parser.add_argument("--json", metavar="FILE", type=Path, help="write all figures to this file, too")


def _spark(args: argparse.Namespace) -> int:
    """Measure; 1 if a case failed."""
    return spark.measure_pipelines(args.case or (), args.json, quick=args.quick)


_SCORES = "Measure how fast Spark scores runs of the lab, on a hundred million made-up samples."
_SCORES_EXAMPLES = """\
  helio bench scores
  helio bench scores --samples 1000000
"""


def _scores_arguments(parser: argparse.ArgumentParser) -> None:
    from heliograph.pipeline.scoring import SAMPLES  # noqa: PLC0415 - imports Spark

    parser.add_argument("--samples", type=int, default=SAMPLES, metavar="N", help=f"how many samples ({SAMPLES:,})")
    parser.add_argument("--folder", metavar="DIR", help="where raw samples are kept meanwhile (a temporary folder)")


def _scores(args: argparse.Namespace) -> int:
    """Measure; 1 if a percentile is off by more than half a per cent."""
    from heliograph.pipeline.scoring import bench_scores  # noqa: PLC0415 - imports Spark

    return bench_scores(args.samples, args.folder)


_RESTART = "Measure how long a server takes to restart after kill -9, with many persistent messages on its queues."
_RESTART_EXAMPLES = """\
  helio bench restart
  helio bench restart --messages 50000 --size 256 --target rabbitmq
"""


def _restart_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--messages", type=int, default=500_000, metavar="N", help="number of messages (default: %(default)s)"
    )
    parser.add_argument(
        "--target", action="append", default=[], metavar="NAME", help="only these brokers (default: heliograph)"
    )
    parser.add_argument(
        "--size",
        type=int,
        action="append",
        default=[],
        metavar="BYTES",
        help="size of the messages (default: 256, 2048)",
    )


def _restart(args: argparse.Namespace) -> int:
    bench.run_restart(args.messages, args.target, args.size)
    return 0


_CONNECTIONS = (
    "Measure many AMQP connections to one server: how fast they are accepted, and the memory that each takes."
)
_CONNECTIONS_EXAMPLES = """\
  helio bench connections
  helio bench connections --connections 10000 --target heliograph
"""


def _connections_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--connections",
        type=int,
        default=bench.most_connections(),
        metavar="N",
        help="number of connections (default: %(default)s)",
    )
    parser.add_argument("--target", action="append", default=[], metavar="NAME", help="only these brokers")


def _connections(args: argparse.Namespace) -> int:
    bench.run_connections(args.connections, args.target)
    return 0


_CHART = (
    "Draw the cost of a message against the number of clients, queues or topics, from results of the cases growth*."
)
_CHART_EXAMPLES = """\
  helio bench --case 'growth*' --json growth.json
  helio bench chart growth.json growth.svg
"""


def _chart_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("results", type=Path, metavar="RESULTS", help="what `helio bench --json RESULTS` wrote")
    parser.add_argument("chart", type=Path, metavar="CHART.svg", help="the picture to write")


def _chart(args: argparse.Namespace) -> int:
    bench.write_chart(args.results, args.chart)
    return 0


_GENERATOR = "Measure the highest rates of one load generator process, without a broker."
_GENERATOR_EXAMPLES = """\
  helio bench generator
  helio bench generator --seconds 1
"""


def _generator_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seconds", type=float, default=5.0, help="measured time of each case (default: 5)")


def _generator(args: argparse.Namespace) -> int:
    bench.measure_generator(args.seconds)
    return 0


_AMQP = "Measure the cost of a message in the AMQP engine alone, in memory, step by step."
_AMQP_EXAMPLES = """\
  helio bench amqp
"""


def _amqp(_args: argparse.Namespace) -> int:
    bench.measure_engine()
    return 0


_COPY = "Measure the minimum cost of forwarding and storing messages in one process: no broker can cost less."
_COPY_EXAMPLES = """\
  helio bench copy
"""


def _copy(_args: argparse.Namespace) -> int:
    bench.measure_copying()
    return 0


ACTIONS = {
    "flows": Action(_FLOWS, _FLOWS_EXAMPLES, _flows_arguments, _flows),
    "spark": Action(_SPARK, _SPARK_EXAMPLES, _spark_arguments, _spark),
    "scores": Action(_SCORES, _SCORES_EXAMPLES, _scores_arguments, _scores),
    "restart": Action(_RESTART, _RESTART_EXAMPLES, _restart_arguments, _restart),
    "connections": Action(_CONNECTIONS, _CONNECTIONS_EXAMPLES, _connections_arguments, _connections),
    "chart": Action(_CHART, _CHART_EXAMPLES, _chart_arguments, _chart),
    "generator": Action(_GENERATOR, _GENERATOR_EXAMPLES, _generator_arguments, _generator),
    "amqp": Action(_AMQP, _AMQP_EXAMPLES, _no_arguments, _amqp),
    "copy": Action(_COPY, _COPY_EXAMPLES, _no_arguments, _copy),
}

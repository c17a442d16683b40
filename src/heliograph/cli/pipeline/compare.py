"""Run past messages through two versions of a flow, and show the differences. Nothing is sent.

Outputs are matched by input message, output node, and order. The exit status is 0 if the outputs are the same, else 1.
Database nodes do write, so use data sources that may be changed: with --state, give a copy of the pipeline's
databases.
"""

import argparse
from pathlib import Path

from heliograph.cli.errors import CommandFailed
from heliograph.cli.flow.options import load_from
from heliograph.cli.pipeline.options import add_server, add_spark, add_state
from heliograph.cli.shared.output import showing
from heliograph.common.ports import PAGES_URL
from heliograph.errors import InvalidInput
from heliograph.pipeline import is_spark_error, spark_error_text
from heliograph.pipeline.running import Pipeline

EXAMPLES = """\
  helio pipeline compare flows/orders-1 flows/orders-2 --source stream:orders
  helio pipeline compare flows/orders-1 flows/orders-2 --source stream:orders --from 2026-01-01 --to 2026-02-01
  helio pipeline compare flows/orders-1 flows/orders-2 --source stream:orders --state copy-of-state
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `helio pipeline compare`."""
    parser.add_argument("old", type=Path, metavar="FLOW_A", help="the folder of the old version")
    parser.add_argument("new", type=Path, metavar="FLOW_B", help="the folder of the new version")
    parser.add_argument("--source", required=True, metavar="SOURCE", help="stream:NAME, or topic:FILTER")
    parser.add_argument(
        "--from", dest="begin", default="", metavar="WHERE", help="earliest (default), a time, or offsets by partition"
    )
    parser.add_argument(
        "--to", dest="end", default="", metavar="WHERE", help="latest (default), a time, or offsets by partition"
    )
    parser.add_argument("--env", metavar="ENV", help="use the parameters of parameters/ENV.yaml")
    parser.add_argument("--input", default="", metavar="NODE", help="the input node, if the flows have several")
    parser.add_argument(
        "--samples", type=int, default=3, metavar="N", help="number of examples to show of each difference (3)"
    )
    add_state(parser, "none, so it is needed if a flow has some")
    add_server(parser)
    add_spark(parser)


def run(args: argparse.Namespace) -> int:
    """Compare, then print."""
    from heliograph.pipeline.flows import compare, state_folder  # noqa: PLC0415
    from heliograph.pipeline.session import build_session  # noqa: PLC0415

    pipeline = Pipeline(
        name="compare",
        source=args.source,
        folder=Path(),
        flow=str(args.new),
        server=args.server or PAGES_URL,
        starting=args.begin,
        ending=args.end,
    )
    old, new = load_from(args.old, args.env), load_from(args.new, args.env)
    state = args.state or None
    if state and not Path(state).is_dir():
        raise InvalidInput(f"--state: expected the folder of embedded databases, found none at {state}")
    for flow in (old, new):
        state_folder(state, flow)  # whether it has to be said is known before Spark is started
    with showing("starting Spark"):
        spark = build_session("helio pipeline compare", master=args.master or None, conf=dict(args.conf))
    try:
        messages = spark.read.format("heliograph").options(**pipeline.source_options).load()
        with showing("comparing"):
            comparison = compare(old, new, messages, input_node=args.input or None, state=state, samples=args.samples)
    except Exception as error:
        if is_spark_error(error):
            raise CommandFailed(spark_error_text(error)) from error
        raise
    finally:
        spark.stop()
    print(comparison.text())
    return 0 if comparison.is_equal else 1

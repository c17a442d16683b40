"""Running a pipeline on this machine, by hand or as a child of a server, and preparing the machine for it."""

import argparse
import importlib
import json
import logging
import os
import sys
import threading
import time
from dataclasses import asdict, replace
from pathlib import Path

from heliograph.cli.commands import Action
from heliograph.cli.flow.options import add_set
from heliograph.cli.pipeline.options import (
    add_server,
    add_spark,
    add_state,
    configured,
    default_folder,
    setting,
    spark_settings,
)
from heliograph.cli.pipeline.status import progress_text
from heliograph.cli.shared.attribute_options import add_option, given
from heliograph.cli.shared.signals import stopped_by_signals
from heliograph.common.ports import PAGES_URL
from heliograph.common.terminal import steer, visible
from heliograph.errors import InvalidInput
from heliograph.objects import attributes_by_key
from heliograph.pipeline.running import Pipeline, State, Status, StatusFile, check, run_pipeline
from heliograph.server import LogFormat, LogLevel, PipelineConfig, configure_logging

_RUN = """\
Run a flow or a job on Spark: messages of a stream are the input; outputs go where the flow or --sink says.

It runs until Ctrl-C or SIGTERM, and then finishes the current batch. Started again with the same name, it continues
where it stopped: every message is processed once, even after a kill. With --once it ends when all messages that are
there have been processed. With --to it runs over a past range, from the beginning each time, beside the pipeline that
runs all the time.
"""
_RUN_EXAMPLES = """\
  helio pipeline run flows/orders --source stream:orders
  helio pipeline run flows/telemetry --source topic:plant/# --sink Readings=parquet:readings?partition=day
  helio pipeline run flows/orders --source stream:orders --sink Accepted=topic:accepted --sink dead_letters=queue:bad
  helio pipeline run --job clean.py --source stream:telemetry --set path=/data/clean
  helio pipeline run flows/orders --source stream:orders --once
  helio pipeline run flows/orders --source stream:orders --from 2026-01-01 --to 2026-02-01 --sink Out=parquet:again
  helio pipeline run flows/orders --source stream:orders --master spark://cluster:7077 --checkpoint /shared/orders
  helio pipeline run --config heliograph.toml telemetry
"""

_OF_THE_FILE = {
    "job": "--job",
    "source": "--source",
    "sink": "--sink",
    "name": "--name",
    "user": "--user",
    "password": "--password",
    "env": "--env",
    "set": "--set",
    "input": "--input",
    "begin": "--from",
    "end": "--to",
    "fail_on_data_loss": "--fail-on-data-loss",
    "most_messages": "--most-messages",
    "interval": "--interval",
    "lookup_cache": "--lookup-cache",
    "state": "--state",
    "checkpoint": "--checkpoint",
}
"""What a configuration file says in place of the command line: where the arguments have it, and the option."""
_ATTRIBUTES = attributes_by_key(PipelineConfig)
_QUIET = 10.0
"""Seconds between two lines where nobody looks at a terminal."""


def _run_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("flow", nargs="?", metavar="FLOWDIR", help="the folder of a flow (with --config: a NAME)")
    parser.add_argument("--job", metavar="FILE", help="in place of a flow: a Python file with build(spark, settings)")
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="run the [[pipeline]] NAME of this configuration file"
    )
    add_option(parser, _ATTRIBUTES["source"], "SOURCE")
    parser.add_argument(
        "--sink",
        action="append",
        default=[],
        type=setting,
        metavar="NODE=PLACE",
        help="where a node's outputs go: topic:NAME, queue:NAME, parquet:PATH or table:URL#TABLE; dead_letters is the "
        "NODE of messages that fail (default: as the flow says); repeatable",
    )
    parser.add_argument("--name", metavar="NAME", help="name of the pipeline (default: that of the folder or file)")
    add_server(parser)
    for key in ("user", "password", "env"):
        add_option(parser, _ATTRIBUTES[key])
    add_set(parser, "a parameter of the flow or the job; repeatable")
    add_option(parser, _ATTRIBUTES["input"], "NODE")
    add_option(parser, _ATTRIBUTES["from"], "WHERE")
    parser.add_argument(
        "--to", dest="end", default="", metavar="WHERE", help="where to end: run once over a past range"
    )
    parser.add_argument("--once", action="store_true", help="end when all existing messages have been processed")
    for key in ("fail_on_data_loss", "most_messages", "interval", "lookup_cache"):
        add_option(parser, _ATTRIBUTES[key])
    add_state(parser, "in the data folder; a run over a range uses those of the pipeline")
    add_spark(parser)
    parser.add_argument(
        "--checkpoint", default="", metavar="DIR", help="where Spark keeps its progress (default: in the data folder)"
    )
    # How a server runs its pipelines: states as JSON on standard output, and the end of standard input ends it.
    parser.add_argument("--supervised", action="store_true", help=argparse.SUPPRESS)


def _run(args: argparse.Namespace) -> int:
    """Run it, and report its progress."""
    pipeline = spark_settings(_configured(args) if args.config else _given(args), args)
    importlib.import_module("pyspark")  # or it is said how to install it, before anything is begun
    if not args.config and not pipeline.folder.exists():
        check(pipeline)  # of what has never run and cannot run, nothing is left behind
    logging.getLogger("py4j").setLevel(logging.WARNING)  # it tells of each connection to Java that ends
    telling = _Telling(supervised=args.supervised)
    ended: list[BaseException | Status] = []
    with stopped_by_signals() as stop:
        if args.supervised:
            threading.Thread(target=_wait_for_the_end_of_input, args=(stop,), daemon=True).start()

        def work() -> None:
            try:
                once = args.once or bool(pipeline.ending)
                ended.append(run_pipeline(pipeline, stop, telling.report, once=once))
            except BaseException as error:
                ended.append(error)

        # Spark takes Ctrl-C for itself where it is started in the main thread.
        thread = threading.Thread(target=work, name="pipeline", daemon=True)
        thread.start()
        while thread.is_alive():
            thread.join(0.2)
            if stop.is_set() and telling.state is State.STARTING:  # nothing is in hand; Java ends with this process
                StatusFile(pipeline.folder).note_stopped()
                return 0
    telling.end()
    (outcome,) = ended
    if isinstance(outcome, BaseException):
        raise outcome
    return 0


def _configured(args: argparse.Namespace) -> Pipeline:
    """The pipeline of a configuration file, which says all there is to say of it."""
    if not args.flow:
        raise InvalidInput("expected the NAME of a pipeline beside --config, found none")
    for name, option in _OF_THE_FILE.items():
        if (value := getattr(args, name)) not in (None, "", []):
            found = option.replace("--", "--no-", 1) if value is False else option
            raise InvalidInput(f"--config says what the pipeline is; expected no other option for that, found {found}")
    pipeline, config = configured(args.config, args.flow, args.server)
    if args.supervised:
        logging.basicConfig(level=config.log.level.upper(), format="%(levelname)s %(message)s", stream=sys.stderr)
    else:
        configure_logging(config.log.level, config.log.format)
        if args.server:  # who says it by hand means it, whatever the file says
            pipeline = replace(pipeline, server=args.server)
    return pipeline


def _given(args: argparse.Namespace) -> Pipeline:
    """The pipeline that the arguments describe."""
    configure_logging(LogLevel.INFO, LogFormat.TEXT)
    given(args, (_ATTRIBUTES[key] for key in ("most_messages", "interval", "lookup_cache")))
    if not args.source:
        raise InvalidInput("expected --source stream:NAME or --source topic:FILTER, found none")
    if args.end and not args.begin:
        raise InvalidInput("expected --from beside --to: where the range begins")
    name = args.name or Path(args.flow or args.job or "pipeline").absolute().stem
    server = args.server or PAGES_URL
    state = args.state
    if args.end:
        if args.flow and not state:  # what a flow looks up is there, and nothing is in a new folder
            state = str(default_folder(name, server) / "state")
        name += time.strftime("-%Y%m%dT%H%M%S", time.gmtime())  # it begins at the beginning, each time
    return Pipeline(
        name=name,
        source=args.source,
        folder=default_folder(name, server),
        flow=args.flow or "",
        job=args.job or "",
        sinks=dict(args.sink),
        server=server,
        user=args.user or "",
        password=args.password or "",
        env=args.env or "",
        parameters=dict(args.set),
        input_node=args.input or "",
        starting=args.begin or "",
        ending=args.end,
        fail_on_data_loss=args.fail_on_data_loss is not False,
        most_messages=args.most_messages or 0,
        interval=args.interval or 0.0,
        lookup_cache=args.lookup_cache or 0,
        state=state,
        checkpoint=args.checkpoint,
    )


def _wait_for_the_end_of_input(stop: threading.Event) -> None:
    """Nothing is ever written there: it is the server's end."""
    while os.read(sys.stdin.fileno(), 4096):
        pass
    stop.set()


class _Telling:
    """What the operator, or the server, sees while the pipeline runs."""

    def __init__(self, *, supervised: bool) -> None:
        self._supervised = supervised
        self._line = not supervised and sys.stderr.isatty()
        self.state: State | None = None
        self._next = 0.0
        self._rows = 0
        self._width = 0

    def report(self, status: Status) -> None:
        """Something has changed."""
        if self._supervised:
            if status.state is not self.state and status.state not in {State.STARTING, State.FAILED}:
                print(json.dumps({"state": status.state}), flush=True)
        elif self._line:
            text = progress_text(asdict(status))
            steer(sys.stderr, f"\r{visible(text):<{self._width}}")
            self._width = len(text)
        elif status.state is not self.state or (status.rows != self._rows and time.monotonic() >= self._next):
            self._next, self._rows = time.monotonic() + _QUIET, status.rows
            print(progress_text(asdict(status)), file=sys.stderr, flush=True)
        self.state = status.state

    def end(self) -> None:
        """Leave the line as it is."""
        if self._line and self._width:
            print(file=sys.stderr)


_SETUP = "Prepare this machine for pipelines: find Java, and archive Spark's classes so that it starts faster."
_SETUP_EXAMPLES = """\
  helio pipeline setup
"""


def _setup(_args: argparse.Namespace) -> int:
    from heliograph.pipeline.session import set_up  # noqa: PLC0415 - a help text does not need Spark

    set_up(lambda line: print(line, flush=True))
    return 0


ACTIONS = {
    "run": Action(_RUN, _RUN_EXAMPLES, _run_arguments, _run),
    "setup": Action(_SETUP, _SETUP_EXAMPLES, lambda _parser: None, _setup),
}

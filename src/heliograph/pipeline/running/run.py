"""Runs one pipeline: starts its queries, watches them, restarts them if they fail, and stops them cleanly.

Theory of operation
1. `run_pipeline` locks the pipeline's folder, so that one process at a time runs it. Each change of state goes to the
   status file and to `report`.
2. States: starting -> running -> (retrying -> running)* -> stopping -> stopped; finished, if all queries end by
   themselves; failed, if the pipeline gives up.
3. The first start must succeed: a mistake in the flow or the settings is reported and not retried. After it, a failed
   query or an unreachable server stops all queries, which are started again after a growing pause. `MOST_FAILURES`
   failures without a processed row between them end the pipeline.
4. Nothing is lost by a restart: queries continue from their checkpoints.
5. Stopping waits up to `_LAST_BATCH` seconds for the current batch, because an interrupted batch is repeated in full at
   the next start.
"""

import importlib
import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from heliograph.client import ConnectionLost, NoAnswer
from heliograph.common import private_files
from heliograph.common.backoff import Backoff
from heliograph.common.private_files import DirectoryLock
from heliograph.errors import Problem, StorageError
from heliograph.log.streams import ServerUnreachable
from heliograph.pipeline.errors import PipelineError
from heliograph.pipeline.running.jobs import job_file, start_job
from heliograph.pipeline.running.pipeline import JobSettings, Pipeline
from heliograph.pipeline.running.progress import LagMeter, QueryProgress, Rate, offsets_of_all
from heliograph.pipeline.running.status import State, Status, StatusFile
from heliograph.pipeline.source.access import make_stream, open_stream
from heliograph.pipeline.source.options import source_options
from heliograph.pipeline.spark_errors import is_spark_error, spark_error_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from heliograph.flow.definition import FlowDefinition

log = logging.getLogger(__name__)

Report = Callable[[Status], None]
"""Called at each change of a pipeline's status."""

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 30.0
MOST_FAILURES = 6
"""Failures in a row, with no row processed between them, after which the pipeline gives up."""
_AWAY = (ServerUnreachable, ConnectionLost, NoAnswer)
"""A server that was there may come back."""
_LOOK = 0.2
_LAG_LOOK = 1.0
_LAST_BATCH = 20.0
"""Seconds that the current batch may take to end when the pipeline is to stop."""


def run_pipeline(
    pipeline: Pipeline, stop: threading.Event, report: Report = lambda _: None, *, once: bool = False
) -> Status:
    """Run until `stop` is set, or (`once`) until all existing messages have been processed.

    Call it in a thread other than the main one, where Spark would handle Ctrl-C itself. A Problem says why the pipeline
    cannot continue.
    """
    folder = pipeline.folder
    try:
        private_files.make_folder(folder.parent)
        private_files.make_folder(folder)
        private_files.tighten([folder])
    except OSError as error:
        raise StorageError(f"{folder}: {error.strerror or error}") from None
    lock = DirectoryLock(folder, f"pipeline {pipeline.name}, which runs already")
    try:
        return _Run(pipeline, stop, report, once=once).run()
    finally:
        lock.release()


class _Run:
    """One run of a pipeline."""

    def __init__(self, pipeline: Pipeline, stop: threading.Event, report: Report, *, once: bool) -> None:
        self._pipeline = pipeline
        self._stop = stop
        self._report = report
        self._once = once
        self._file = StatusFile(pipeline.folder)
        runs = Path(pipeline.flow or pipeline.job)
        self.status = Status(pipeline.name, pipeline.source, pipeline.server, runs.absolute().name)
        self.status.begin(self._file.read())
        self._rate = Rate()
        self._lag = LagMeter(pipeline)
        self._lag_due = 0.0
        self._advanced = False
        """Whether something has been done since the queries were started last."""
        self._has_run = False
        """Whether the queries have been started once."""

    def run(self) -> Status:
        self._tell(State.STARTING)
        try:
            check(self._pipeline)
            from heliograph.pipeline.session import build_session  # noqa: PLC0415 - importing Spark takes a second

            _import_meanwhile("heliograph.pipeline.flows")
            spark = build_session(self._pipeline.name, master=self._pipeline.master or None, conf=self._pipeline.conf)
            try:
                self._run(spark)
            finally:
                with suppress(Exception):  # it may be gone already, and there is nothing to lose in it
                    spark.stop()
        except BaseException as error:
            self.status.error = str(error) if isinstance(error, Problem) else spark_error_text(error)
            self._tell(State.FAILED)
            if is_spark_error(error):
                raise PipelineError(self.status.error) from error
            raise
        finally:
            self._lag.close()
        return self.status

    def _run(self, spark: "SparkSession") -> None:
        failures, backoff = 0, Backoff(FIRST_PAUSE, LONGEST_PAUSE)
        while not self._stop.is_set():
            error = self._attempt(spark)
            if error is None:
                break
            if self._advanced:
                failures = 0
                backoff.succeeded()
            failures += 1
            self.status.error = error
            if failures >= MOST_FAILURES:
                raise PipelineError(f"{error} ({failures} failures in a row; the pipeline gives up)")
            pause = backoff.pause()
            log.error("a query has failed; it is restarted in %g s: %s", pause, error)
            self.status.restarts += 1
            self._tell(State.RETRYING)
            self._stop.wait(pause)
        self._tell(State.STOPPED if self._stop.is_set() else State.FINISHED)

    def _attempt(self, spark: "SparkSession") -> str | None:
        """Run the queries until one fails (returns its error), or until all have ended or are to be stopped (None)."""
        self._advanced = False
        try:
            queries = self._start(spark)
        except _AWAY as problem:
            if not self._has_run:  # a mistake at the first start is reported, not retried
                raise
            for query in spark.streams.active:  # a job may have started some before it failed
                with suppress(Exception):
                    query.stop()
            return str(problem)
        self._has_run = True
        self._tell(State.RUNNING)
        log.info("the pipeline is running: %s, source %s", self.status.runs, self._pipeline.source)
        error = self._watch(queries)
        self._end(queries)
        return error

    def _start(self, spark: "SparkSession") -> list["QueryProgress"]:
        pipeline = self._pipeline
        if pipeline.job:
            settings = JobSettings(pipeline, self._once)
            return [QueryProgress(query) for query in start_job(spark, pipeline.job, settings)]
        return [QueryProgress(self._start_flow(spark))]

    def _start_flow(self, spark: "SparkSession") -> "StreamingQuery":
        from heliograph.pipeline.flows import Routes, start_flow  # noqa: PLC0415 - a job needs no flows

        pipeline = self._pipeline
        return start_flow(
            spark,
            load_definition(pipeline),
            source_options={**pipeline.source_options, **pipeline.sink_options},
            routes=Routes.parse(pipeline.sinks),
            checkpoint=pipeline.spark_checkpoint,
            trigger=pipeline.trigger,
            available_now=self._once,
            input_node=pipeline.input_node or None,
            state=pipeline.state_folder,
            lookup_cache=pipeline.lookup_cache,
            name=pipeline.name,
        )

    # While it runs

    def _watch(self, queries: list[QueryProgress]) -> str | None:
        """Poll the queries until one fails (returns its error), or until all have ended or are to be stopped (None)."""
        while True:
            active = [query for query in queries if query.query.isActive]
            self._look(queries)
            for query in queries:
                if query not in active and (error := query.query.exception()) is not None:
                    return spark_error_text(error)
            if not active:
                return None
            if self._stop.wait(_LOOK):
                self._tell(State.STOPPING)
                return None

    def _look(self, queries: list[QueryProgress]) -> None:
        """Update the status with the progress of the queries."""
        news = [rows for query in queries if (rows := query.news()) is not None]
        self._rate.add(sum(news))
        status = self.status
        if any(news):
            self._advanced = True
        status.rows += sum(news)
        batches = [query.batch for query in queries if query.batch is not None]
        status.batch = max(batches, default=status.batch)
        status.offsets.update(offsets_of_all(queries))
        rate, lag = round(self._rate.per_second, 1), (status.lag_messages, status.lag_seconds)
        if news or time.monotonic() >= self._lag_due:
            self._lag_due = time.monotonic() + _LAG_LOOK
            lag = self._lag.measure(status.offsets)
        if news or (rate, *lag) != (status.rows_per_second, status.lag_messages, status.lag_seconds):
            status.rows_per_second, (status.lag_messages, status.lag_seconds) = rate, lag
            self._tell(status.state)

    def _end(self, queries: list[QueryProgress]) -> None:
        """Stop all queries, each after its current batch."""
        give_up = time.monotonic() + _LAST_BATCH
        for query in queries:
            with suppress(Exception):  # of one that has failed, or with Java gone
                _finish_batch(query.query, give_up)
            with suppress(Exception):
                query.query.stop()
        with suppress(Exception):
            self._look(queries)

    def _tell(self, state: State) -> None:
        self.status.state = state
        self._file.write(self.status)
        self._report(self.status)


def _import_meanwhile(module: str) -> None:
    """Import a module in a thread while Java starts, which takes longer. Errors show when it is imported for use."""

    def attempt() -> None:
        with suppress(Exception):
            importlib.import_module(module)

    threading.Thread(target=attempt, name="importing", daemon=True).start()


def _finish_batch(query: "StreamingQuery", give_up: float) -> None:
    """Wait until the query is between two batches: an interrupted batch would be repeated in full."""
    last = query.lastProgress
    before = last["timestamp"] if last else ""
    while query.isActive and query.status["isTriggerActive"] and time.monotonic() < give_up:
        last = query.lastProgress
        if last and last["timestamp"] != before:
            return
        time.sleep(0.02)


def check(pipeline: Pipeline) -> None:
    """Raise a Problem if the pipeline cannot run. The stream of a topic is made last, when all else is in order."""
    options = source_options(pipeline.source_options, streaming=True)
    if pipeline.job:
        job_file(pipeline.job)
    else:
        definition = load_definition(pipeline)
        if "://" not in pipeline.server:
            _check_folder(pipeline, definition)
    make_stream(options)
    open_stream(options).close()


def load_definition(pipeline: Pipeline) -> "FlowDefinition":
    """The flow of a pipeline that has one."""
    from heliograph.flow.loading import load_flow  # noqa: PLC0415 - a job needs no flows

    return load_flow(Path(pipeline.flow), pipeline.env or None, dict(pipeline.parameters))


def _check_folder(pipeline: Pipeline, definition: "FlowDefinition") -> None:
    """Raise a Problem if the flow needs a server and has only the folder of a log."""
    from heliograph.pipeline.flows.deploying import check_deployable, check_folder_suffices  # noqa: PLC0415 - needs Spark
    from heliograph.pipeline.flows.routes import Routes  # noqa: PLC0415

    routes = Routes.parse(pipeline.sinks)
    entry = check_deployable(definition, pipeline.input_node or None, routes)
    check_folder_suffices(definition, entry, routes, pipeline.server)

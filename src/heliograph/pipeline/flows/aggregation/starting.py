"""Starts the query of a flow with aggregations, and the thread that publishes its deadlines."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from heliograph.flow.definition import FlowDefinition
from heliograph.pipeline.errors import PipelineError
from heliograph.pipeline.flows.aggregation.collecting import CollectJob
from heliograph.pipeline.flows.aggregation.deadlines import Deadlines
from heliograph.pipeline.flows.aggregation.fan_in import FanIn, at_once, fan_ins
from heliograph.pipeline.flows.aggregation.sets import gathered, make_aggregation_stream, read_aggregation
from heliograph.pipeline.flows.effect_rows import SINK_DDL
from heliograph.pipeline.flows.outlets.data_source import NAME
from heliograph.pipeline.flows.outlets.plan import OutputsPlan
from heliograph.pipeline.flows.processing import FlowJob
from heliograph.pipeline.flows.reachable import reachable

if TYPE_CHECKING:
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

_OURS = "heliograph.errors.Problem: "
_MOST = 500
"""Letters of an error that is not ours."""


class Aggregation:
    """The aggregations of a flow: fan-in is part of the same query as fan-out."""

    def __init__(
        self,
        fan_ins: Sequence[FanIn],
        definition: FlowDefinition,
        job: FlowJob,
        server: Mapping[str, str],
        plan: OutputsPlan,
    ) -> None:
        self._fan_ins = fan_ins
        self._definition = at_once(definition)
        self._job = job
        self._server = server
        self._plan = plan

    @classmethod
    def of(
        cls, definition: FlowDefinition, job: FlowJob, source_options: Mapping[str, str], plan: OutputsPlan
    ) -> "Aggregation | None":
        """Those of a flow; None if it has none. `job` is that of its fan-out."""
        found = fan_ins(definition, reachable(definition, job.entry).values())
        server = {name: value for name, value in source_options.items() if name.lower() == "server"}
        return cls(found, definition, job, server, plan) if found else None

    def write(self, outputs: "DataFrame") -> "DataStreamWriter":
        """What the fan-out has to send, and what the fan-in has, as one query."""
        plan = self._plan.text()

        def write_batch(rows: "DataFrame", _: int) -> None:
            from py4j.protocol import Py4JJavaError  # noqa: PLC0415 - it comes with Spark

            try:
                rows.write.format(NAME).option("plan", plan).mode("append").save()
            except Py4JJavaError as error:
                raise PipelineError(_in_short(error)) from None

        for fan_in in self._fan_ins:
            outputs = outputs.unionByName(self._collected(outputs, fan_in))
        return outputs.writeStream.outputMode("update").foreachBatch(write_batch)

    def start(self, writer: "DataStreamWriter") -> "StreamingQuery":
        """Start the query, with what publishes its deadlines."""
        assert self._plan.server is not None, "deadlines are messages of the server"
        deadlines = Deadlines(self._plan.server, [fan_in.aggregate for fan_in in self._fan_ins])
        try:
            deadlines.publish_due()
            query = writer.start()
        except BaseException:
            deadlines.close()
            raise
        deadlines.follow(lambda: _is_active(query))
        return query

    def _collected(self, outputs: "DataFrame", fan_in: FanIn) -> "DataFrame":
        begin = make_aggregation_stream(self._server, fan_in.aggregate)
        messages = read_aggregation(outputs.sparkSession, self._server, fan_in.aggregate, begin)
        job = CollectJob.of(
            self._definition,
            fan_in.entry,
            self._job.state,
            lookup_cache=self._job.lookup_cache,
            sending=self._job.sending,
            node=fan_in.node,
        )
        return gathered(messages, fan_in.timeout).mapInArrow(job.__call__, SINK_DDL)


def _is_active(query: "StreamingQuery") -> bool:
    from py4j.protocol import Py4JError  # noqa: PLC0415 - it comes with Spark

    try:
        return query.isActive
    except (Py4JError, OSError):  # Spark is gone, and the query with it
        return False


def _in_short(error: "Py4JJavaError") -> str:
    """The short text of a failed batch's error, for Spark.

    It looks with a regular expression whether a Python error is that of a query which was stopped, and overflows its
    stack if the text is as long as Java's usually are.
    """
    text = str(error.java_exception)
    if "InterruptedException" in text or "ClosedByInterruptException" in text:
        return f"py4j.protocol.Py4JJavaError: An error occurred while calling save: {text.splitlines()[0]}"
    ours = [line for line in text.splitlines() if line.startswith(_OURS)]
    return ours[-1].removeprefix(_OURS) if ours else text[:_MOST]

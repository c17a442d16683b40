"""What can be known to be wrong with a pipeline before Spark is started: it is told at once."""

from pathlib import Path
from typing import TYPE_CHECKING

from heliograph.pipeline.running.jobs import job_file
from heliograph.pipeline.running.pipeline import Pipeline
from heliograph.pipeline.source.access import make_stream, open_stream
from heliograph.pipeline.source.options import source_options

if TYPE_CHECKING:
    from heliograph.flow.definition import FlowDefinition


def check(pipeline: Pipeline) -> None:
    """A Problem if it cannot run. The stream of a topic is made last: not for something that cannot use it."""
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
    """Whether the folder of a log is enough for the flow."""
    from heliograph.pipeline.flows.deploying import check_deployable, check_folder_suffices  # noqa: PLC0415 - needs Spark
    from heliograph.pipeline.flows.routes import Routes  # noqa: PLC0415

    routes = Routes.parse(pipeline.sinks)
    entry = check_deployable(definition, pipeline.input_node or None, routes)
    check_folder_suffices(definition, entry, routes, pipeline.server)

"""Rules for the pipelines of the configuration. Each yields mistakes as `key: what is wrong`."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from heliograph.objects import value_text
from heliograph.server.config.rules import name_mistakes
from heliograph.server.config.schema import PipelineConfig

_OF_FLOWS = ("sinks", "env", "input", "lookup_cache", "state")


def pipeline_mistakes(pipelines: Mapping[str, PipelineConfig], *, has_pages: bool) -> Iterator[str]:
    """What is wrong with pipelines, by their place in the file; `has_pages`: whether this server has HTTP pages."""
    names: dict[str, str] = {}
    for where, pipeline in pipelines.items():
        if mistakes := list(name_mistakes(pipeline.name, f"{where}.name")):
            yield from mistakes
        elif pipeline.name in names:
            yield f"{where}.name: expected a name of its own, found {pipeline.name}, as in {names[pipeline.name]}"
        names.setdefault(pipeline.name, where)
        yield from _program_mistakes(pipeline, where)
        kind, _, rest = pipeline.source.partition(":")
        if kind not in {"stream", "topic"} or not rest:
            yield f'{where}.source: expected "stream:NAME" or "topic:FILTER", found {value_text(pipeline.source)}'
        if "://" in pipeline.state:
            yield f"{where}.state: expected a folder, found {value_text(pipeline.state)}"
        if not has_pages and not pipeline.server:
            yield f"{where}.server: expected the pages of a server, since those of this one are not enabled, found none"


def _program_mistakes(pipeline: PipelineConfig, where: str) -> Iterator[str]:
    """What is wrong with what the pipeline runs."""
    if bool(pipeline.flow) == bool(pipeline.job):
        yield f"{where}: expected a flow or a job, found {'both' if pipeline.flow else 'neither'}"
    elif pipeline.flow and not Path(pipeline.flow).exists():
        yield f"{where}.flow: expected the folder of a flow, found nothing at {value_text(pipeline.flow)}"
    elif pipeline.job and not Path(pipeline.job).is_file():
        yield f"{where}.job: expected a Python file, found none at {value_text(pipeline.job)}"
    if pipeline.job:
        for key in _OF_FLOWS:
            if getattr(pipeline, key):
                yield f"{where}.{key}: expected none, because this is for flows; a job does that itself"

"""Pipelines that run: what one is, the process that runs it, and what that tells of itself.

`Pipeline` is what `[[pipeline]]` or the options of `helio pipeline run` say. `run_pipeline` starts its queries, watches
them, and starts them again if they fail. How it is doing stands in a file beside the checkpoint (`status`), which the
server and `helio pipeline` read.
"""

from heliograph.pipeline.running.checking import check
from heliograph.pipeline.running.pipeline import JobSettings, Pipeline
from heliograph.pipeline.running.run import run_pipeline
from heliograph.pipeline.running.status import State, Status

__all__ = ["JobSettings", "Pipeline", "State", "Status", "check", "run_pipeline"]

"""Pipelines that run: what one is, the process that runs it, and what that tells of itself.

`Pipeline` is what `[[pipeline]]` or the options of `helio pipeline run` say. `run_pipeline` starts its queries, watches
them, and starts them again if they fail. How it is doing stands in a file beside the checkpoint (`status`), which the
server and `helio pipeline` read.
"""

from typing import TYPE_CHECKING

from heliograph.common.lazy_names import lazy_names
from heliograph.pipeline.running.pipeline import JobSettings, Pipeline
from heliograph.pipeline.running.run import check, run_pipeline
from heliograph.pipeline.running.status import State, Status

if TYPE_CHECKING:
    from heliograph.pipeline.running.status import StatusFile

__getattr__ = lazy_names(
    __name__,
    {
        "status": "StatusFile",
    },
)

__all__ = ["JobSettings", "Pipeline", "State", "Status", "StatusFile", "check", "run_pipeline"]

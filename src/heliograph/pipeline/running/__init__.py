"""Running pipelines: their settings, the process that runs one, and its status.

`Pipeline` holds the settings of `[[pipeline]]` or of `helio pipeline run`. `run_pipeline` starts its queries, watches
them, and restarts them if they fail. Its status is in a file beside the checkpoint (`status`), which the server and
`helio pipeline` read.
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

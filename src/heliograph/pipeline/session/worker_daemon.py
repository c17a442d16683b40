"""The process that Spark's Python workers on this machine are forked from, with what they need already imported.

Spark's own (`pyspark.daemon`) imports nothing before it forks, and so each of a dozen processes of a small pipeline
spends a second of processor time on the same modules. Nothing that starts threads may be imported here, which rules
out Arrow and all that imports it: a thread would be gone, and its locks held for ever, in a forked process.
"""

import importlib
import sys
from contextlib import suppress

from pyspark.daemon import manager

_WORKER = "pyspark.worker"
"""What runs tasks; other processes of Spark plan, and are few."""
MODULES = (
    _WORKER,
    "heliograph.client",
    "heliograph.log.remote_stream_reader",
    "heliograph.log.stream_reader",
    "heliograph.flow.engine.compiled",
    "heliograph.flow.nodes.subscriptions",
    "heliograph.flow.runner.conversion",
    "heliograph.flow.runner.units",
)


def import_all() -> None:
    """Import what workers need; what is not installed is not needed."""
    for module in MODULES:
        with suppress(ImportError):
            importlib.import_module(module)


if __name__ == "__main__":
    if sys.argv[1:] == [_WORKER]:
        import_all()
    manager()

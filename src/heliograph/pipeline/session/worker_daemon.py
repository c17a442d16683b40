"""The process that Spark's Python workers on this machine are forked from, with what they need already imported.

Spark's own (`pyspark.daemon`) imports nothing before it forks, and so each of a dozen processes of a small pipeline
spends a second of processor time on the same modules. Nothing that starts threads may be imported here, which rules
out Arrow and all that imports it: a thread would be gone, and its locks held for ever, in a forked process.
"""

import gc
import importlib
import socket
import sys
from collections.abc import Callable
from contextlib import suppress

from pyspark import daemon

_Serve = Callable[[socket.socket, bool], int]
_WORKER = "pyspark.worker"
"""What runs tasks; other processes of Spark plan, and are few."""
MODULES = (
    _WORKER,
    "heliograph.client",
    "heliograph.log.streams.remote_stream_reader",
    "heliograph.log.streams.stream_reader",
    "heliograph.flow.engine.compiled_flow",
    "heliograph.flow.engine.subscriptions",
    "heliograph.flow.inline.conversion",
    "heliograph.flow.hosting",
)


def import_all() -> None:
    """Import what workers need; what is not installed is not needed."""
    for module in MODULES:
        with suppress(ImportError):
            importlib.import_module(module)


def _settling(serve: _Serve) -> _Serve:
    """Spark's function that does a task, and settles down after the first one that a process does.

    Behind each task, and now and then within, all that Python's garbage collector knows of is looked through: 30 to 60
    milliseconds for modules that nobody ever throws away, and a small micro-batch has several tasks. So what the
    first task leaves behind, all that it had to import, is kept out of its sight.
    """
    settled = False

    def serve_and_settle(sock: socket.socket, authenticated: bool) -> int:
        nonlocal settled
        code = serve(sock, authenticated)
        if not settled:
            gc.collect()
            gc.freeze()
            settled = True
        return code

    return serve_and_settle


if __name__ == "__main__":
    if sys.argv[1:] == [_WORKER]:
        import_all()
    gc.freeze()
    daemon.worker = _settling(daemon.worker)  # type: ignore[assignment]  # it is called by that name
    daemon.manager()

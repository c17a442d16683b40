"""What Spark's Python workers are forked from."""

import subprocess
import sys

from running import environment

PROGRAM = """
import os, sys
from heliograph.pipeline.session import worker_daemon
worker_daemon.import_all()
missing = [module for module in worker_daemon.MODULES if module not in sys.modules]
print(len(os.listdir("/proc/self/task")), "pyarrow" in sys.modules, missing)
"""


def test_all_that_workers_need_is_imported_and_no_thread_is_started() -> None:
    """A thread would be missing in a process that is forked, and what it has locked would stay so."""
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=environment(), check=True
    )
    assert found.stdout.split("\n")[0] == "1 False []"

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


SETTLING = """
import gc, socket
from heliograph.pipeline.session.worker_daemon import _settling

done = []
serve = _settling(lambda sock, authenticated: done.append(authenticated) or len(done))
one, other = socket.socketpair()
frozen = [gc.get_freeze_count()]
for again in (False, True):
    assert serve(one, again) == len(done)
    frozen.append(gc.get_freeze_count())
    kept = [[] for _ in range(1000)]
print(done, frozen[0], frozen[1] > 0, frozen[2] == frozen[1])
"""


def test_what_the_first_task_leaves_behind_is_not_looked_through_again() -> None:
    """And what later ones leave is, or it would never be thrown away."""
    found = subprocess.run(
        [sys.executable, "-c", SETTLING], capture_output=True, text=True, env=environment(), check=True
    )
    assert found.stdout == "[False, True] 0 True True\n"

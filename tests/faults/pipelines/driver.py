"""The process that runs a query: Python, its Java, and Spark's Python workers, all of which can be killed."""

import os
import random
import re
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from running import PATIENCE, environment

_TASKS = b"pyspark.worker"
"""The last argument of the process that workers for tasks are forked from, whatever it is itself; and so of theirs."""
_LOST_TASK = re.compile(rb"Exception in task [^\n]*\n[^\n]*Python worker exited unexpectedly")
"""What Spark says of a task whose worker is gone. Of an idle worker that is gone it says nothing."""


class Driver:
    """A command that is started again whenever it is gone. Its processes are a session, by which they are found."""

    def __init__(self, command: Sequence[str], folder: Path, chance: random.Random) -> None:
        self._command = command
        self._folder = folder
        self._random = chance
        self._process: subprocess.Popen[bytes] | None = None
        self._log = folder / "driver.log"

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command, cwd=self._folder, env=environment(), stdout=log, stderr=log, start_new_session=True
            )

    @property
    def runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def log(self) -> str:
        """The last of what all its lives have said."""
        return self._log.read_text(errors="replace")[-6000:]

    def kill(self, *, workers: bool = True) -> None:
        """SIGKILL for Python and Java. Workers are another group; left alone, they find out that Java is gone."""
        if self._process is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(PATIENCE)
        if workers:
            self.kill_all()

    def kill_all(self) -> None:
        """Nothing of any life of the driver is left."""
        assert self._process is not None
        while found := list(self._session()):
            for pid in found:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def kill_worker(self) -> bool:
        """SIGKILL for one of the workers that do tasks; False if there is none at the moment."""
        assert self._process is not None
        found = task_workers(self._process.pid)
        if found:
            with suppress(ProcessLookupError):
                os.kill(self._random.choice(found), signal.SIGKILL)
        return bool(found)

    def lost_tasks(self) -> int:
        """How many tasks have lost their workers, in all its lives."""
        return len(_LOST_TASK.findall(self._log.read_bytes()))

    def _session(self) -> Iterator[int]:
        """The living processes of this life."""
        assert self._process is not None
        return _processes(self._process.pid)


def task_workers(session: int) -> list[int]:
    """The processes of a session that do Spark's tasks. Those that plan are none of them: they have nothing to lose."""
    return sorted(pid for pid in _processes(session) if _is_task_worker(pid))


def _processes(session: int) -> Iterator[int]:
    for entry in Path("/proc").iterdir():
        with suppress(ValueError, ProcessLookupError):
            pid = int(entry.name)
            if os.getsid(pid) == session and not _is_zombie(pid):
                yield pid


def _stat(pid: int) -> list[str]:
    """The fields behind the command's name: state, parent ..."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return ["Z", "0"]


def _is_zombie(pid: int) -> bool:
    return _stat(pid)[0] in {"Z", "X"}


def _is_task_worker(pid: int) -> bool:
    """Forked, so that it has the command line of its parent."""
    words = _command_line(pid)
    return words[-1:] == [_TASKS] and words == _command_line(int(_stat(pid)[1]))


def _command_line(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[:-1]
    except (FileNotFoundError, ProcessLookupError):
        return []

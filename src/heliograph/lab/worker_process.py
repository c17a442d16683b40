"""A Python process that works for a benchmark: it takes orders as lines on its standard input, and answers in lines."""

import os
import subprocess
import sys
from pathlib import Path

import heliograph
from heliograph.common import process_end
from heliograph.lab.machine import on_core


def source_environment() -> dict[str, str]:
    """The environment for processes that must run this code, and not another copy of it that is installed.

    A relative PYTHONPATH would not do, as processes have working folders of their own.
    """
    paths = [str(Path(heliograph.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    return os.environ | {"PYTHONPATH": os.pathsep.join(path for path in paths if path)}


class WorkerProcess:
    """One process; what it writes on standard error goes to a log."""

    def __init__(self, module: str, *arguments: str, log: Path, core: int | None = None, patience: float) -> None:
        """Run a module, on one core if one is named; `patience` is for its end, in seconds."""
        with log.open("ab") as file, on_core(core):
            self._process = subprocess.Popen(
                [sys.executable, "-m", module, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=file,
                env=source_environment(),
                text=True,
            )
        self._log = log
        self._patience = patience

    @property
    def pid(self) -> int:
        """Its process id; processes that it starts are below it."""
        return self._process.pid

    def tell(self, line: str) -> bool:
        """Give an order; False if the process has ended."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        except OSError:
            return False
        return True

    def answer(self) -> str:
        """Its next line; empty if the process has ended."""
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def last_words(self, length: int = 500) -> str:
        """The end of its log."""
        return self._log.read_text(errors="replace").strip()[-length:]

    def close(self) -> None:
        """End it: it ends by itself when its standard input does."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        process_end.end_process(self._process, self._patience, ask=False)
        self._process.stdout.close()

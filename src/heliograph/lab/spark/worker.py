"""The driver's side of the process with the Spark session."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from heliograph.common import process_end
from heliograph.lab.errors import MeasurementFailed
from heliograph.lab.targets.running import source_environment

_PATIENCE = 30.0


class SparkWorker:
    """A process that does one job at a time for us."""

    def __init__(self, log: Path, master: str, *, quick: bool = False) -> None:
        self._log = log
        with log.open("ab") as file:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "heliograph.pipeline.bench_worker", master, *(["--quick"] if quick else [])],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=file,
                env=source_environment(),
                text=True,
            )

    @property
    def pid(self) -> int:
        """Of the process; Java and Python's workers are below it."""
        return self._process.pid

    def ask(self, do: str, order: Mapping[str, object] | None = None) -> dict[str, Any]:
        """Have a job done; a Problem if it fails."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps({"do": do, **(order or {})}) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except OSError:
            line = ""
        if not line:
            raise MeasurementFailed(
                f"Spark's process has ended: {self._log.read_text(errors='replace').strip()[-800:]}"
            )
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise MeasurementFailed(f"Spark, {do}: {answer['error']}")
        return answer

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        process_end.end(self._process, _PATIENCE, ask=False)
        self._process.stdout.close()

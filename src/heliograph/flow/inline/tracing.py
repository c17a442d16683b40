"""Where the texts of Trace nodes go: the log, or files."""

import logging
from pathlib import Path


class Tracing:
    """Writes traces of one instance."""

    def __init__(self, flow: str) -> None:
        self._log = logging.getLogger("heliograph.flow.trace")
        self._flow = flow

    def __call__(self, destination: str, text: str) -> None:
        """`user` and `log` are for the log; everything else names a file."""
        if destination == "user":
            self._log.info("%s: %s", self._flow, text)
        elif destination == "log":
            self._log.warning("%s: %s", self._flow, text)
        else:
            with Path(destination).open("a", encoding="utf-8") as file:
                file.write(text if text.endswith("\n") else text + "\n")

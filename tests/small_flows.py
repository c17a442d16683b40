"""Flows for tests, written down in a few lines."""

from pathlib import Path
from typing import Any

from heliograph.flow.testing import FlowUnderTest


def write_flow(folder: Path, text: str, **files: str) -> Path:
    """A flow's folder: `text` is flow.yaml from `nodes:` on; names of files have __ for a dot and ___ for a slash."""
    head = "" if text.lstrip().startswith("flow:") else "flow: test\n"
    (folder / "flow.yaml").write_text(head + text)
    for name, content in files.items():
        file = folder / name.replace("___", "/").replace("__", ".")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    return folder


def flow_under_test(folder: Path, text: str, *, options: dict[str, Any] | None = None, **files: str) -> FlowUnderTest:
    """The flow, ready to take messages."""
    return FlowUnderTest(write_flow(folder, text, **files), **(options or {}))

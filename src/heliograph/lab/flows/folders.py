"""Flows of cases as folders, loaded and compiled."""

import tempfile
from collections.abc import Mapping
from pathlib import Path

from heliograph.flow.definition import FlowDefinition
from heliograph.flow.loading import load_flow
from heliograph.lab.flows.cases import Files


def write_folder(folder: Path, files: Files) -> Path:
    """The folder with these files in it."""
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    return folder


def definition_of(files: Files, parameters: Mapping[str, str] | None = None) -> FlowDefinition:
    """The flow of these files."""
    with tempfile.TemporaryDirectory(prefix="helio-flow-") as name:
        return load_flow(write_folder(Path(name), files), parameters=parameters)

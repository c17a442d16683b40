"""The files that nodes name: they are there, and what is in them can be compiled."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from heliograph.errors import Problem
from heliograph.flow.definition.flow import NodeDefinition, Place
from heliograph.flow.definition.mistakes import Findings, known, suggestion
from heliograph.flow.nodes.kinds import KINDS
from heliograph.flow.nodes.python import load_function


def check_files(
    folder: Path, nodes: Mapping[str, NodeDefinition], parameters: Mapping[str, Any], findings: Findings
) -> tuple[dict[str, str], dict[str, bytes]]:
    """The texts of all files that nodes name, and the files of models/."""
    sources: dict[str, str] = {}
    for node in nodes.values():
        for name, rule in KINDS[node.type].properties.items():
            path = node.properties[name]
            if rule.type == "file" and path:
                _read(folder, path, rule.suffix, node.places.get(name, node.place), sources, findings)
    _check_python(nodes, sources, findings)
    return sources, _models(folder)


def _read(folder: Path, path: str, suffix: str, place: Place, sources: dict[str, str], findings: Findings) -> None:
    if path in sources:
        return
    if not path.endswith(suffix):
        findings.mistake(place, f"expected a file whose name ends with {suffix}, found {path}")
        return
    file = folder / path
    if not file.is_file():
        there = [found.relative_to(folder).as_posix() for found in sorted(folder.rglob(f"*{suffix}"))]
        findings.mistake(place, f"there is no file {path}{suggestion(path, there)}; there are: {known(there)}")
        return
    try:
        sources[path] = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        findings.mistake(place, f"{path} cannot be read: {error}")


def _check_python(nodes: Mapping[str, NodeDefinition], sources: Mapping[str, str], findings: Findings) -> None:
    for node in nodes.values():
        path = str(node.properties.get("file"))
        if node.type == "Python" and path in sources:
            try:
                load_function(sources[path], path, node.properties["function"])
            except Problem as problem:
                findings.mistake(node.places.get("file", node.place), str(problem))


def _models(folder: Path) -> dict[str, bytes]:
    return {
        file.relative_to(folder).as_posix(): file.read_bytes()
        for file in sorted((folder / "models").rglob("*"))
        if file.is_file()
    }

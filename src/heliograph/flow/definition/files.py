"""The files that nodes name: they are there, and what is in them can be compiled."""

from collections.abc import Mapping
from pathlib import Path

from heliograph.common.documents import Place
from heliograph.errors import Problem
from heliograph.flow.definition.flow import NodeDefinition
from heliograph.flow.definition.mistakes import Findings, known, suggestion
from heliograph.flow.definition.programs import check_programs
from heliograph.flow.engine.building import settings_of
from heliograph.flow.engine.nodes.kinds import KINDS
from heliograph.flow.engine.nodes.python import load_function
from heliograph.flow.formats.catalogue import MODELLED
from heliograph.flow.formats.model.models import Models
from heliograph.flow.formats.model.problem import ModelProblem


def check_files(
    folder: Path, nodes: Mapping[str, NodeDefinition], findings: Findings
) -> tuple[dict[str, str], dict[str, str]]:
    """The texts of all files that nodes name, and of those in models/."""
    sources: dict[str, str] = {}
    for node in nodes.values():
        for name, rule in KINDS[node.type].properties.items():
            path = node.properties[name]
            if rule.type == "file" and path:
                _read(folder, path, rule.suffix, node.places.get(name, node.place), sources, findings)
    for file in sorted(folder.rglob("*.esql")):  # routines may be in files that no node names
        _read(folder, file.relative_to(folder).as_posix(), ".esql", Place(file.name), sources, findings)
    _check_python(nodes, sources, findings)
    check_programs(nodes, sources, findings)
    return sources, _models(folder, nodes, findings)


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
        findings.mistake(place, f"{path} cannot be read: {why_unreadable(error)}")


def why_unreadable(error: OSError | UnicodeDecodeError) -> str:
    """Why a file is of no use, in words."""
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start} is not UTF-8"
    return (error.strerror or str(error)).lower()


def _check_python(nodes: Mapping[str, NodeDefinition], sources: Mapping[str, str], findings: Findings) -> None:
    for node in nodes.values():
        path = str(node.properties.get("file"))
        if node.type == "Python" and path in sources:
            try:
                load_function(sources[path], path, node.properties["function"])
            except Problem as problem:
                findings.mistake(node.places.get("file", node.place), str(problem))


def _models(folder: Path, nodes: Mapping[str, NodeDefinition], findings: Findings) -> dict[str, str]:
    try:
        models = Models.load(folder / "models")
    except ModelProblem as problem:
        findings.mistake(_place(problem), problem.text)
        return {}
    except Problem as problem:
        findings.mistake(Place("models"), str(problem))
        return {}
    for node in nodes.values():
        if node.properties.get("domain") == MODELLED and node.properties["message_set"]:
            try:
                models.find(settings_of(node.properties).text(0, 0))
            except Problem as problem:
                findings.mistake(node.places.get("message_set", node.place), str(problem))
    return models.sources


def _place(problem: ModelProblem) -> Place:
    place = problem.place
    return Place(f"models/{place}") if isinstance(place, str) else Place(f"models/{place.file}", place.line, 1)

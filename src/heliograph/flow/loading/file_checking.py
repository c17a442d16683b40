"""The files of a flow beside its nodes: ESQL, mappings, models and Python, read and checked."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from heliograph.common.documents import Place
from heliograph.errors import Problem
from heliograph.flow.definition import Findings, NodeDefinition, known, suggestion
from heliograph.flow.engine.compilation import message_settings
from heliograph.flow.engine.esql_programs import MODULE_KINDS, labels_of, parse_others, select_module, syntax_nodes
from heliograph.flow.engine.mapping_rules import mapping_text
from heliograph.flow.engine.nodes.node_kinds import KINDS
from heliograph.flow.engine.nodes.python_nodes import load_function
from heliograph.flow.errors import EsqlMistake, EsqlProblem, ModelProblem
from heliograph.flow.formats.catalogue import BODIES, HEADERS, MODELLED
from heliograph.flow.formats.model.models import Models
from heliograph.flow.language.esql import syntax
from heliograph.flow.language.esql.checking.program_checking import check_program
from heliograph.flow.language.esql.parsing.program_parsing import parse_program

# Checks of domains: a body of an unknown format cannot be read or sent, so it is a mistake before the flow runs.

PARTS = (*BODIES, *(header.domain for header in HEADERS))
"""What can be directly under the root of a message."""


def check_domains(nodes: Mapping[str, NodeDefinition], findings: Findings) -> None:
    """The domains in which nodes read bodies."""
    for node in nodes.values():
        domain = node.properties.get("domain")
        if domain and domain not in BODIES:
            findings.mistake(node.places.get("domain", node.place), _unknown(domain, BODIES))


def unknown_domains(program: syntax.Program) -> Iterator[tuple[syntax.Position, str]]:
    """Where a program makes parts of messages that have no format, and what is to be said."""
    nodes = list(syntax_nodes(program))
    constants = {
        name.upper()
        for node in nodes
        if isinstance(node, syntax.Declaration) and node.type.name == "NAME"
        for name in node.names
    }
    for node in nodes:
        if isinstance(node, syntax.Create) and isinstance(node.domain, syntax.Literal):
            if node.domain.value not in PARTS:
                yield node.domain.at, _unknown(str(node.domain.value), PARTS)
        elif isinstance(node, syntax.Create | syntax.Set) and not _removes(node):
            step = _part(node.target)
            name = step.name if step is not None else None
            if step is not None and isinstance(name, str) and name not in PARTS and name.upper() not in constants:
                yield step.at, f"OutputRoot: {_unknown(name, PARTS)}"


def _removes(node: syntax.Create | syntax.Set) -> bool:
    """`SET ... = NULL` makes nothing."""
    return isinstance(node, syntax.Set) and isinstance(node.value, syntax.Literal) and node.value.value is None


def _part(target: syntax.FieldReference) -> syntax.PathStep | None:
    """The step of a path that names a part of the message that leaves, if it begins there."""
    return target.steps[0] if target.correlation.upper() == "OUTPUTROOT" and target.steps else None


def _unknown(domain: str, names: tuple[str, ...]) -> str:
    return f"there is no domain {domain}{suggestion(domain, names)}; there are: {known(names)}"


# Checks of ESQL and mappings: every file is right in itself, and has the module that a node wants.


def check_programs(nodes: Mapping[str, NodeDefinition], sources: Mapping[str, str], findings: Findings) -> None:
    """All .esql files of the flow, and the mappings and modules that its nodes name."""
    programs = {
        file: _program(file, text, _kind_wanted(file, nodes), sources, findings)
        for file, text in sources.items()
        if file.endswith(".esql")
    }
    labels = {
        node.properties["label"] or node.name.rpartition(".")[2] for node in nodes.values() if node.type == "Label"
    }
    for node in nodes.values():
        if node.type in MODULE_KINDS:
            _check_module(node, programs, labels, findings)
    for file, text in sources.items():
        if file.endswith(".map.yaml"):
            _check_mapping(file, text, sources, findings)


def _kind_wanted(file: str, nodes: Mapping[str, NodeDefinition]) -> str:
    """What statements without a module are, in this file: what the node runs that names it."""
    for node in nodes.values():
        if node.type in MODULE_KINDS and node.properties["esql"] == file:
            return MODULE_KINDS[node.type]
    return "COMPUTE"


def _program(file: str, text: str, kind: str, sources: Mapping[str, str], findings: Findings) -> syntax.Program | None:
    try:
        program = parse_program(text, file, kind)
    except EsqlProblem as problem:
        _tell(problem.mistakes, findings)
        return None
    _tell(check_program(program, parse_others(sources, file)), findings)
    for at, said in unknown_domains(program):
        findings.mistake(Place(file, at.line, at.column), said)
    return program


def _check_module(
    node: NodeDefinition, programs: Mapping[str, syntax.Program | None], labels: set[str], findings: Findings
) -> None:
    program = programs.get(node.properties["esql"])
    if program is None:
        return  # the file is missing or wrong, which has been told
    try:
        module = select_module(program, node.properties["module"], MODULE_KINDS[node.type])
    except Problem as problem:
        findings.mistake(node.places.get("module", node.places.get("esql", node.place)), str(problem))
        return
    for label in labels_of([module]):
        name = str(label.value)
        if name not in labels:
            text = f"there is no label {name}{suggestion(name, labels)}; there are: {known(labels)}"
            findings.mistake(Place(program.file, label.at.line, label.at.column), text)


def _check_mapping(file: str, text: str, sources: Mapping[str, str], findings: Findings) -> None:
    found = Findings()
    _, esql = mapping_text(text, file, found)
    if found.count():
        findings.add(found)
        return
    lines = text.split("\n")
    try:
        program = parse_program(esql, file)
        mistakes = check_program(program, parse_others(sources, file))
        for at, said in unknown_domains(program):
            findings.mistake(Place(file, at.line, 1), f"{said}\n  {lines[at.line - 1].strip()}")
    except EsqlProblem as problem:
        mistakes = list(problem.mistakes)
    for mistake in mistakes:
        # The line is the same in both; the columns are not, and the line to be shown is that of the YAML file.
        line = lines[mistake.line - 1].strip() if mistake.line <= len(lines) else ""
        tell = findings.warning if mistake.warning else findings.mistake
        tell(Place(file, mistake.line, 1), f"{mistake.text}\n  {line}")


def _tell(mistakes: "tuple[EsqlMistake, ...] | list[EsqlMistake]", findings: Findings) -> None:
    for mistake in mistakes:
        _, _, picture = str(mistake).partition("\n")
        tell = findings.warning if mistake.warning else findings.mistake
        tell(Place(mistake.file, mistake.line, mistake.column), f"{mistake.text}\n{picture}")


# The files that nodes name: they are there, and what is in them can be compiled.


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
                models.find(message_settings(node.properties).text(0, 0))
            except Problem as problem:
                findings.mistake(node.places.get("message_set", node.place), str(problem))
    return models.sources


def _place(problem: ModelProblem) -> Place:
    place = problem.place
    return Place(f"models/{place}") if isinstance(place, str) else Place(f"models/{place.file}", place.line, 1)

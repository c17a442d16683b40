"""Checks of ESQL and mappings: every file is right in itself, and has the module that a node wants."""

from collections.abc import Mapping

from heliograph.common.documents import Place
from heliograph.errors import Problem
from heliograph.flow.definition.domains import unknown_domains
from heliograph.flow.definition.flow import NodeDefinition
from heliograph.flow.definition.mistakes import Findings, known, suggestion
from heliograph.flow.engine.nodes.mapping_text import mapping_text
from heliograph.flow.engine.nodes.programs import MODULE_KINDS, labels_of, parse_others, select_module
from heliograph.flow.language.esql import syntax
from heliograph.flow.language.esql.checking import check_program
from heliograph.flow.language.esql.parsing import parse_program
from heliograph.flow.language.esql.problem import EsqlProblem, Mistake


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


def _tell(mistakes: "tuple[Mistake, ...] | list[Mistake]", findings: Findings) -> None:
    for mistake in mistakes:
        _, _, picture = str(mistake).partition("\n")
        tell = findings.warning if mistake.warning else findings.mistake
        tell(Place(mistake.file, mistake.line, mistake.column), f"{mistake.text}\n{picture}")

"""Compile a flow, and show the result.

ESQL and mappings become Python functions, with each source statement as a comment before its code. Messages of models
become a reader and a writer for each physical format.
"""

import argparse
import ast
from collections.abc import Iterator

from heliograph.cli.flow.options import add_flow, load
from heliograph.cli.shared.output import table
from heliograph.errors import InvalidInput
from heliograph.flow.definition import FlowDefinition, known, suggestion
from heliograph.flow.engine import MODULE_KINDS, Compilation
from heliograph.flow.formats import Codec, Models
from heliograph.flow.language import CompiledProgram
from heliograph.flow.tree import Text

EXAMPLES = """\
  helio flow compile orders                           a summary
  helio flow compile orders --show                    the Python of all ESQL modules and mappings
  helio flow compile orders --show --module Check     the Python of one
  helio flow compile orders --models                  readers and writers of models
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `helio flow compile`."""
    add_flow(parser)
    parser.add_argument("--show", action="store_true", help="print the Python of ESQL modules and mappings")
    parser.add_argument("--module", metavar="NAME", help="this ESQL module only")
    parser.add_argument("--models", action="store_true", help="print the readers and writers of models")


def run(args: argparse.Namespace) -> int:
    """Compile everything, then show what was asked for."""
    definition = load(args)
    programs = _programs(definition)
    codecs = _codecs(definition)
    if args.module is not None:
        programs = _with_module(programs, args.module)
    if args.show:
        for program in programs:
            print(_source(program, args.module))
    if args.models:
        for (model, message, form), codec in codecs.items():
            print(f"# {model}.{message} in {form}\n{codec.source}")
    if not args.show and not args.models:
        _print_tables(definition, programs, codecs)
    return 0


def _programs(definition: FlowDefinition) -> list[CompiledProgram]:
    building = Compilation(definition)
    for node in definition.nodes.values():
        if node.type in MODULE_KINDS:
            building.module(node, MODULE_KINDS[node.type])
        elif node.type == "Mapping":
            building.mapping(node)
    # A file that nodes of several types use is compiled for each of them, mostly to the same.
    return [*{program.source: program for program, _ in building.programs.values()}.values()]


def _codecs(definition: FlowDefinition) -> dict[tuple[str, str, str], Codec]:
    models = Models(definition.models)
    return {
        (model.name, message, form): models.codec(
            Text(message_set=model.name, message_type=message, message_format=form)
        )
        for model in models.models.values()
        for message in model.messages
        for form in model.formats
    }


def _with_module(programs: list[CompiledProgram], name: str) -> list[CompiledProgram]:
    found = [program for program in programs if _named(program, name)]
    if not found:
        names = {module for program in programs for module in program.modules}
        raise InvalidInput(f"there is no module {name}{suggestion(name, names)}; there are: {known(names)}")
    return found


def _named(program: CompiledProgram, name: str) -> str | None:
    return next((module for module in program.modules if module.lower() == name.lower()), None)


def _source(program: CompiledProgram, module: str | None) -> str:
    """The Python of a program, or what is left of it without the functions of its other modules."""
    _, file, _ = program.sources[0]
    if module is None:
        return f"# {file}\n{program.source}"
    others = tuple(name for name in program.modules if name != _named(program, module))
    lines = program.source.splitlines()
    for node in reversed(ast.parse(program.source).body):
        if isinstance(node, ast.FunctionDef) and _belongs(node.name, others):
            del lines[node.lineno - 1 : node.end_lineno]
    text = "\n".join(lines).strip()
    while "\n\n\n\n" in text:
        text = text.replace("\n\n\n\n", "\n\n\n")
    return f"# {file}\n{text}\n"


def _belongs(function: str, modules: tuple[str, ...]) -> bool:
    return any(function == f"_run_{name}" or function.startswith(f"_{name}_") for name in modules)


def _print_tables(
    definition: FlowDefinition, programs: list[CompiledProgram], codecs: dict[tuple[str, str, str], Codec]
) -> None:
    rows = [row for program in programs for row in _rows(definition, program)]
    if rows:
        print(*table(("FILE", "MODULE", "KIND", "NODES", "LINES OF PYTHON"), rows), sep="\n")
    if rows and codecs:
        print()
    if codecs:
        figures = [(*names, codec.source.count("\n")) for names, codec in codecs.items()]
        print(*table(("MODEL", "MESSAGE", "FORMAT", "LINES OF PYTHON"), figures), sep="\n")
    if not rows and not codecs:
        print(f"{definition.name} has no ESQL, no mappings and no models")


def _rows(definition: FlowDefinition, program: CompiledProgram) -> Iterator[tuple[str, str, str, str, int]]:
    _, file, _ = program.sources[0]
    for name, module in program.modules.items():
        nodes = [
            node.name
            for node in definition.nodes.values()
            if file in (node.properties.get("esql"), node.properties.get("map"))
            and (node.properties.get("module") or name).lower() == name.lower()
            and MODULE_KINDS.get(node.type, "COMPUTE") == module.kind
        ]
        yield file, name, module.kind, ", ".join(nodes), _source(program, name).count("\n")

"""Trace: writes a text about the message, with ESQL expressions in it, and lets the message pass."""

from collections.abc import Iterator, Mapping
from typing import Any

from heliograph.errors import Problem
from heliograph.flow.definition import NodeDefinition
from heliograph.flow.engine.compilation import Compilation
from heliograph.flow.engine.node import Node, NodeKind, Property, choice
from heliograph.flow.engine.run import Assembly, Run, Target
from heliograph.flow.errors import EsqlProblem, InvalidFlow
from heliograph.flow.language.dumping import dump_tree
from heliograph.flow.language.esql.checking.program_checking import check_expression
from heliograph.flow.language.esql.compiling.program_compiling import FilterExpression, compile_filter_expression
from heliograph.flow.language.esql.parsing.program_parsing import parse_expression
from heliograph.flow.language.esql.runtime.evaluation import Evaluation
from heliograph.flow.language.values.types import character
from heliograph.flow.tree import Element


class Trace(Node):
    """Writes its pattern."""

    def __init__(self, definition: NodeDefinition, compilation: Compilation) -> None:
        super().__init__(definition, compilation)
        properties = definition.properties
        place = definition.places.get("pattern", definition.place)
        self._pieces = [
            piece if is_text else compile_filter_expression(piece, str(place))
            for is_text, piece in pattern_pieces(properties["pattern"])
        ]
        self._destination: str = properties["destination"]
        self._file: str = properties["file"]
        self._catalogue = compilation.catalogue

    def link(self, terminals: Mapping[str, Target]) -> None:
        """What is behind it."""
        super().link(terminals)
        self._out = terminals.get("out")

    def accept(self, assembly: Assembly, run: Run) -> None:
        """The message is not changed; nothing is evaluated if the trace goes nowhere."""
        trace = run.resources.trace
        try:
            if self._destination == "log":
                run.log(self.name, self._text(assembly, run), "information")
            elif trace is not None and self._destination != "none":
                trace(self._file if self._destination == "file" else "user", self._text(assembly, run) + "\n")
        except Exception as error:
            self.fail(assembly, run, error)
            return
        if self._out is not None:
            self._out(assembly, run)

    def _text(self, assembly: Assembly, run: Run) -> str:
        evaluation = Evaluation(
            assembly.message.root,
            catalogue=self._catalogue,
            now=run.now,
            input_local_environment=assembly.local_environment,
            input_exception_list=assembly.exception_list,
            environment=run.environment,
            database=run.resources.database,
        )
        return "".join(
            shown(piece.evaluate(evaluation)) if isinstance(piece, FilterExpression) else piece
            for piece in self._pieces
        )


def pattern_pieces(pattern: str) -> Iterator[tuple[bool, str]]:
    """The pieces of a pattern: texts (True), and the expressions between `${` and `}` (False)."""
    at = 0
    while True:
        begins = pattern.find("${", at)
        if begins < 0:
            break
        ends = _end(pattern, begins + 2)
        if begins > at:
            yield True, pattern[at:begins]
        yield False, pattern[begins + 2 : ends]
        at = ends + 1
    if at < len(pattern):
        yield True, pattern[at:]


def _end(pattern: str, at: int) -> int:
    """Where the expression ends; braces inside of it, and in its quotes, do not end it."""
    depth, quote = 0, ""
    for position in range(at, len(pattern)):
        character = pattern[position]
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character == "{":
            depth += 1
        elif character == "}":
            if not depth:
                return position
            depth -= 1
    raise InvalidFlow(f"expected }} at the end of ${{{pattern[at:]}")


def shown(value: Any) -> str:
    """What a trace shows of a value, an element or a list."""
    if value is None:
        return "NULL"
    if isinstance(value, Element):
        return dump_tree(value)
    if isinstance(value, list | tuple):
        return "\n".join(map(shown, value))
    return character(value)


def _check(properties: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if properties["destination"] == "file" and not properties["file"]:
        yield "file", "expected the name of a file, for destination file"
    try:
        for is_text, piece in pattern_pieces(properties["pattern"]):
            mistakes = [] if is_text else check_expression(parse_expression(piece), piece)
            for mistake in mistakes:
                if not mistake.warning:
                    yield "pattern", f"${{{piece}}}: {mistake.text}"
    except EsqlProblem as problem:
        for mistake in problem.mistakes:
            yield "pattern", f"${{{mistake.source_line}}}: {mistake.text}"
    except Problem as problem:
        yield "pattern", str(problem)


KIND = NodeKind(
    "Trace",
    "Writes a text about the message.",
    Trace,
    properties={
        "pattern": Property(
            "The text; ${expression} in it is replaced by the value of an ESQL expression.", default=""
        ),
        "destination": choice("Where it is written to.", "user", "file", "log", "none"),
        "file": Property("The file, for destination file."),
    },
    check=_check,
)

"""Running ESQL on messages, without flows and nodes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pytest

from heliograph.flow.formats import Catalogue
from heliograph.flow.language.esql.compiling.program_compiling import compile_program
from heliograph.flow.language.esql.parsing.program_parsing import parse_program
from heliograph.flow.language.esql.runtime.compiled_program import CompiledProgram
from heliograph.flow.language.esql.runtime.evaluation import Evaluation, LogEntry, Propagation
from heliograph.flow.tree import Element

NOW = datetime(2004, 9, 30, 12, 34, 56, 789000)


@dataclass
class Sent:
    """A message that PROPAGATE handed on."""

    terminal: str | None
    label: str | None
    body: str
    finalize: bool


@dataclass
class Run:
    """One evaluation, and what came of it."""

    evaluation: Evaluation
    compiled: CompiledProgram
    result: Any = None
    sent: list[Sent] = field(default_factory=list)
    logged: list[LogEntry] = field(default_factory=list)

    @property
    def xml(self) -> str:
        """The body that was built."""
        return body_of(self.evaluation.output_root)

    def value(self, *path: str) -> Any:
        """The value of a field under Environment."""
        element: Element | None = self.evaluation.environment
        for name in path:
            element = element.first(name) if element is not None else None
        return element.value if element is not None else None


def body_of(root: Element) -> str:
    parts = [part for part in root.children if hasattr(part, "bytes")]
    return parts[-1].bytes().decode() if parts else ""


def message(xml: str = "", domain: str = "XML") -> Element:
    root = Element("Root")
    if xml:
        root.append(Catalogue().part_of(domain, xml.encode()))
    return root


def module(*body: str, declarations: str = "", routines: str = "") -> str:
    """A Compute module with these statements in its Main."""
    return f"""
        CREATE COMPUTE MODULE Test
            {declarations}
            CREATE FUNCTION Main() RETURNS BOOLEAN BEGIN
                {" ".join(body)}
                RETURN TRUE;
            END;
            {routines}
        END MODULE;"""


Runner = Callable[..., Run]


@pytest.fixture
def run() -> Runner:
    """Compile a program and run its only module on an XML message."""

    def call(
        text: str,
        xml: str = "",
        *,
        domain: str = "XML",
        kind: str = "COMPUTE",
        others: tuple[str, ...] = (),
        **given: Any,
    ) -> Run:
        compiled = compile_program(
            parse_program(text, "test.esql", kind), [parse_program(other, "other.esql") for other in others]
        )
        outcome: Run
        logged: list[LogEntry] = []

        def propagate(wanted: Propagation) -> None:
            root = wanted.message or outcome.evaluation.output_root
            outcome.sent.append(Sent(wanted.terminal, wanted.label, body_of(root), wanted.finalize))

        settings: dict[str, Any] = {
            "catalogue": Catalogue(),
            "now": NOW,
            "propagate": propagate,
            "log": logged.append,
            **given,
        }
        root = settings.pop("input_root", None) or message(xml, domain)
        outcome = Run(Evaluation(root, **settings), compiled, logged=logged)
        (module,) = compiled.modules.values()
        outcome.result = module.run(outcome.evaluation)
        return outcome

    return call


@pytest.fixture
def value(run: Runner) -> Callable[..., Any]:
    """The value of an expression."""
    return values_by(run)


def values_by(run: Runner, default: str = "") -> Callable[..., Any]:
    """What evaluates expressions by running programs; on this message, if it is given none."""

    def call(expression: str, xml: str = default, *, declare: str = "", **given: Any) -> Any:
        return run(f"{declare} SET Environment.Result VALUE = {expression};", xml, **given).value("Result")

    return call


XML = """<m><n>3</n><e/><l><i k="1"><v>10</v></i><i k="2"><v>20</v></i><i k="3"/></l><a>x</a><a>y</a><a>z</a></m>"""


def program(routines: str, main: str) -> str:
    return f"""CREATE COMPUTE MODULE M
  {routines}
  CREATE FUNCTION Main() RETURNS BOOLEAN
  BEGIN
    {main}
    RETURN TRUE;
  END;
END MODULE;"""


DEEP = "CREATE FUNCTION f(IN n INTEGER) RETURNS INTEGER BEGIN IF n = 0 THEN RETURN 0; END IF; RETURN 1 + f(n - 1); END;"

"""Routines, modules and whole files."""

from dataclasses import dataclass, field

from heliograph.flow.language.esql.problem import Mistake
from heliograph.flow.language.esql.syntax.expressions import DataType
from heliograph.flow.language.esql.syntax.node import Node
from heliograph.flow.language.esql.syntax.statements import Declaration, Statement


@dataclass(frozen=True, slots=True)
class Parameter(Node):
    """`[IN | OUT | INOUT] name [CONSTANT] type`."""

    name: str
    type: DataType
    mode: str = "IN"
    constant: bool = False


@dataclass(frozen=True, slots=True)
class Routine(Node):
    """`CREATE FUNCTION | PROCEDURE name(parameters) ... body`."""

    kind: str
    """FUNCTION or PROCEDURE."""
    name: str
    parameters: tuple[Parameter, ...]
    returns: DataType | None = None
    not_null: bool = False
    language: str = "ESQL"
    """ESQL, DATABASE, JAVA, .NET or CLR."""
    result_sets: int = 0
    body: Statement | None = None
    """None: it is external."""
    external_name: str | None = None


@dataclass(frozen=True, slots=True)
class Module(Node):
    """`CREATE kind MODULE name ... END MODULE`."""

    kind: str
    """COMPUTE, DATABASE, FILTER or DATABASEEVENT."""
    name: str
    """Empty for statements without a module around them: their `Main` ends with RETURN TRUE."""
    declarations: tuple[Declaration, ...] = ()
    routines: tuple[Routine, ...] = ()


@dataclass(frozen=True, slots=True)
class Program(Node):
    """One file."""

    schema: tuple[str, ...] = ()
    """`BROKER SCHEMA a.b`."""
    path: tuple[tuple[str, ...], ...] = ()
    """`PATH c.d, ...`."""
    declarations: tuple[Declaration, ...] = ()
    routines: tuple[Routine, ...] = ()
    modules: tuple[Module, ...] = ()
    text: str = field(default="", compare=False, repr=False)
    file: str = field(default="", compare=False)
    warnings: tuple[Mistake, ...] = field(default=(), compare=False, repr=False)
    """What the parser has seen that is right, but hardly meant."""

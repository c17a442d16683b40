"""Statements."""

from dataclasses import dataclass, field

from heliograph.flow.errors import EsqlMistake
from heliograph.flow.language.esql.syntax.expressions import (
    Call,
    DataType,
    Expression,
    FieldConstant,
    FieldReference,
    Node,
    Passthru,
    PathStep,
    Wildcard,
)


@dataclass(frozen=True, slots=True)
class Statement(Node):
    """Anything that is done."""


Body = tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Declaration(Statement):
    """`DECLARE name, ... [SHARED | EXTERNAL] [CONSTANT] type [initial]`.

    `REFERENCE TO field` has the field as its initial value.
    """

    names: tuple[str, ...]
    type: DataType
    initial: Expression | None = None
    shared: bool = False
    external: bool = False
    constant: bool = False
    """NAME, NAMESPACE and EXTERNAL are constant without being declared so."""


@dataclass(frozen=True, slots=True)
class SqlState(Node):
    """`SQLSTATE [VALUE] 'text'` or `SQLSTATE LIKE 'pattern' [ESCAPE 'c']`."""

    text: str
    like: bool = False
    escape: str | None = None


@dataclass(frozen=True, slots=True)
class HandlerDeclaration(Statement):
    """`DECLARE EXIT | CONTINUE HANDLER FOR state, ... statement`."""

    exits: bool
    states: tuple[SqlState, ...]
    body: Statement


@dataclass(frozen=True, slots=True)
class Block(Statement):
    """`[label:] BEGIN [[NOT] ATOMIC] ... END [label]`."""

    body: Body
    atomic: bool = False
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Set(Statement):
    """`SET target [TYPE | NAMESPACE | NAME | VALUE] = value`."""

    target: FieldReference
    value: Expression
    aspect: str | None = None


@dataclass(frozen=True, slots=True)
class CallStatement(Statement):
    """`CALL name(arguments) [IN field | EXTERNAL SCHEMA schema] [INTO target]`."""

    call: Call
    field: FieldReference | None = None
    """IN: the database, `Database.source.schema`."""
    external_schema: Expression | None = None
    into: FieldReference | None = None


@dataclass(frozen=True, slots=True)
class Branch(Node):
    """Statements under a condition, in IF and CASE."""

    condition: Expression
    body: Body


@dataclass(frozen=True, slots=True)
class If(Statement):
    """`IF ... THEN ... ELSEIF ... ELSE ... END IF`."""

    branches: tuple[Branch, ...]
    otherwise: Body = ()


@dataclass(frozen=True, slots=True)
class CaseStatement(Statement):
    """`CASE [operand] WHEN ... THEN ... [ELSE ...] END CASE`."""

    operand: Expression | None
    branches: tuple[Branch, ...]
    otherwise: Body | None = None
    """None: there is no ELSE."""


@dataclass(frozen=True, slots=True)
class While(Statement):
    """`WHILE condition DO ... END WHILE`."""

    condition: Expression
    body: Body
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Repeat(Statement):
    """`REPEAT ... UNTIL condition END REPEAT`."""

    body: Body
    until: Expression
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Loop(Statement):
    """`LOOP ... END LOOP`."""

    body: Body
    label: str | None = None


@dataclass(frozen=True, slots=True)
class For(Statement):
    """`FOR name AS field[] DO ... END FOR`."""

    name: str
    source: FieldReference
    body: Body
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Iterate(Statement):
    """`ITERATE label`."""

    label: str


@dataclass(frozen=True, slots=True)
class Leave(Statement):
    """`LEAVE label`."""

    label: str


@dataclass(frozen=True, slots=True)
class Return(Statement):
    """`RETURN [value]`."""

    value: Expression | None = None


@dataclass(frozen=True, slots=True)
class Throw(Statement):
    """`THROW [USER] EXCEPTION [SEVERITY e] [CATALOG e] [MESSAGE e] [VALUES(...)]`."""

    severity: Expression | None = None
    catalog: Expression | None = None
    message: Expression | None = None
    values: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class Log(Statement):
    """`LOG EVENT | USER TRACE [[FULL] EXCEPTION] [SEVERITY e] [CATALOG e] [MESSAGE e] [VALUES(...)]`."""

    trace: bool
    """True: USER TRACE."""
    exception: bool = False
    full: bool = False
    severity: Expression | None = None
    catalog: Expression | None = None
    message: Expression | None = None
    values: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class Resignal(Statement):
    """`RESIGNAL`."""


@dataclass(frozen=True, slots=True)
class Eval(Statement):
    """`EVAL(text)` as a statement."""

    text: Expression


@dataclass(frozen=True, slots=True)
class Parse(Node):
    """`PARSE(bytes [OPTIONS e] [ENCODING e] [CCSID e] [SET e] [TYPE e] [FORMAT e])`."""

    source: Expression
    clauses: tuple[tuple[str, Expression], ...] = ()


@dataclass(frozen=True, slots=True)
class Create(Statement):
    """`CREATE where target [AS reference] [DOMAIN e] [REPEAT | names and value | FROM field | PARSE(...)]`."""

    where: str
    """FIELD, FIRSTCHILD, LASTCHILD, PREVIOUSSIBLING or NEXTSIBLING."""
    target: FieldReference
    reference: str | None = None
    """AS: the variable that points to the field from then on."""
    domain: Expression | None = None
    repeat: bool = False
    identity: PathStep | None = None
    type: FieldConstant | Expression | None = None
    namespace: Expression | None = None
    name: Expression | None = None
    value: Expression | None = None
    source: FieldReference | None = None
    """FROM."""
    parse: Parse | None = None


@dataclass(frozen=True, slots=True)
class Delete(Statement):
    """`DELETE FIELD target` or `DELETE FIRSTCHILD OF target` and so on."""

    where: str
    """As in `Create`."""
    target: FieldReference


@dataclass(frozen=True, slots=True)
class Attach(Statement):
    """`ATTACH reference TO target AS FIRSTCHILD | LASTCHILD | PREVIOUSSIBLING | NEXTSIBLING`."""

    reference: str
    target: FieldReference
    where: str


@dataclass(frozen=True, slots=True)
class Detach(Statement):
    """`DETACH reference`."""

    reference: str


@dataclass(frozen=True, slots=True)
class Move(Statement):
    """`MOVE reference TO target | PARENT | where [names]`."""

    reference: str
    target: FieldReference | None = None
    """TO; None: `where` says where."""
    where: str | None = None
    """PARENT, FIRSTCHILD, LASTCHILD, PREVIOUSSIBLING or NEXTSIBLING."""
    identity: PathStep | None = None
    type: FieldConstant | Expression | None = None
    namespace: Wildcard | Expression | None = None
    name: Expression | None = None
    repeat_type: bool = False
    repeat_name: bool = False


@dataclass(frozen=True, slots=True)
class Propagate(Statement):
    """`PROPAGATE [TO TERMINAL e | TO LABEL e] [ENVIRONMENT e] [MESSAGE e] [EXCEPTION e] [FINALIZE x] [DELETE x]`."""

    terminal: Expression | None = None
    label: Expression | None = None
    environment: FieldReference | None = None
    message: FieldReference | None = None
    exception: FieldReference | None = None
    finalize: bool = True
    """False: FINALIZE NONE."""
    delete: bool = True
    """False: DELETE NONE."""


@dataclass(frozen=True, slots=True)
class Insert(Statement):
    """`INSERT INTO table [(column, ...)] VALUES (value, ...)`."""

    table: FieldReference
    columns: tuple[str, ...]
    values: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Assignment(Node):
    """`column = value` in an UPDATE."""

    column: str
    value: Expression


@dataclass(frozen=True, slots=True)
class Update(Statement):
    """`UPDATE table [AS name] SET column = value, ... [WHERE condition]`."""

    table: FieldReference
    assignments: tuple[Assignment, ...]
    name: str | None = None
    where: Expression | None = None


@dataclass(frozen=True, slots=True)
class DeleteRows(Statement):
    """`DELETE FROM table [AS name] [WHERE condition]`."""

    table: FieldReference
    name: str | None = None
    where: Expression | None = None


@dataclass(frozen=True, slots=True)
class PassthruStatement(Statement):
    """`PASSTHRU ...` as a statement."""

    passthru: Passthru


@dataclass(frozen=True, slots=True)
class Commit(Statement):
    """`COMMIT [Database.source]`."""

    database: FieldReference | None = None


@dataclass(frozen=True, slots=True)
class Rollback(Statement):
    """`ROLLBACK [Database.source]`."""

    database: FieldReference | None = None


# Routines, modules and whole files.


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
    warnings: tuple[EsqlMistake, ...] = field(default=(), compare=False, repr=False)
    """What the parser has seen that is right, but hardly meant."""

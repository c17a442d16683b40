"""What an ESQL text says, as frozen objects; every one knows where it stands in the text.

Keywords are kept in upper case. Names are kept as written: names of variables, routines and modules are compared without
case, names of fields and labels with it. Whether a name is a variable, a correlation name or a property of the broker is
not known here: all of them are a `FieldReference` without steps. Positions do not count when two objects are compared.
"""

from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from typing import NamedTuple


class Position(NamedTuple):
    """A place in the text; both count from 1."""

    line: int
    column: int


NOWHERE = Position(0, 0)


@dataclass(frozen=True, slots=True)
class Node:
    """Anything in the text."""

    at: Position = field(default=NOWHERE, compare=False, repr=False, kw_only=True)


# Types


@dataclass(frozen=True, slots=True)
class Qualifier(Node):
    """The fields of an interval: `YEAR TO MONTH`, `DAY`, ..."""

    start: str
    end: str | None = None
    """None: the same as the start."""


@dataclass(frozen=True, slots=True)
class DataType(Node):
    """A type in a declaration or a CAST.

    The name is that of a member of `values.Type` (INT, CHAR, BOOL and DEC are spelt out), or one of REFERENCE, ROW, NAME
    and NAMESPACE.
    """

    name: str
    precision: int | None = None
    """DECIMAL only, in CAST only."""
    scale: int | None = None
    qualifier: Qualifier | None = None
    """INTERVAL only."""


# Expressions


@dataclass(frozen=True, slots=True)
class Expression(Node):
    """Anything that has a value."""


@dataclass(frozen=True, slots=True)
class Literal(Expression):
    """A value written down.

    | type | value |
    |---|---|
    | NULL | None (UNKNOWN too) |
    | BOOLEAN, INTEGER, FLOAT, DECIMAL, CHARACTER, BLOB | bool, int, float, Decimal, str, bytes |
    | BIT | str of 0 and 1 |
    | DATE, TIME, TIMESTAMP, GMTTIME, GMTTIMESTAMP, INTERVAL | str, the text between the quotes |
    """

    type: str
    value: bool | int | float | Decimal | str | bytes | None
    qualifier: Qualifier | None = None
    """INTERVAL only."""


@dataclass(frozen=True, slots=True)
class Unary(Expression):
    """`-` or `NOT` before an operand."""

    operator: str
    operand: Expression


@dataclass(frozen=True, slots=True)
class Binary(Expression):
    """`* / || + -`, `= <> < <= > >=`, `AND OR` between two operands."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Difference(Expression):
    """`(later - earlier) DAY TO SECOND`: what lies between two dates or times, as an interval."""

    later: Expression
    earlier: Expression
    qualifier: Qualifier


@dataclass(frozen=True, slots=True)
class Is(Expression):
    """`x IS [NOT] NULL | TRUE | FALSE | UNKNOWN | INF | +INF | -INF | NAN | NUM`."""

    operand: Expression
    test: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Between(Expression):
    """`x [NOT] BETWEEN [ASYMMETRIC | SYMMETRIC] low AND high`."""

    operand: Expression
    low: Expression
    high: Expression
    symmetric: bool = False
    negated: bool = False


@dataclass(frozen=True, slots=True)
class In(Expression):
    """`x [NOT] IN (choice, ...)`; one choice alone may be a list (a SELECT, or a field with `[]`)."""

    operand: Expression
    choices: tuple[Expression, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Like(Expression):
    """`x [NOT] LIKE pattern [ESCAPE character]`."""

    operand: Expression
    pattern: Expression
    escape: Expression | None = None
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Quantified(Expression):
    """`FOR ALL | ANY | SOME list [AS name] (predicate)`."""

    quantifier: str
    source: "FieldReference"
    name: str | None
    predicate: Expression


@dataclass(frozen=True, slots=True)
class When(Node):
    """`WHEN condition THEN value` in an expression."""

    condition: Expression
    value: Expression


@dataclass(frozen=True, slots=True)
class Case(Expression):
    """`CASE [operand] WHEN ... [ELSE value] END`; with an operand, each condition is compared with it."""

    operand: Expression | None
    branches: tuple[When, ...]
    otherwise: Expression | None = None


@dataclass(frozen=True, slots=True)
class Cast(Expression):
    """`CAST(source, ... AS type [CCSID e] [ENCODING e] [FORMAT e] [DEFAULT e])`."""

    sources: tuple[Expression, ...]
    type: DataType
    ccsid: Expression | None = None
    encoding: Expression | None = None
    format: Expression | None = None
    default: Expression | None = None


@dataclass(frozen=True, slots=True)
class Call(Expression):
    """A function with its arguments; `CURRENT_DATE` and other functions without parentheses are calls too.

    A built-in function has its name in upper case. Functions with a syntax of their own use `word` and `clauses`:

    | text | arguments | word | clauses |
    |---|---|---|---|
    | `SUBSTRING(s FROM n FOR m)` (also BEFORE, AFTER) | s | | FROM n, FOR m |
    | `POSITION(t IN s FROM n REPEAT k)` | t, s | | FROM n, REPEAT k |
    | `OVERLAY(s PLACING t FROM n FOR m)` | s, t | | FROM n, FOR m |
    | `TRIM(LEADING c FROM s)` | s, c (c may be missing) | BOTH, LEADING or TRAILING | |
    | `EXTRACT(YEAR FROM d)` | d | YEAR, ... | |
    | `ROUND(x, n MODE ROUND_UP)` | x, n | ROUND_UP, ... | |
    | `ASBITSTREAM(f OPTIONS o CCSID c)` | f | | OPTIONS, ENCODING, CCSID, SET, TYPE, FORMAT |
    """

    name: str
    arguments: tuple[Expression, ...] = ()
    clauses: tuple[tuple[str, Expression], ...] = ()
    word: str | None = None
    schema: tuple[str, ...] = ()
    """The names before the last in `a.b.Function(...)`."""
    built_in: bool = False
    """True for functions of the language; False for routines, wherever they are declared."""


@dataclass(frozen=True, slots=True)
class Passthru(Expression):
    """`PASSTHRU(sql [TO Database.source] [VALUES(...)])`: SQL that is handed to the database as it is."""

    sql: Expression
    database: "FieldReference | None" = None
    values: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class SelectItem(Node):
    """`value [AS path | INSERT]` in a SELECT or ROW."""

    value: Expression
    target: "tuple[PathStep, ...]" = ()
    """Where the value goes in the row; empty if there is no AS."""
    insert: bool = False
    """INSERT: the fields of the value go into the row themselves."""


@dataclass(frozen=True, slots=True)
class FromItem(Node):
    """`field[] [AS name]` or `Database.[source.][schema.]table [AS name]` (its correlation name is Database)."""

    source: "FieldReference"
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Select(Expression):
    """A SELECT; its value is a list of rows, a list of scalars (ITEM), or a scalar (an aggregate)."""

    kind: str
    """ROWS, ITEM, COUNT, MAX, MIN or SUM; all but ROWS have one item without a path."""
    items: tuple[SelectItem, ...]
    """Empty for `SELECT *` and for `COUNT(*)`."""
    sources: tuple[FromItem, ...]
    where: Expression | None = None


@dataclass(frozen=True, slots=True)
class Row(Expression):
    """`ROW(value AS name, ...)`."""

    items: tuple[SelectItem, ...]


@dataclass(frozen=True, slots=True)
class ListOf(Expression):
    """`LIST{value, ...}`."""

    items: tuple[Expression, ...]


# Field references


class Wildcard(Enum):
    """`*` in a path."""

    ANY = "*"


class Every(Enum):
    """`[]` after a path: all that match, as a list."""

    ONE = "[]"


@dataclass(frozen=True, slots=True)
class FromStart(Node):
    """`[>]` and `[>n]`: counted from the first, which is 1."""

    number: Expression | None = None


@dataclass(frozen=True, slots=True)
class FromEnd(Node):
    """`[<]`, `[<n]` and `[LAST]`: counted from the last, which is 1."""

    number: Expression | None = None


@dataclass(frozen=True, slots=True)
class FieldConstant(Node):
    """A named type of fields: `(XML.Attribute)`, `(NameValue)`."""

    domain: str
    """Empty for Name, Value and NameValue, which hold in every domain."""
    name: str
    value: int


@dataclass(frozen=True, slots=True)
class PathStep(Node):
    """`(type)namespace:name[index]`; everything but one of type, name and index may be missing."""

    name: str | Wildcard | Expression | None = None
    """A word may be the name of a NAME constant in scope. None: `(type)` or `[n]` alone; any name matches."""
    namespace: str | Wildcard | Expression | None = None
    """None: nothing was said, fields without a namespace match; a word may be a NAMESPACE constant in scope."""
    type: FieldConstant | Expression | None = None
    index: Expression | FromStart | FromEnd | Every | None = None


@dataclass(frozen=True, slots=True)
class FieldReference(Expression):
    """A correlation name or a variable, and the path from there."""

    correlation: str
    steps: tuple[PathStep, ...] = ()
    index: Expression | FromStart | FromEnd | Every | None = None
    """`Name[...]` directly behind the correlation name."""


# Statements


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


# Programs


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

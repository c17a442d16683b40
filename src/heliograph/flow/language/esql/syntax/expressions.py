"""Types, expressions and field references."""

from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from typing import NamedTuple

# What everything in a text has: a place.


class Position(NamedTuple):
    """A place in the text; both count from 1."""

    line: int
    column: int


NOWHERE = Position(0, 0)


@dataclass(frozen=True, slots=True)
class Node:
    """Anything in the text."""

    at: Position = field(default=NOWHERE, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Qualifier(Node):
    """The fields of an interval: `YEAR TO MONTH`, `DAY`, ..."""

    start: str
    end: str | None = None
    """None: the same as the start."""


@dataclass(frozen=True, slots=True)
class DataType(Node):
    """A type in a declaration or a CAST.

    The name is that of a member of `values.Type` (INT, CHAR and DEC are spelt out), or one of REFERENCE, ROW, NAME and
    NAMESPACE.
    """

    name: str
    precision: int | None = None
    """DECIMAL only, in CAST only."""
    scale: int | None = None
    qualifier: Qualifier | None = None
    """INTERVAL only."""


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

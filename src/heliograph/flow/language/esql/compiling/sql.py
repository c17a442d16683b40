"""Generators for database statements: tables, SELECT from tables, PASSTHRU, stored routines; and the SQL they use.

SQL is written at compile time. Each subexpression that does not mention a table becomes a parameter (`?`), so values
are never part of the SQL text. The conjuncts of WHERE that SQL can express go into the query; the others are tested in
Python, row by row. For example

    SELECT P.Price FROM Database.Product AS P WHERE P.Id = InputBody.Id AND SUBSTRING(P.Code FROM 1 FOR 2) = 'AB'

queries `SELECT ... FROM Product AS P WHERE (P.Id = ?)`, and an `if` in the loop over its rows tests the
rest, because `_FUNCTIONS` does not have SUBSTRING."""

import re
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, fields

from heliograph.flow.language.esql import syntax
from heliograph.flow.language.esql.compiling.assignments import converted, put, scalar_type, set_target
from heliograph.flow.language.esql.compiling.context import LISTS, Code, Context, Shape
from heliograph.flow.language.esql.compiling.python_names import ANY_TREE, Binding, BindingKind
from heliograph.flow.language.esql.runtime.database_statements import NEXT_TABLE

# ESQL expressions as SQL.

_FUNCTIONS = {"UPPER": "UPPER", "UCASE": "UPPER", "LOWER": "LOWER", "LCASE": "LOWER", "LENGTH": "LENGTH", "ABS": "ABS"}
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

# Words that are reserved in the SQL of PostgreSQL or SQLite: as names they must be quoted.
_WORDS = """
    ADD ALL ALTER ANALYSE ANALYZE AND ANY ARRAY AS ASC ASYMMETRIC AUTOINCREMENT BETWEEN BOTH CASE CAST CHECK COLLATE
    COLUMN COMMIT CONSTRAINT CREATE CROSS CURRENT_DATE CURRENT_ROLE CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER DEFAULT
    DEFERRABLE DELETE DESC DISTINCT DO DROP ELSE END ESCAPE EXCEPT EXISTS FALSE FETCH FOR FOREIGN FROM FULL GRANT GROUP
    HAVING IN INDEX INITIALLY INNER INSERT INTERSECT INTO IS ISNULL JOIN LATERAL LEADING LEFT LIKE LIMIT LOCALTIME
    LOCALTIMESTAMP NATURAL NOT NOTHING NOTNULL NULL OFFSET ON ONLY OR ORDER OUTER OVERLAPS PLACING PRIMARY REFERENCES
    RETURNING RIGHT SELECT SESSION_USER SET SIMILAR SOME SYMMETRIC TABLE THEN TO TRAILING TRANSACTION TRUE UNION UNIQUE
    UPDATE USER USING VALUES VARIADIC VERBOSE WHEN WHERE WINDOW WITH
"""
_RESERVED = frozenset(_WORDS.split())


class Untranslatable(Exception):
    """An expression that SQL cannot express: it is evaluated in Python instead."""


@dataclass(slots=True)
class Sql:
    """SQL under construction, with its parameters."""

    tables: Mapping[str, str]
    """Correlation names of tables in upper case, with what they are called in SQL."""
    hidden: frozenset[str] = frozenset()
    """Correlation names in upper case whose fields are not known when the SQL is run."""
    parameters: list[str] = field(default_factory=list)
    """Python of the parameters in the order of their marks: parts of the SQL must be written from left to right."""

    def expression(self, context: Context, node: syntax.Expression) -> str:
        """An expression in SQL; raises `Untranslatable`."""
        if not mentions(node, self.tables.keys() | self.hidden):
            self.parameters.append(context.value(node).text)
            return "?"
        if isinstance(node, syntax.FieldReference):
            return self._column(node)
        if isinstance(node, syntax.Binary):
            return f"({self.expression(context, node.left)} {node.operator} {self.expression(context, node.right)})"
        if isinstance(node, syntax.Unary):
            return f"({node.operator} {self.expression(context, node.operand)})"
        if isinstance(node, syntax.Is) and node.test == "NULL":
            return f"({self.expression(context, node.operand)} IS {_not(node)}NULL)"
        if isinstance(node, syntax.Between) and not node.symmetric:
            parts = [self.expression(context, part) for part in (node.operand, node.low, node.high)]
            return f"({parts[0]} {_not(node)}BETWEEN {parts[1]} AND {parts[2]})"
        return self._other(context, node)

    def _other(self, context: Context, node: syntax.Expression) -> str:
        if isinstance(node, syntax.In):
            if any(isinstance(choice, syntax.Select) for choice in node.choices):
                raise Untranslatable
            operand = self.expression(context, node.operand)
            choices = ", ".join(self.expression(context, choice) for choice in node.choices)
            return f"({operand} {_not(node)}IN ({choices}))"
        if isinstance(node, syntax.Like):
            left, right = self.expression(context, node.operand), self.expression(context, node.pattern)
            escape = self.expression(context, node.escape) if node.escape is not None else "'\\'"
            return f"({left} {_not(node)}LIKE {right} ESCAPE {escape})"
        if isinstance(node, syntax.Call) and node.built_in and not node.clauses and node.word is None:
            name = _FUNCTIONS.get(node.name) or ("COALESCE" if node.name == "COALESCE" else None)
            if name is not None:
                return f"{name}({', '.join(self.expression(context, argument) for argument in node.arguments)})"
        raise Untranslatable

    def _column(self, node: syntax.FieldReference) -> str:
        table = self.tables.get(node.correlation.upper())
        name = node.steps[0].name if len(node.steps) == 1 else None
        if table is None or not isinstance(name, str) or node.steps[0].index is not None:
            raise Untranslatable
        return f"{table}.{identifier(name)}"


def _not(node: syntax.Is | syntax.Between | syntax.In | syntax.Like) -> str:
    return "NOT " if node.negated else ""


def identifier(name: str) -> str:
    """Return a name in SQL: unquoted if possible, so that the database's case rules apply; otherwise quoted."""
    return name if _PLAIN.fullmatch(name) and name.upper() not in _RESERVED else '"' + name.replace('"', '""') + '"'


def mentions(node: object, names: "frozenset[str] | set[str]") -> bool:
    """Whether an expression uses one of these correlation names (in upper case)."""
    if isinstance(node, tuple):
        return any(mentions(item, names) for item in node)
    if isinstance(node, syntax.FieldReference) and node.correlation.upper() in names:
        return True
    return isinstance(node, syntax.Node) and any(mentions(getattr(node, item.name), names) for item in fields(node))


def references(node: object, name: str) -> "list[syntax.FieldReference]":
    """All references to one correlation name (in upper case)."""
    if isinstance(node, tuple):
        return [found for item in node for found in references(item, name)]
    found = [node] if isinstance(node, syntax.FieldReference) and node.correlation.upper() == name else []
    if isinstance(node, syntax.Node):
        for item in fields(node):
            found += references(getattr(node, item.name), name)
    return found


def conjuncts(node: syntax.Expression | None) -> list[syntax.Expression]:
    """Return the operands of a chain of AND."""
    if node is None:
        return []
    if isinstance(node, syntax.Binary) and node.operator == "AND":
        return [*conjuncts(node.left), *conjuncts(node.right)]
    return [node]


def conjunction(nodes: list[syntax.Expression]) -> syntax.Expression | None:
    """Join expressions with AND."""
    result: syntax.Expression | None = None
    for node in nodes:
        result = node if result is None else syntax.Binary("AND", result, node, at=node.at)
    return result


# Statements.

# ruff: noqa: S608 - values are parameters, and computed names are quoted when the statement runs


_ROOT = "DATABASE"


def is_table(node: syntax.FieldReference) -> bool:
    """Whether a field reference means a table."""
    return node.correlation.upper() == _ROOT


class _Table:
    """A table in a statement: its data source and its name in SQL."""

    def __init__(self, context: Context, node: syntax.FieldReference, name: str | None) -> None:
        if not is_table(node) or not 1 <= len(node.steps) <= 3:
            raise context.problem(
                node, "a table is written Database.table, Database.schema.table or with its source before"
            )
        parts = [_part(context, step) for step in node.steps]
        self.source = _source_name(context, node.steps[0]) if len(parts) == 3 else ""
        self.sql = ".".join(parts[-2:] if len(parts) == 3 else parts)
        last = node.steps[-1].name
        self.name = name or (last if isinstance(last, str) else "")
        self.alias = identifier(self.name) if self.name else "t"


# A computed name (`Database.{name}`) is an expression between two marks in the SQL; `_sql` turns it into Python that
# quotes the name at run time.
_MARK = "\0"


def _part(context: Context, step: syntax.PathStep) -> str:
    if isinstance(step.name, str):
        return identifier(step.name)
    if isinstance(step.name, syntax.Expression):
        return f"{_MARK}{context.use('quoted')}({context.value(step.name).text}){_MARK}"
    raise context.problem(step, "a table needs a name")


def _source_name(context: Context, step: syntax.PathStep) -> str:
    if isinstance(step.name, str):
        return step.name
    raise context.problem(step, "the name of a data source is written down, not computed")


def _sql(text: str) -> str:
    """Return a Python expression for the SQL text."""
    pieces = text.split(_MARK)
    return " + ".join(repr(piece) if at % 2 == 0 else piece for at, piece in enumerate(pieces) if piece)


def _tuple(items: list[str]) -> str:
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"


def open_tables(context: Context, node: syntax.Select, stack: ExitStack) -> syntax.Expression | None:
    """Open the loop over the rows of the tables in FROM; return the part of WHERE that Python must test."""
    found = [item for item in node.sources if is_table(item.source)]
    if not found:
        return node.where
    if not is_table(node.sources[len(found) - 1].source):
        raise context.problem(node, "in FROM, tables stand before fields of messages")
    tables = [_Table(context, item.source, item.name) for item in found]
    if len({table.source for table in tables}) > 1:
        raise context.problem(node, "the tables of one SELECT are in one data source")
    hidden = frozenset((item.name or _name(item.source)).upper() for item in node.sources[len(found) :])
    sql = Sql({table.name.upper(): table.alias for table in tables}, hidden)
    tests, left = _pushed(context, sql, node.where)
    groups = [_columns(node, table) for table in tables]
    places = ", ".join(f"{table.sql} AS {table.alias}" for table in tables)
    text = f"SELECT {', '.join(_selected(tables, groups)) or '1'} FROM {places}"
    if tests:
        text += f" WHERE {' AND '.join(tests)}"
    rows = (
        f"{context.use('query')}(ev, {tables[0].source!r}, {_sql(text)}, {_tuple(sql.parameters)}, "
        f"{_tuple([_tuple([repr(name) for name in names]) if names is not None else 'None' for names in groups])})"
    )
    pythons = [context.temporary(table.name or "row") for table in tables]
    context.emit(f"for {_tuple(pythons)} in {rows}:")
    stack.enter_context(context.indented())
    for table, python in zip(tables, pythons, strict=True):
        context.scope.declare(Binding(table.name, python, BindingKind.CORRELATION, None, context.frame))
    return left


def _selected(tables: "list[_Table]", groups: list[list[str] | None]) -> list[str]:
    """Return the columns to select. With `*`, a marker column between two tables tells where the next one begins."""
    columns: list[str] = []
    for at, (table, names) in enumerate(zip(tables, groups, strict=True)):
        if at and None in groups:
            columns.append(f'1 AS "{NEXT_TABLE}"')
        columns += [f"{table.alias}.*"] if names is None else [f"{table.alias}.{identifier(name)}" for name in names]
    return columns


def _name(node: syntax.FieldReference) -> str:
    name = node.steps[-1].name if node.steps else node.correlation
    return name if isinstance(name, str) else node.correlation


def _pushed(context: Context, sql: Sql, where: syntax.Expression | None) -> tuple[list[str], syntax.Expression | None]:
    tests: list[str] = []
    left: list[syntax.Expression] = []
    for part in conjuncts(where):
        kept = len(sql.parameters)
        try:
            tests.append(sql.expression(context, part))
        except Untranslatable:
            # Part of the expression may have been translated already: drop its parameters.
            del sql.parameters[kept:]
            left.append(part)
    return tests, conjunction(left)


def _columns(node: syntax.Select, table: _Table) -> list[str] | None:
    """Return the columns of a table that a SELECT uses; None means all."""
    if not node.items and node.kind == "ROWS":
        return None
    names: dict[str, None] = {}
    for reference in references((node.items, node.where, node.sources), table.name.upper()):
        name = reference.steps[0].name if reference.steps else None
        if not isinstance(name, str):
            return None
        names[name] = None
    return list(names)


def insert(context: Context, node: syntax.Insert) -> None:
    """INSERT."""
    table = _Table(context, node.table, None)
    values = [context.value(value).text for value in node.values]
    columns = f" ({', '.join(identifier(column) for column in node.columns)})" if node.columns else ""
    _change(context, table, f"INSERT INTO {table.sql}{columns} VALUES ({', '.join('?' * len(values))})", values)


def update(context: Context, node: syntax.Update) -> None:
    """UPDATE."""
    table = _Table(context, node.table, node.name)
    sql = Sql({table.name.upper(): table.alias})
    sets = [f"{identifier(item.column)} = {_strictly(context, sql, item.value)}" for item in node.assignments]
    alias = f" AS {table.alias}" if table.alias != table.sql else ""
    _change(
        context,
        table,
        f"UPDATE {table.sql}{alias} SET {', '.join(sets)}{_where(context, sql, node.where)}",
        sql.parameters,
    )


def delete_rows(context: Context, node: syntax.DeleteRows) -> None:
    """DELETE FROM."""
    table = _Table(context, node.table, node.name)
    sql = Sql({table.name.upper(): table.alias})
    alias = f" AS {table.alias}" if table.alias != table.sql else ""
    _change(context, table, f"DELETE FROM {table.sql}{alias}{_where(context, sql, node.where)}", sql.parameters)


def _where(context: Context, sql: Sql, where: syntax.Expression | None) -> str:
    return "" if where is None else f" WHERE {_strictly(context, sql, where)}"


def _strictly(context: Context, sql: Sql, node: syntax.Expression) -> str:
    try:
        return sql.expression(context, node)
    except Untranslatable:
        raise context.problem(node, "this cannot be said in SQL: use plain operators on columns") from None


def _change(context: Context, table: _Table, sql: str, parameters: list[str]) -> None:
    context.emit(f"{context.use('change')}(ev, {table.source!r}, {_sql(sql)}, {_tuple(parameters)})")


def passthru(context: Context, node: syntax.Passthru) -> Code:
    """PASSTHRU as an expression: a list of rows."""
    sql = context.value(node.sql).text
    values = [_passed(context, value, alone=len(node.values) == 1) for value in node.values]
    source = _source(context, node.database)
    return Code(f"{context.use('passthru')}(ev, {source!r}, {sql}, {_tuple(values)})", None, False, Shape.ROWS)


def _passed(context: Context, node: syntax.Expression, *, alone: bool) -> str:
    code = context.any(node)
    return code.text if alone and code.shape in LISTS else context.value(node).text


def passthru_statement(context: Context, node: syntax.PassthruStatement) -> None:
    """PASSTHRU as a statement."""
    context.emit(passthru(context, node.passthru).text)


def commit(context: Context, node: syntax.Commit) -> None:
    """COMMIT."""
    context.emit(f"{context.use('commit')}(ev, {_source(context, node.database)!r})")


def rollback(context: Context, node: syntax.Rollback) -> None:
    """ROLLBACK."""
    context.emit(f"{context.use('rollback')}(ev, {_source(context, node.database)!r})")


def _source(context: Context, node: syntax.FieldReference | None) -> str:
    if node is None or not node.steps:
        return ""
    return _source_name(context, node.steps[0])


def call_routine(
    context: Context,
    node: syntax.Call,
    routine: syntax.Routine,
    place: syntax.FieldReference | None = None,
    schema: syntax.Expression | None = None,
) -> Code:
    """Generate a call of a stored routine; its result sets are assigned to the arguments behind its parameters."""
    if not context.hoisting:
        raise context.problem(node, f"{node.name} is in a database, and cannot be called where it may not be evaluated")
    count = len(routine.parameters)
    if len(node.arguments) != count + routine.result_sets:
        raise context.problem(
            node, f"{node.name} takes {count + routine.result_sets} arguments, not {len(node.arguments)}"
        )
    arguments = [
        "None"
        if parameter.mode == "OUT"
        else converted(context, context.value(argument), scalar_type(parameter.type), parameter.type.qualifier)
        for argument, parameter in zip(node.arguments, routine.parameters, strict=False)
    ]
    name = repr(routine.external_name or routine.name)
    if schema is not None:
        name = f"{context.value(schema).text} + '.' + {name}"
    elif place is not None and len(place.steps) == 2:
        name = repr(f"{_source_name(context, place.steps[1])}.{routine.external_name or routine.name}")
    outcome = context.temporary(node.name)
    modes = _tuple([repr(parameter.mode) for parameter in routine.parameters])
    context.emit(
        f"{outcome} = {context.use('call')}(ev, {_source(context, place)!r}, {name}, {_tuple(arguments)}, {modes}, "
        f"{routine.result_sets})"
    )
    context.reads.add(ANY_TREE)
    for at, parameter in enumerate(routine.parameters):
        if parameter.mode != "IN":
            put(context, node.arguments[at], Code(f"{outcome}[1][{at}]"))
    for at, target in enumerate(node.arguments[count:]):
        if not isinstance(target, syntax.FieldReference):
            raise context.problem(target, "a result set goes into a field with []")
        context.reads = {ANY_TREE}
        set_target(context, target, Code(f"{outcome}[2][{at}]", None, False, Shape.ROWS))
    return Code(f"{outcome}[0]")

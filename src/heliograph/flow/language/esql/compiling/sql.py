"""Expressions of ESQL as SQL, with parameters for everything that is not the database's."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from heliograph.flow.language.esql import syntax
from heliograph.flow.language.esql.compiling.context import Context

_FUNCTIONS = {"UPPER": "UPPER", "UCASE": "UPPER", "LOWER": "LOWER", "LCASE": "LOWER", "LENGTH": "LENGTH", "ABS": "ABS"}
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

# Words that are no names in SQL of one kind or another, unless they stand in quotes.
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
    """Something that SQL cannot say: it is done in Python then."""


@dataclass(slots=True)
class Sql:
    """A piece of SQL that grows."""

    tables: Mapping[str, str]
    """Correlation names of tables in upper case, with what they are called in SQL."""
    hidden: frozenset[str] = frozenset()
    """Correlation names in upper case whose fields are not known when the SQL is run."""
    parameters: list[str] = field(default_factory=list)
    """Python of the parameters, in the order of their marks: parts of the SQL are made from left to right."""

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
    """A name in SQL: as it is if it can be, so that the database's rules of case hold; else in quotes."""
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
    """What AND holds together."""
    if node is None:
        return []
    if isinstance(node, syntax.Binary) and node.operator == "AND":
        return [*conjuncts(node.left), *conjuncts(node.right)]
    return [node]


def conjunction(nodes: list[syntax.Expression]) -> syntax.Expression | None:
    """AND between all of them."""
    result: syntax.Expression | None = None
    for node in nodes:
        result = node if result is None else syntax.Binary("AND", result, node, at=node.at)
    return result

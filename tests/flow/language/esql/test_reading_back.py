"""Any syntax that is written as text and read again is the same."""

from decimal import Decimal

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flow.language.esql import printing
from heliograph.flow.language.esql import syntax as s
from heliograph.flow.language.esql.builtin_functions import FUNCTIONS, OVERRIDABLE, ROUNDINGS, WITHOUT_PARENTHESES
from heliograph.flow.language.esql.parsing.program_parsing import parse_expression, parse_program

QUICK = settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))

names = st.text(st.characters(codec="utf-8", exclude_characters="\x00\r\n"), min_size=1, max_size=5)
words = st.sampled_from(["a", "InputRoot", "Select", "CASE", "from", "x1", "Name", "END"])
identifiers = words | names
qualifiers = st.sampled_from(
    [s.Qualifier("DAY"), s.Qualifier("YEAR", "MONTH"), s.Qualifier("HOUR", "SECOND"), s.Qualifier("SECOND")]
)
literals = st.one_of(
    st.just(s.Literal("NULL", None)),
    st.booleans().map(lambda value: s.Literal("BOOLEAN", value)),
    st.integers(0, 2**63 - 1).map(lambda value: s.Literal("INTEGER", value)),
    st.floats(0, allow_nan=False, allow_infinity=False).map(lambda value: s.Literal("FLOAT", abs(value))),
    st.decimals(allow_nan=False, places=3, min_value=-(10**20), max_value=10**20).map(
        lambda value: s.Literal("DECIMAL", Decimal(value))
    ),
    st.text(st.characters(codec="utf-8"), max_size=8).map(lambda value: s.Literal("CHARACTER", value)),
    st.binary(max_size=4).map(lambda value: s.Literal("BLOB", value)),
    st.text("01", max_size=8).map(lambda value: s.Literal("BIT", value)),
    st.dates().map(lambda value: s.Literal("DATE", value.isoformat())),
    st.times().map(lambda value: s.Literal("GMTTIME", value.isoformat())),
    st.datetimes().map(lambda value: s.Literal("TIMESTAMP", value.isoformat(" "))),
    st.integers(0, 999).map(lambda value: s.Literal("INTERVAL", str(value), s.Qualifier("DAY"))),
    st.integers(0, 999).map(lambda value: s.Literal("INTERVAL", f"{value}-06", s.Qualifier("YEAR", "MONTH"))),
)
types = st.one_of(
    st.sampled_from([s.DataType(name) for name in ("INTEGER", "CHARACTER", "BLOB", "DATE", "INTERVAL", "DECIMAL")]),
    st.just(s.DataType("DECIMAL", 10, 2)),
    qualifiers.map(lambda value: s.DataType("INTERVAL", qualifier=value)),
)
constants = st.sampled_from([s.FieldConstant("XML", "attr", 0x03000000), s.FieldConstant("", "NameValue", 0x03000000)])


def some(inner: st.SearchStrategy[s.Expression], least: int = 0) -> st.SearchStrategy[tuple[s.Expression, ...]]:
    return st.lists(inner, min_size=least, max_size=3).map(tuple)


def maybe(inner: st.SearchStrategy[s.Expression]) -> st.SearchStrategy[s.Expression | None]:
    return st.none() | inner


def steps(inner: st.SearchStrategy[s.Expression]) -> st.SearchStrategy[s.PathStep]:
    # A quoted word alone, an index and a type are what the printer cannot confuse with anything else.
    index = st.one_of(
        st.none(),
        st.just(s.Every.ONE),
        maybe(inner).map(s.FromStart),
        maybe(inner).map(s.FromEnd),
        inner.filter(lambda node: not isinstance(node, s.Literal) or node.type == "INTEGER"),
    )
    name = identifiers | st.just(s.Wildcard.ANY) | inner
    kind = st.none() | constants | literals.filter(lambda node: node.type == "INTEGER")
    return st.builds(s.PathStep, name, st.none() | st.just("") | name, kind, index)


def references(inner: st.SearchStrategy[s.Expression]) -> st.SearchStrategy[s.FieldReference]:
    return st.builds(s.FieldReference, identifiers, st.lists(steps(inner), max_size=3).map(tuple))


def calls(inner: st.SearchStrategy[s.Expression]) -> st.SearchStrategy[s.Call]:
    special = {"SUBSTRING", "POSITION", "OVERLAY", "TRIM", "EXTRACT", "ROUND", "ASBITSTREAM"}
    plain = sorted(set(FUNCTIONS) - special - WITHOUT_PARENTHESES - OVERRIDABLE)
    builds = st.builds
    return st.one_of(
        builds(s.Call, identifiers, some(inner), schema=st.lists(identifiers, max_size=2).map(tuple)),
        builds(s.Call, st.sampled_from(plain), some(inner, 1), built_in=st.just(True)),
        builds(s.Call, st.sampled_from(sorted(WITHOUT_PARENTHESES)), built_in=st.just(True)),
        builds(lambda x, n, m: _built_in("SUBSTRING", (x,), (("FROM", n), ("FOR", m))), inner, inner, inner),
        builds(lambda x, n: _built_in("SUBSTRING", (x,), (("AFTER", n),)), inner, inner),
        builds(lambda x, y, n: _built_in("POSITION", (x, y), (("FROM", n), ("REPEAT", n))), inner, inner, inner),
        builds(lambda x, y, n: _built_in("OVERLAY", (x, y), (("FROM", n),)), inner, inner, inner),
        builds(lambda x, n: _built_in("ASBITSTREAM", (x,), (("CCSID", n), ("OPTIONS", n))), inner, inner),
        builds(lambda x, w: _built_in("TRIM", x, (), w), some(inner, 1).map(lambda x: x[:2]), st.just("LEADING")),
        builds(lambda x: _built_in("EXTRACT", (x,), (), "YEAR"), inner),
        builds(lambda x, y, w: _built_in("ROUND", (x, y), (), w), inner, inner, st.sampled_from(sorted(ROUNDINGS))),
    )


def _built_in(name: str, arguments: tuple, clauses: tuple, word: str | None = None) -> s.Call:
    return s.Call(name, arguments, clauses, word, built_in=True)


def selects(inner: st.SearchStrategy[s.Expression]) -> st.SearchStrategy[s.Select]:
    path = st.lists(steps(inner), max_size=2).map(tuple)
    named = st.builds(s.SelectItem, inner, path)
    inserted = st.builds(s.SelectItem, inner, insert=st.booleans())
    sources = st.lists(st.builds(s.FromItem, references(inner), st.none() | identifiers), min_size=1, max_size=2)
    alone = inner.map(lambda node: (s.SelectItem(node),))
    return st.one_of(
        st.builds(
            s.Select,
            st.just("ROWS"),
            st.lists(named | inserted, max_size=3).map(tuple),
            sources.map(tuple),
            maybe(inner),
        ),
        st.builds(s.Select, st.sampled_from(["ITEM", "SUM", "COUNT"]), alone, sources.map(tuple), maybe(inner)),
        st.builds(s.Select, st.just("COUNT"), st.just(()), sources.map(tuple), maybe(inner)),
    )


def composed(inner: st.SearchStrategy[s.Expression]) -> st.SearchStrategy[s.Expression]:
    builds, flag = st.builds, st.booleans()
    operators = st.sampled_from(["*", "/", "||", "+", "-", "=", "<>", "<", "<=", ">", ">=", "AND", "OR"])
    tests = st.sampled_from(["NULL", "TRUE", "FALSE", "UNKNOWN", "INF", "+INF", "-INF", "NAN", "NUM"])
    whens = st.lists(builds(s.When, inner, inner), min_size=1, max_size=2).map(tuple)
    return st.one_of(
        builds(s.Unary, st.sampled_from(["-", "NOT"]), inner),
        builds(s.Binary, operators, inner, inner),
        builds(s.Difference, inner, inner, qualifiers),
        builds(s.Is, inner, tests, flag),
        builds(s.Between, inner, inner, inner, flag, flag),
        builds(s.In, inner, some(inner, 1), flag),
        builds(s.Like, inner, inner, maybe(inner), flag),
        builds(
            s.Quantified, st.sampled_from(["ALL", "ANY", "SOME"]), references(inner), st.none() | identifiers, inner
        ),
        builds(s.Case, maybe(inner), whens, maybe(inner)),
        builds(s.Cast, some(inner, 1), types, maybe(inner), maybe(inner), maybe(inner), maybe(inner)),
        builds(s.Passthru, inner, st.none() | references(inner), some(inner)),
        builds(s.ListOf, some(inner)),
        builds(s.Row, st.lists(builds(s.SelectItem, inner, st.lists(steps(inner), max_size=1).map(tuple))).map(tuple)),
        references(inner),
        calls(inner),
        selects(inner),
    )


expressions = st.recursive(literals | st.builds(s.FieldReference, identifiers), composed, max_leaves=8)
fields = st.builds(s.FieldReference, identifiers, st.lists(steps(literals), max_size=2).map(tuple))
places = st.sampled_from(["FIELD", "FIRSTCHILD", "LASTCHILD", "PREVIOUSSIBLING", "NEXTSIBLING"])
small = st.builds(s.FieldReference, identifiers) | literals
simple_statements = st.one_of(
    st.builds(s.Set, fields, small, st.none() | st.sampled_from(["TYPE", "NAME", "NAMESPACE", "VALUE"])),
    st.builds(s.Declaration, st.just(("a", "b")), types.filter(lambda kind: kind.name != "INTERVAL"), maybe(small)),
    st.builds(s.Declaration, st.just(("r",)), st.just(s.DataType("REFERENCE")), fields),
    st.builds(s.Delete, places, fields),
    st.builds(s.Move, identifiers, fields),
    st.builds(s.Return, maybe(small)),
    st.builds(s.Throw, maybe(small), maybe(small), maybe(small), some(small)),
    st.builds(
        s.Log, st.booleans(), st.just(True), st.booleans(), maybe(small), maybe(small), maybe(small), some(small)
    ),
    st.builds(s.PassthruStatement, st.builds(s.Passthru, small, fields, some(small))),
)


def compound(inner: st.SearchStrategy[s.Statement]) -> st.SearchStrategy[s.Statement]:
    body = st.lists(inner, max_size=3).map(tuple)
    labels = st.none() | identifiers
    branches = st.lists(st.builds(s.Branch, small, body), min_size=1, max_size=2).map(tuple)
    return st.one_of(
        st.builds(s.Block, body, st.booleans(), labels),
        st.builds(s.If, branches, body),
        st.builds(s.CaseStatement, maybe(small), branches, st.none() | body),
        st.builds(s.While, small, body, labels),
        st.builds(s.Repeat, body, small, labels),
        st.builds(s.Loop, body, labels),
        st.builds(s.For, identifiers, fields, body, labels),
    )


@QUICK
@given(expressions)
def test_an_expression_is_read_as_it_was_printed(expression: s.Expression) -> None:
    assert parse_expression(printing.expression(expression)) == expression


@QUICK
@given(st.lists(st.recursive(simple_statements, compound, max_leaves=6), min_size=1, max_size=4))
def test_statements_are_read_as_they_were_printed(statements: list[s.Statement]) -> None:
    text = f"CREATE PROCEDURE P() BEGIN\n{printing.body(tuple(statements))}END;"
    assert parse_program(text).routines[0].body == s.Block(tuple(statements))

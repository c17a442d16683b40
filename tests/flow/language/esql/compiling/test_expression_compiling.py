"""Expressions, SELECT in its forms, functions on fields, filters."""

from datetime import datetime

import pytest

from flow.language.esql.conftest import XML
from heliograph.flow.errors import StatementError

VALUES = ("TRUE", "FALSE", "UNKNOWN")
PYTHON = {"TRUE": True, "FALSE": False, "UNKNOWN": None}
DECLARED = "DECLARE t BOOLEAN TRUE; DECLARE f BOOLEAN FALSE; DECLARE u BOOLEAN;"
NAMES = {"TRUE": "t", "FALSE": "f", "UNKNOWN": "u"}


def and_(left, right):
    return False if left is False or right is False else None if left is None or right is None else True


def or_(left, right):
    return True if left is True or right is True else None if left is None or right is None else False


@pytest.mark.parametrize("left", VALUES)
@pytest.mark.parametrize("right", VALUES)
@pytest.mark.parametrize(("operator", "rule"), [("AND", and_), ("OR", or_)])
def test_three_valued_logic(value, run, left, right, operator, rule):
    expected = rule(PYTHON[left], PYTHON[right])
    expression = f"{NAMES[left]} {operator} {NAMES[right]}"
    assert value(expression, declare=DECLARED) is expected
    assert value(f"{left} {operator} {right}") is expected
    for condition, taken in ((expression, expected is True), (f"NOT ({expression})", expected is False)):
        text = f"{DECLARED} IF {condition} THEN SET Environment.x = 1; END IF;"
        assert run(text).value("x") == (1 if taken else None)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("1 + 2 * 3", 7),
        ("-(1 + 2)", -3),
        ("7 / 2", 3),
        ("'a' || 'b' || 'c'", "abc"),
        ("2 BETWEEN 1 AND 3", True),
        ("2 BETWEEN 3 AND 1", False),
        ("2 BETWEEN SYMMETRIC 3 AND 1", True),
        ("2 NOT BETWEEN 1 AND 3", False),
        ("'abc' LIKE 'a%'", True),
        ("'a_c' LIKE 'a\\_c'", True),
        ("'a_c' LIKE 'a!_c' ESCAPE '!'", True),
        ("InputBody.m.n IN (1, 2, 3)", True),
        ("'y' IN (InputBody.m.a[])", True),
        ("'10' IN (SELECT I.v FROM InputBody.m.l.i[] AS I)", True),
        ("InputBody.m.n IS NOT NULL", True),
        ("(1 = NULL) IS UNKNOWN", True),
        ("1.5 IS NUM", True),
        ("CASE InputBody.m.n WHEN 1 THEN 'one' WHEN 3 THEN 'three' END", "three"),
        ("CASE WHEN InputBody.m.none = 1 THEN 1 ELSE 2 END", 2),
        ("COALESCE(InputBody.m.none, InputBody.m.other, 'last')", "last"),
        ("NULLIF(1, 1)", None),
        ("NULLIF(1, 2)", 1),
        ("CAST('5' AS INTEGER) + 1", 6),
        ("CAST('x' AS INTEGER DEFAULT -1)", -1),
        ("CAST(2001, 2, 3 AS DATE) = DATE '2001-02-03'", True),
        ("EXTRACT(YEAR FROM DATE '2001-02-03')", 2001),
        ("SUBSTRING('Hello' FROM 2 FOR 3)", "ell"),
        ("SUBSTRING('a=b' AFTER '=')", "b"),
        ("SUBSTRING('a=b' BEFORE '=')", "a"),
        ("POSITION('l' IN 'Hello')", 3),
        ("POSITION('l' IN 'Hello' REPEAT 2)", 4),
        ("OVERLAY('abc' PLACING 'X' FROM 2)", "aXc"),
        ("TRIM('  x ')", "x"),
        ("TRIM(LEADING '0' FROM '007')", "7"),
        ("TRIM(TRAILING 'x' FROM 'axx')", "a"),
        ("ROUND(DECIMAL '2.5', 0 MODE ROUND_HALF_EVEN) = 2", True),
        ("UPPER('a') || LOWER('B')", "Ab"),
        ("LENGTH('abc')", 3),
        ("MOD(7, 3)", 1),
        ("LENGTH(UUIDASCHAR)", 36),
        ("LENGTH(UUIDASBLOB)", 16),
        ("CURRENT_TIMESTAMP", datetime(2004, 9, 30, 12, 34, 56, 789000)),
        ("FIELDNAME(InputBody.m.*[<])", "a"),
        ("FIELDTYPE(InputBody.m.n) = XML.Element", True),
        ("FIELDNAMESPACE(InputBody.m.n)", ""),
        ("FIELDVALUE(InputBody.m.n)", "3"),
        ("FIELDNAME(InputBody.m.none)", None),
        ("SAMEFIELD(InputBody.m.n, InputRoot.XML.m.n)", True),
        ("CARDINALITY(InputBody.m.a[])", 3),
        ("CARDINALITY(InputBody.m.none[])", 0),
        ("CARDINALITY(InputBody.m.*[])", 6),
        ("EXISTS(InputBody.m.a[])", True),
        ("EXISTS(InputBody.m.none[])", False),
        ("SINGULAR(InputBody.m.n[])", True),
        ("SINGULAR(InputBody.m.a[])", False),
        ("EXISTS(SELECT I.v FROM InputBody.m.l.i[] AS I WHERE I.v = 20)", True),
        ("InputBody.m.a[<]", "z"),
        ("InputBody.m.a[<2]", "y"),
        ("InputBody.m.a[>]", "x"),
        ("InputBody.m.a[InputBody.m.l.i[2].none IS NULL]", "error"),
        ("InputBody.m.l.i[2].(XML.Attribute)*", "2"),
        ("InputBody.m.l.i[2].(XML.Attribute)k", "2"),
        ("InputBody.m.{'n'}", "3"),
        ("THE(SELECT ITEM I.v FROM InputBody.m.l.i[] AS I WHERE I.v > 10) || '!'", "20!"),
        ("THE(SELECT ITEM I.v FROM InputBody.m.l.i[] AS I WHERE I.v > 100)", None),
        ("SELECT COUNT(*) FROM InputBody.m.l.i[] AS I", 3),
        ("SELECT COUNT(I.v) FROM InputBody.m.l.i[] AS I", 2),
        ("SELECT MAX(CAST(I.v AS INTEGER)) FROM InputBody.m.l.i[] AS I", 20),
        ("SELECT MIN(CAST(I.v AS INTEGER)) FROM InputBody.m.l.i[] AS I", 10),
        ("SELECT SUM(CAST(I.v AS INTEGER)) FROM InputBody.m.l.i[] AS I", 30),
        ("SELECT SUM(CAST(I.v AS INTEGER)) FROM InputBody.m.none[] AS I", None),
        ("FOR ALL InputBody.m.a[] AS A (A <> 'q')", True),
        ("FOR ALL InputBody.m.a[] AS A (A = 'x')", False),
        ("FOR ALL InputBody.m.none[] AS A (A = 'x')", True),
        ("FOR ANY InputBody.m.a[] AS A (A = 'y')", True),
        ("FOR SOME InputBody.m.none[] AS A (A = 'y')", False),
        ("FOR ALL InputBody.m.l.i[] AS I (I.v > 0)", None),
        ("TRUE AND FOR ANY InputBody.m.a[] AS A (A = 'y')", True),
        ("FALSE OR (SELECT COUNT(*) FROM InputBody.m.a[] AS A) = 3", True),
        ("SQLCODE", 0),
        ("SQLSTATE", "00000"),
        ("MQMT_REQUEST", 1),
    ],
)
def test_expression(value, expression, expected):
    if expected == "error":
        with pytest.raises(StatementError):
            value(expression, XML)
    else:
        assert value(expression, XML) == expected


def test_a_computed_name_that_is_null_is_an_error(value):
    with pytest.raises(StatementError, match="braces"):
        value("InputBody.{InputBody.none}", XML)


# SELECT


# Filters

"""Names and calls in expressions."""

import pytest

from flow.language.esql.checking.conftest import found
from heliograph.flow.language.esql.checking.program_checking import check_expression
from heliograph.flow.language.esql.parsing.program_parsing import parse_expression


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SET count = 1;", "there is no variable count here"),
        ("DECLARE counter INTEGER; SET conter = 1;", "there is no variable conter here; did you mean counter?"),
        ("SET OutputRot.XML = 1;", "OutputRot is not known here; did you mean OutputRoot?"),
        ("SET OutputRoot.XML.A = InputRot.XML.A;", "InputRot is not known here; did you mean InputRoot?"),
        ("SET OutputRoot.XML = MQMT_REPLAY;", "there is no variable MQMT_REPLAY here; did you mean MQMT_REPLY?"),
        (
            "SET OutputBody.A = 1;",
            "there is no OutputBody; the body for output is OutputRoot with the name of a domain: OutputRoot.XMLNSC",
        ),
        ("SET OutputRoot.XML = Root.XML;", "Root is not there in a COMPUTE module; did you mean InputRoot?"),
        ("DECLARE a INTEGER; SET a.b = 1;", "a is of type INTEGER: it has no fields"),
        ("BEGIN DECLARE a INTEGER; END; SET a = 1;", "there is no variable a here"),
        ("IF TRUE THEN DECLARE a INTEGER; END IF; SET a = 1;", "there is no variable a here"),
        ("SET a = 1; DECLARE a INTEGER;", "there is no variable a here"),
        ("SET OutputRoot.A[].B = 1;", "[] stands at the end of a path only: it means all of the last fields"),
        ("SET OutputRoot.A = Database.T.A;", "tables of Database are read by SELECT ... FROM only"),
    ],
)
def test_names_that_are_not_known(text: str, message: str) -> None:
    assert found(text) == [message]


@pytest.mark.parametrize(
    "text",
    [
        "DECLARE Counter INTEGER; SET COUNTER = counter + 1;",
        "SET outputroot.XML.A = INPUTROOT.XML.A;",
        "SET OutputRoot.A = BrokerName || messageFlowLabel || MQMT_REPLY || FolderBitStream;",
        "SET OutputRoot.A TYPE = XMLNSC.Attribute;",
        "IF FIELDTYPE(InputBody) = NameValue THEN END IF;",
        "DECLARE r ROW; SET r.A.B = 1;",
        "SET OutputRoot.A[] = SELECT I.B FROM InputRoot.C[] AS I, I.D[] AS J WHERE J.E = I.E;",
        "SET OutputRoot.A[] = SELECT Invoice.B FROM InputRoot.Invoice[];",
        "SET OutputRoot.A = THE(SELECT ITEM T.B FROM Database.S.T WHERE T.C = 1);",
        "FOR f AS InputRoot.A[] DO SET OutputRoot.A = f.B; END FOR;",
        "DECLARE b BOOLEAN FOR ANY InputRoot.A[] (A.B = 1);",
        "UPDATE Database.T SET A = T.A + 1 WHERE T.B = 2;",
        "DELETE FROM Database.T AS R WHERE R.A = 1;",
        "DECLARE r REFERENCE TO InputRoot.A; SET r.B = 1;",
        "CALL SLEEP(100);",
        "SET OutputRoot.XMLNSC.A.(XMLNSC.NamespaceDecl)xmlns:a = 'urn:a';",
    ],
)
def test_names_that_are_known(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize("kind", ["FILTER", "DATABASE"])
def test_other_modules_have_other_trees(kind: str) -> None:
    assert found("RETURN Root.A = Body.B OR Properties.C OR LocalEnvironment.D;", kind) == []
    (message,) = found("RETURN InputRoot.A = 1;", kind)
    assert message == f"InputRoot is not there in a {kind} module; did you mean Root?"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SET OutputRoot.A = UPPER('a', 'b');", "UPPER takes 1 argument, found 2"),
        ("SET OutputRoot.A = MOD(1);", "MOD takes 2 arguments, found 1"),
        ("SET OutputRoot.A = BITAND(1);", "BITAND takes 2 or more arguments, found 1"),
        ("SET OutputRoot.A = REPLACE(1, 2, 3, 4);", "REPLACE takes 2 to 3 arguments, found 4"),
        ("SET OutputRoot.A = CURRENT_DATE(1);", "CURRENT_DATE takes no arguments, found 1"),
        ("SET OutputRoot.A = CAST(1, 2 AS DATE);", "CAST to DATE takes 1 or 3 values, found 2 values"),
        ("SET OutputRoot.A = CAST(1, 2 AS INTEGER);", "CAST to INTEGER takes 1 value, found 2 values"),
        ("SET OutputRoot.A = UPER('a');", "there is no function or procedure UPER; did you mean UPPER?"),
        ("CALL a.b.f();", "there is no function or procedure a.b.f"),
        ("CREATE PROCEDURE p(IN a INTEGER) RETURN; CALL p();", "p takes 1 argument, found 0"),
        (
            "CREATE PROCEDURE p(OUT a INTEGER) RETURN; CALL p(1);",
            "a of p is OUT: it takes a variable or a field",
        ),
        (
            "CREATE PROCEDURE p(INOUT a INTEGER) RETURN; DECLARE c CONSTANT INTEGER 1; CALL p(c);",
            "c is a constant, but p sets it (INOUT)",
        ),
        (
            "CREATE PROCEDURE p() RETURN; SET OutputRoot.A = p();",
            "p is a procedure without a value: use CALL p(...)",
        ),
        (
            "CREATE PROCEDURE p() RETURN; CALL p() INTO OutputRoot.A;",
            "p has no value to go INTO anything: it has no RETURNS",
        ),
        ("DECLARE a INTEGER; MOVE a PARENT;", "a is of type INTEGER, but a REFERENCE is needed here"),
        ("MOVE r PARENT;", "there is no reference r"),
        ("SET OutputRoot.A = LASTMOVE(InputRoot.A);", "LASTMOVE takes the name of a reference"),
    ],
)
def test_calls(text: str, message: str) -> None:
    assert found(text) == [message]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "SET OutputRoot.A[] = SELECT O.B, T.C FROM InputRoot.O[] AS O, Database.T AS T;",
            "tables stand before fields of messages behind FROM",
        ),
        (
            "SET OutputRoot.A[] = SELECT O.B || 'x' FROM InputRoot.O[] AS O;",
            "this value has no name in the row: write AS and a name, or SELECT ITEM",
        ),
        ("SET OutputRoot.A[] = SELECT O.B FROM Database AS O;", "expected a table behind FROM: Database.ORDERS"),
        ("SET OutputRoot.ns:A = 1;", "the namespace ns is not declared: DECLARE ns NAMESPACE '...'"),
        ("COMMIT InputRoot.A;", "expected Database, found InputRoot"),
    ],
)
def test_selects_tables_and_namespaces(text: str, message: str) -> None:
    assert found(text) == [message]


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ("Body.Order.Total > 100 AND Root.MQMD.Priority = 1", []),
        ("InputBody.A = 1", ["InputBody is not there in a FILTER module; did you mean Body?"]),
        ("LENGTH() = 1", ["LENGTH takes 1 argument, found 0"]),
    ],
)
def test_an_expression_alone(text: str, messages: list[str]) -> None:
    assert [mistake.text for mistake in check_expression(parse_expression(text), text)] == messages

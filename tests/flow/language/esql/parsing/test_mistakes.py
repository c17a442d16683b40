"""Mistakes in a text: several at once, each with its place and in words that help."""

import pickle

import pytest

from heliograph.flow.errors import EsqlMistake, EsqlProblem
from heliograph.flow.language.esql.parsing.program_parsing import parse_program


def mistakes(text: str) -> list[tuple[int, int, str]]:
    with pytest.raises(EsqlProblem) as problem:
        parse_program(text, "shop.esql")
    return [(mistake.line, mistake.column, mistake.text) for mistake in problem.value.mistakes]


def test_a_mistake_shows_its_line_and_a_caret() -> None:
    with pytest.raises(EsqlProblem) as problem:
        parse_program("SET a = 1;\n\tSET b = + ;\n", "shop.esql")
    assert str(problem.value) == ("shop.esql:2:12: expected an expression, found ;\n  \tSET b = + ;\n  \t          ^")


def test_a_problem_can_be_pickled() -> None:
    problem = EsqlProblem([EsqlMistake("a.esql", 1, 2, "wrong", "x y")])
    copy = pickle.loads(pickle.dumps(problem))
    assert (copy.mistakes, str(copy)) == (problem.mistakes, str(problem))


def test_every_mistake_of_a_text_is_told() -> None:
    text = """
        CREATE COMPUTE MODULE Shop
          CREATE FUNCTION Main() RETURNS BOOLEAN
          BEGIN
            SET a = ;
            DECLARE b STRING;
            IF a = THEN
              SET c = 1
            END IF;
            WHILE a < DO
              CALL f(;
            END WHILE;
            RETURN 1 +;
          END;
          CREATE PROCEDURE p(x) BEGIN
            MOVE r SIDEWAYS;
          END;
        END MODULE;
    """
    assert [(line, text) for line, _, text in mistakes(text)] == [
        (5, "expected an expression, found ;"),
        (6, "expected a type (CHARACTER, INTEGER, ...), found STRING; did you mean CHARACTER?"),
        (7, "expected an expression, found THEN"),
        (9, "expected ; after the SET statement in line 8, found END"),
        (10, "expected an expression, found DO"),
        (11, "expected an expression, found ;"),
        (13, "expected an expression, found ;"),
        (15, "expected a type (CHARACTER, INTEGER, ...), found )"),
        (16, "expected TO, PARENT, FIRSTCHILD, NEXTSIBLING or the like in MOVE, found SIDEWAYS"),
    ]


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("SET a = 1\nSET b = 2;", (2, 1), "expected ; after the SET statement in line 1, found SET"),
        ("BEGIN\nSET a = 1\nEND;", (3, 1), "expected ; after the SET statement in line 2, found END"),
        ("SET a := 1;", (1, 7), "SET is written with = alone"),
        ("IF a == 1 THEN SET b = 2; END IF;", (1, 7), "ESQL writes = once, for setting and for comparing"),
        ("IF a = 1 && b = 2 THEN SET b = 2; END IF;", (1, 10), "ESQL writes AND for and"),
        ("# note\nSET a = 1;", (1, 1), "comments stand behind --, or between /* and */"),
        (
            "DECLARE a NUMBER;",
            (1, 11),
            "expected a type (CHARACTER, INTEGER, ...), found NUMBER; did you mean DECIMAL?",
        ),
        ("SET a = 1", (1, 10), "expected ; after the SET statement, found the end of the text"),
        ("SET a = 1 2;", (1, 11), "expected ; after the SET statement, found 2"),
        ("a = 1;", (1, 1), "expected a statement, found a; is SET missing before it?"),
        ("a.b.c = 1;", (1, 1), "expected a statement, found a; is SET missing before it?"),
        ("f(1);", (1, 1), "expected a statement, found f; is CALL missing before it?"),
        ("DECLAER a INTEGER;", (1, 1), "expected a statement, found DECLAER; did you mean DECLARE?"),
        ("= 1;", (1, 1), "expected a statement, found ="),
        ("a : SET b = 1;", (1, 5), "expected BEGIN, WHILE, REPEAT, LOOP or FOR behind the label, found SET"),
        ("DECLARE a = 1;", (1, 11), "expected a type (CHARACTER, INTEGER, ...), found ="),
        ("DECLARE a INTEGER = 1;", (1, 19), "an initial value stands behind the type without ="),
        ("DECLARE r REFERENCE;", (1, 20), "expected TO behind REFERENCE, found ;: a reference must point somewhere"),
        ("SET a == 1;", (1, 8), "ESQL writes = once, for setting and for comparing"),
        ("CALL f;", (1, 7), "expected ( behind the name of a routine, found ;"),
        ("THROW USER;", (1, 11), "expected EXCEPTION in the THROW statement, found ;"),
        (
            "THROW USER EXCEPTION MESAGE 1;",
            (1, 22),
            "expected ; or one of SEVERITY, CATALOG, MESSAGE, VALUES, found MESAGE; did you mean MESSAGE?",
        ),
        ("LOG 'x';", (1, 5), "expected EVENT or USER TRACE behind LOG, found 'x'"),
        ("PROPAGATE TO 'out1';", (1, 14), "expected TERMINAL or LABEL behind TO, found 'out1'"),
        ("PROPAGATE DELETE NO;", (1, 18), "expected DEFAULT or NONE behind DELETE, found NO"),
        (
            "CREATE FIELD a DOMAIN 'XML';",
            (1, 16),
            "CREATE FIELD has no DOMAIN; use CREATE FIRSTCHILD OF or LASTCHILD OF",
        ),
        ("CREATE LASTCHILD OF a REPEAT;", (1, 23), "REPEAT goes with PREVIOUSSIBLING and NEXTSIBLING only"),
        ("CREATE FIELD a NAME 'b' NAME 'c';", (1, 25), "CREATE has NAME twice"),
        ("CREATE FIELD a FROM b VALUE 1;", (1, 23), "the value comes from FROM or PARSE already"),
        ("CREATE FIELD a IDENTITY b NAME 'b';", (1, 27), "IDENTITY and NAME say the same twice"),
        ("MOVE r FIRSTCHILD REPEAT NAME;", (1, 19), "REPEAT goes with PREVIOUSSIBLING and NEXTSIBLING only"),
        (
            "ATTACH r TO a AS FIELD;",
            (1, 18),
            "expected FIRSTCHILD, LASTCHILD, PREVIOUSSIBLING or NEXTSIBLING behind AS, found FIELD",
        ),
        ("INSERT INTO ORDERS VALUES(1);", (1, 13), "expected a table like Database.ORDERS behind INSERT INTO"),
        ("INSERT INTO Database.T (A, B) VALUES(1);", (1, 1), "INSERT names 2 columns, but has 1 values"),
        (
            "DECLARE EXIT HANDLER FOR NOT FOUND RETURN;",
            (1, 26),
            "expected SQLSTATE behind FOR: handlers are for SQLSTATE only, found NOT",
        ),
        (
            "IF a THEN\nSET b = 1;\nEND WHILE;\nEND IF;",
            (3, 1),
            "END WHILE belongs to nothing here; END IF for the IF of line 1 is still to come",
        ),
        ("WHILE a DO\nIF b THEN\nEND WHILE;", (3, 1), "expected END IF for the IF of line 2, found END WHILE"),
        ("IF a THEN\nSET b = 1;", (2, 11), "expected END IF for the IF of line 1, found the end of the text"),
        (
            "BEGIN\nELSE\nSET b = 1;\nEND;",
            (2, 1),
            "ELSE belongs to nothing here; END for the BEGIN of line 1 is still to come",
        ),
        ("REPEAT\nSET a = 1;\nEND REPEAT;", (3, 1), "expected UNTIL for the REPEAT of line 1, found END"),
        ("x : LOOP\nEND LOOP y;", (2, 10), "END LOOP y closes something else: its label is x"),
        ("LOOP\nEND LOOP y;", (2, 10), "END LOOP y closes something else: it has no label"),
        ("CASE a\nELSE\nEND CASE;", (2, 1), "expected WHEN in the CASE, found ELSE"),
        ("END IF;\nSET a = 1;", (1, 1), "END belongs to nothing here"),
        ("FOR x InputRoot.A[] DO\nSET a = 1;\nEND FOR;", (1, 7), "expected AS behind the name of FOR, found InputRoot"),
        (
            "CREATE PROCEDURE a() BEGIN\nSET x = 1;\nCREATE PROCEDURE b() BEGIN\nEND;",
            (3, 1),
            "expected END for the BEGIN of line 1, found CREATE",
        ),
        ("CREATE FUNCTION f() RETURNS BOOLEAN;", (1, 36), "expected BEGIN or EXTERNAL NAME for f, found ;"),
        (
            "CREATE COMPUT MODULE M\nEND MODULE;",
            (1, 8),
            "expected COMPUTE, DATABASE, FILTER or DATABASEEVENT, found COMPUT; did you mean COMPUTE?",
        ),
        (
            "CREATE COMPUTE MODULE M\nSET a = 1;\nEND MODULE;",
            (2, 1),
            "this statement belongs into a routine: a module holds declarations and routines",
        ),
        (
            "SET a = 1;\nCREATE COMPUTE MODULE M\nEND MODULE;",
            (1, 1),
            "this statement stands outside of the modules; it belongs into a routine",
        ),
        (
            'CREATE PROCEDURE p() LANGUAGE COBOL EXTERNAL NAME "x";',
            (1, 31),
            "expected ESQL, DATABASE, JAVA, .NET or CLR behind LANGUAGE, found COBOL",
        ),
    ],
)
def test_one_mistake_is_told_once_and_nothing_follows_from_it(text: str, place: tuple[int, int], message: str) -> None:
    assert mistakes(text) == [(*place, message)]


def test_a_text_that_is_not_esql_at_all_gives_a_bounded_number_of_mistakes() -> None:
    assert len(mistakes("?" * 1000)) == 100


def test_of_a_long_line_only_what_is_near_is_shown() -> None:
    text = "SET a = 'x'" + " || 'x'" * 50 + " ||" + " || 'y'" * 50 + ";"
    with pytest.raises(EsqlProblem) as caught:
        parse_program(text, "long.esql")

    _, line, caret = str(caught.value).splitlines()
    assert len(line) < 180
    assert line.startswith("  ... ")
    assert line.endswith(" ...")
    assert line[caret.index("^") - 3 : caret.index("^") + 2] == "|| ||"

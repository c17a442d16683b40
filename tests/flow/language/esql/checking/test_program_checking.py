"""What is wrong with a program although its syntax is right."""

import pytest

from flow.language.esql.checking.conftest import found
from heliograph.flow.language.esql.checking.program_checking import check_program
from heliograph.flow.language.esql.parsing.program_parsing import parse_program


def in_module(kind: str, *lines: str) -> str:
    return f"CREATE {kind} MODULE M {' '.join(lines)} CREATE FUNCTION Main() RETURNS BOOLEAN RETURN TRUE; END MODULE;"


def test_a_mistake_has_its_place() -> None:
    (mistake,) = check_program(parse_program("DECLARE a INTEGER;\n  SET b = a;", "shop.esql"))
    assert str(mistake) == "shop.esql:2:7: there is no variable b here\n    SET b = a;\n        ^"


def test_routines_outside_of_modules_may_use_the_trees_of_any() -> None:
    assert found("CREATE PROCEDURE p() BEGIN SET OutputRoot = InputRoot; SET Environment.A = Root.B; END;") == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SET InputRoot.XML.A = 1;", "InputRoot cannot be changed; change OutputRoot"),
        ("DELETE FIELD InputBody.A;", "InputBody cannot be changed; change OutputRoot"),
        ("CREATE FIELD InputExceptionList.A;", "InputExceptionList cannot be changed; change OutputRoot"),
        ("DECLARE c CONSTANT INTEGER 1; SET c = 2;", "c cannot be changed: it is a constant"),
        ("DECLARE n NAME 'x'; SET n = 'y';", "n cannot be changed: it is a constant"),
        ("DECLARE n NAMESPACE 'x'; SET n = 'y';", "n cannot be changed: it is a constant"),
        ("DECLARE a INTEGER; SET a TYPE = 1;", "a is a variable, not a field: it has no TYPE to set"),
        ("SET OutputRoot.A[] = 5;", "target[] takes a list, not a single value"),
        (
            "SET OutputRoot.A = SELECT I.B FROM InputRoot.C[] AS I;",
            "this list goes to one field, which gets its first item: write [] or THE(...)",
        ),
        ("SET OutputRoot.A = LIST{1, 2};", "LIST gives a list: set target[], or take one item by THE(...)"),
    ],
)
def test_what_cannot_be_set(text: str, message: str) -> None:
    assert found(text) == [message]


@pytest.mark.parametrize(
    "tree", ["Environment", "InputLocalEnvironment", "OutputLocalEnvironment", "OutputExceptionList"]
)
def test_trees_that_can_be_changed(tree: str) -> None:
    assert found(f"SET {tree}.A = 1;") == []


def test_external_variables_are_constant() -> None:
    text = "DECLARE e EXTERNAL INTEGER 1; CREATE PROCEDURE p() SET e = 2;"
    assert found(text) == ["e cannot be changed: it is a constant"]


def test_a_filter_cannot_change_its_message() -> None:
    assert found("SET Root.XML.A = 1; RETURN TRUE;", "FILTER") == ["Root cannot be changed"]


@pytest.mark.parametrize(
    ("arguments", "messages"),
    [
        ("1, Environment.Rows[]", []),
        ("1", ["p takes 2 arguments, found 1"]),
        ("1, Environment.Rows", ["a result set of p goes to a list of fields: Environment.Rows[]"]),
    ],
)
def test_result_sets_go_to_lists_behind_the_arguments(arguments: str, messages: list[str]) -> None:
    procedure = 'CREATE PROCEDURE p(IN a INTEGER) LANGUAGE DATABASE DYNAMIC RESULT SETS 1 EXTERNAL NAME "P";'
    assert found(f"{procedure} CALL p({arguments});") == messages


def test_routines_may_call_themselves_and_those_below() -> None:
    text = """
        CREATE FUNCTION Even(IN n INTEGER) RETURNS BOOLEAN RETURN CASE n WHEN 0 THEN TRUE ELSE Odd(n - 1) END;
        CREATE FUNCTION odd(IN n INTEGER) RETURNS BOOLEAN RETURN CASE n WHEN 0 THEN FALSE ELSE EVEN(n - 1) END;
    """
    assert found(text) == []


LIBRARY = """
    BROKER SCHEMA shop.lib
    DECLARE Rate CONSTANT FLOAT 1.6;
    CREATE FUNCTION Half(IN n INTEGER) RETURNS INTEGER RETURN n / 2;
"""


def test_routines_and_variables_of_other_files_are_found_on_the_path() -> None:
    text = "PATH shop.lib CREATE FUNCTION f() RETURNS FLOAT RETURN HALF(4) * Rate;"
    assert found(text, "COMPUTE", LIBRARY) == []
    assert found("CREATE FUNCTION f() RETURNS FLOAT RETURN half(4);", "COMPUTE", LIBRARY) == [
        "there is no function or procedure half"
    ]


def test_routines_of_other_files_are_found_by_their_schema() -> None:
    assert found("CREATE FUNCTION f() RETURNS FLOAT RETURN shop.lib.Half(4);", "COMPUTE", LIBRARY) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "DECLARE a SHARED INTEGER; SET a = 1;",
            "SHARED variables are declared in modules and schemas, not in routines",
        ),
        (
            "DECLARE a EXTERNAL INTEGER; RETURN a > 1;",
            "EXTERNAL variables are declared in modules and schemas, not in routines",
        ),
        ("DECLARE a SHARED REFERENCE TO Environment.A;", "a SHARED variable cannot be a REFERENCE; use ROW"),
        ("DECLARE a EXTERNAL ROW;", "an EXTERNAL variable cannot be of type ROW"),
        ("DECLARE a EXTERNAL INTERVAL;", "an EXTERNAL variable cannot be of type INTERVAL"),
        (
            "DECLARE a SHARED EXTERNAL INTEGER 1;",
            "a SHARED variable is there to be changed: it cannot be EXTERNAL",
        ),
        ("DECLARE a CONSTANT INTEGER;", "a is constant, so it needs a value"),
        ("DECLARE a NAMESPACE;", "a is constant, so it needs a value"),
        ("DECLARE a DECIMAL(10, 2);", "DECIMAL has a precision in CAST only, not in declarations"),
        ("DECLARE SqlCode INTEGER;", "SqlCode is a function, so a variable of this name cannot be read"),
    ],
)
def test_declarations(text: str, message: str) -> None:
    assert found(text) == [message]


def test_a_second_declaration_of_a_name_is_a_warning() -> None:
    program = parse_program("DECLARE style CHARACTER;\nDECLARE Style CHARACTER;\nSET style = 'Style';")
    (warning,) = check_program(program)
    assert (warning.line, warning.text) == (2, "Style is declared again; the first time was in line 1")
    assert warning.warning
    assert "warning: Style" in str(warning)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('SET Environment.a = "abc";', "there is no variable abc here; a string stands in single quotes: 'abc'"),
        (
            "SET OutputRoot.XMLNSC.(Attribute)a = 1;",
            "there is no variable Attribute here; did you mean XMLNSC.Attribute or XML.Attribute?",
        ),
        ("IF Environment.a = NULL THEN LOG EVENT; END IF;", "= NULL is never TRUE: use IS NULL"),
        ("IF NULL <> Environment.a THEN LOG EVENT; END IF;", "<> NULL is never TRUE: use IS NOT NULL"),
        (
            "PROPAGATE TO TERMINAL 'out9';",
            "there is no terminal 'out9'; there are: nowhere, failure, out, out1, out2, out3, out4, -2, -1, 0, 1, 2, 3, 4",  # noqa: E501
        ),
    ],
)
def test_what_is_most_likely_meant_is_said(text: str, message: str) -> None:
    assert found(text) == [message]


def test_a_declaration_in_an_inner_block_hides_the_outer_one() -> None:
    assert found("DECLARE a INTEGER; BEGIN DECLARE a ROW; SET a.b = 1; END; SET a = 1;") == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("LEAVE a;", "no loop or block around this has the label a"),
        (
            "loop1 : LOOP LEAVE Loop1; END LOOP;",
            "no loop or block around this has the label Loop1; did you mean loop1?",
        ),
        ("a : BEGIN ITERATE a; END;", "no loop around this has the label a"),
        ("RESIGNAL;", "RESIGNAL stands in a handler only: elsewhere there is nothing to throw again"),
        ("CREATE PROCEDURE p() RETURN 1;", "p cannot return a value: it has no RETURNS"),
        ("CREATE FUNCTION f() BEGIN END;", "the function f has no RETURNS: it gives nothing, as a PROCEDURE"),
        ("CREATE FUNCTION f() RETURNS DATE RETURN;", "RETURN without a value gives NULL, but f returns DATE"),
        ("CREATE FUNCTION f() RETURNS DATE BEGIN END;", "f has no RETURN, so it gives NULL"),
        ("CREATE PROCEDURE upper() RETURN;", "upper is a function of the language: a routine needs another name"),
        ("CREATE PROCEDURE p(a ROW, A ROW) RETURN;", "p has two parameters A"),
        ("CREATE PROCEDURE p() RETURN;\nCREATE PROCEDURE P() RETURN;", "there is a routine P already, in line 1"),
        ('CREATE PROCEDURE p() EXTERNAL NAME "x";', "p is external: say where by LANGUAGE DATABASE"),
        ("CREATE PROCEDURE p() LANGUAGE DATABASE RETURN;", "p is in the database: it has an EXTERNAL NAME, not a body"),
        (
            'CREATE PROCEDURE p() LANGUAGE JAVA EXTERNAL NAME "x";',
            "routines in JAVA cannot run here; a Python node can do their work",
        ),
        ("CREATE COMPUTE MODULE M END MODULE;", "the module M has no Main: CREATE FUNCTION Main() RETURNS BOOLEAN"),
        (
            "CREATE COMPUTE MODULE M CREATE FUNCTION Main(a ROW) RETURNS BOOLEAN RETURN TRUE; END MODULE;",
            "Main takes nothing and returns BOOLEAN: Main() RETURNS BOOLEAN",
        ),
        (in_module("FILTER") + in_module("FILTER"), "there is a module M already"),
    ],
)
def test_labels_routines_and_modules(text: str, message: str) -> None:
    assert found(text) == [message]


def test_a_filter_cannot_propagate() -> None:
    text = in_module("FILTER", "CREATE PROCEDURE p() PROPAGATE;")
    assert found(text) == ["PROPAGATE is not there in a FILTER module: it returns TRUE, FALSE or UNKNOWN"]
    assert found(text.replace("FILTER", "COMPUTE")) == []

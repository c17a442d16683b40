"""Calling routines: order of evaluation, recursion, EVAL, and what comes back."""

import pytest

from heliograph.flow.errors import StatementError


def program(routines: str, main: str) -> str:
    return f"""CREATE COMPUTE MODULE M
  {routines}
  CREATE FUNCTION Main() RETURNS BOOLEAN
  BEGIN
    {main}
    RETURN TRUE;
  END;
END MODULE;"""


CHANGES = "CREATE FUNCTION f() RETURNS CHARACTER BEGIN SET Environment.x.y = 'new'; RETURN 'f'; END;"
COUNTS = "CREATE FUNCTION next(INOUT n INTEGER) RETURNS INTEGER BEGIN SET n = n + 1; RETURN n; END;"


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("f() || Environment.x.y", "fnew"),
        ("COALESCE(Environment.x.y, 'none') || f()", "nonef"),
        ("COALESCE(Environment.x.y, f() || Environment.x.y)", "fnew"),
        ("UPPER(f()) || Environment.x.y", "Fnew"),
        ("CASE WHEN f() = 'f' THEN Environment.x.y END", "new"),
        ("f() || THE(SELECT ITEM X.y FROM Environment.x[] AS X)", "fnew"),
    ],
)
def test_what_a_routine_changes_is_seen_by_what_stands_behind_its_call_only(run, expression, result):
    assert run(program(CHANGES, f"SET Environment.r = {expression};")).value("r") == result


def test_a_condition_sees_what_a_routine_before_changed(run):
    main = "IF f() = 'f' AND Environment.x.y = 'new' THEN SET Environment.r = 1; END IF;"
    assert run(program(CHANGES, main)).value("r") == 1


def test_arguments_see_what_routines_in_arguments_before_changed(run):
    routines = CHANGES + "CREATE FUNCTION join(a CHARACTER, b CHARACTER) RETURNS CHARACTER BEGIN RETURN a || b; END;"
    main = "SET Environment.r = join(f(), Environment.x.y); CALL join(f(), Environment.x.y) INTO Environment.s;"
    outcome = run(program(routines, main))

    assert (outcome.value("r"), outcome.value("s")) == ("fnew", "fnew")


def test_a_variable_is_read_before_a_call_behind_it_changes_it_and_after_one_before_it(run):
    main = "DECLARE n INTEGER 0; SET Environment.r = n + next(n) * 10 + n * 100;"
    assert run(program(COUNTS, main)).value("r") == 0 + 10 + 100


def test_a_condition_of_a_loop_calls_its_routine_every_time(run):
    main = "DECLARE n INTEGER 0; WHILE next(n) < 5 DO SET Environment.r = n; END WHILE;"
    assert run(program(COUNTS, main)).value("r") == 4


def test_a_routine_is_not_called_where_the_left_side_decides(run):
    main = "DECLARE n INTEGER 0; IF n = 0 OR next(n) = 1 THEN SET Environment.r = n; END IF;"
    assert run(program(COUNTS, main)).value("r") == 0


def test_call_puts_what_comes_back_into_variables_and_fields_with_their_types(run):
    routines = """CREATE FUNCTION f(IN n INTEGER, OUT o CHARACTER, INOUT p DECIMAL) RETURNS INTEGER
    BEGIN SET o = 'out'; SET p = p * 2; RETURN n + 1; END;"""
    main = """DECLARE p DECIMAL 4; DECLARE text CHARACTER;
    CALL f('5', Environment.o, p) INTO text;
    SET Environment.p = p; SET Environment.text = text;"""
    outcome = run(program(routines, main))

    assert (outcome.value("o"), outcome.value("p"), outcome.value("text")) == ("out", 8, "6")


DEEP = "CREATE FUNCTION f(IN n INTEGER) RETURNS INTEGER BEGIN IF n = 0 THEN RETURN 0; END IF; RETURN 1 + f(n - 1); END;"


def test_routines_may_call_themselves(run):
    assert run(program(DEEP, "SET Environment.r = f(200);")).value("r") == 200


def test_routines_that_call_themselves_without_end_are_an_error_that_says_so(run):
    with pytest.raises(StatementError, match=r"in M.f: .*: routines call each other too deep"):
        run(program(DEEP, "SET Environment.r = f(-1);"))


def test_a_handler_sees_routines_that_call_themselves_without_end(run):
    main = """DECLARE EXIT HANDLER FOR SQLSTATE LIKE 'S%' BEGIN
      SET Environment.state = SQLSTATE; SET Environment.text = SQLERRORTEXT;
    END;
    SET Environment.r = f(-1);"""
    outcome = run(program(DEEP, main))

    assert (outcome.value("state"), outcome.value("text")) == ("S02489", "routines call each other too deep")


def test_eval_calls_routines_and_changes_variables_of_where_it_stands(run):
    main = """DECLARE k INTEGER 4;
    SET Environment.a = EVAL('f(3) + k');
    EVAL('SET k = f(10); SET Environment.b = k;');
    SET Environment.c = EVAL('EVAL(''f(k)'')');"""
    outcome = run(program(DEEP, main))

    assert [outcome.value(name) for name in "abc"] == [7, 10, 10]


def test_eval_may_propagate(run):
    outcome = run("SET OutputRoot.XML.a = 1; EVAL('PROPAGATE TO TERMINAL ''out1'';');")

    assert [(sent.terminal, sent.body) for sent in outcome.sent] == [("out1", "<a>1</a>")]


def test_eval_of_a_text_that_is_no_esql_says_where_it_is_wrong(run):
    with pytest.raises(StatementError, match=r"test.esql:1: .*EVAL:1:4: expected an expression"):
        run("SET Environment.a = EVAL('1 +');")


def test_an_external_variable_that_was_given_a_value_of_no_use_is_named(run):
    with pytest.raises(StatementError, match=r"^test.esql:1: DECLARE limit .*: .many. is not an INTEGER$"):
        run(
            "DECLARE limit EXTERNAL INTEGER 5;" + program("", "SET Environment.a = limit;"),
            external={"limit": "many"},
        )


@pytest.mark.parametrize(
    ("declared", "given", "found"),
    [("INTEGER", "42", 42), ("BOOLEAN", "false", False), ("CHARACTER", 7, "7"), ("INTEGER 5", None, 5)],
)
def test_an_external_variable_has_what_the_flow_was_given_as_its_own_type(run, declared, given, found):
    outcome = run(
        f"DECLARE x EXTERNAL {declared};" + program("", "SET Environment.a = x;"),
        external={} if given is None else {"x": given},
    )

    assert outcome.value("a") == found

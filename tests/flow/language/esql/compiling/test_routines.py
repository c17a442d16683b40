"""Calling routines: order of evaluation, recursion, EVAL, and what comes back."""

import pickle

import pytest

from flow.language.esql.conftest import DEEP, module, program
from heliograph.flow.errors import StatementError, ThrowError
from heliograph.flow.language.esql.runtime.exceptions import state_of

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


def test_throw_raises_what_it_says(run):
    with pytest.raises(StatementError) as caught:
        run("THROW USER EXCEPTION SEVERITY 3 CATALOG 'C' MESSAGE 2999 VALUES('a', 1);")
    reason = caught.value.reason
    assert isinstance(reason, ThrowError)
    assert (reason.severity, reason.catalog, reason.number, reason.inserts) == (3, "C", 2999, ("a", 1))


def test_an_error_names_file_line_routine_and_statement(run):
    with pytest.raises(StatementError) as caught:
        run(
            module(
                "",
                "\nSET Environment.x = 1;\nCALL Inner(0);",
                routines="CREATE PROCEDURE Inner(IN x INTEGER)\nBEGIN\nSET Environment.y = 1\n / x; END;",
            )
        )
    error = caught.value
    assert (error.file, error.line, error.routine, error.statement) == (
        "test.esql",
        12,
        "Test.Inner",
        "SET Environment.y = 1 / x",
    )
    assert state_of(error) == "S22012"
    assert state_of(pickle.loads(pickle.dumps(error))) == "S22012"


def test_an_exit_handler_leaves_its_block(run):
    text = """BEGIN
            DECLARE EXIT HANDLER FOR SQLSTATE LIKE 'U%' BEGIN SET Environment.state = SQLSTATE; END;
            SET Environment.a = 1; THROW USER EXCEPTION MESSAGE 2950 VALUES('x'); SET Environment.b = 1;
        END;
        SET Environment.c = 1;"""
    done = run(text)
    assert [done.value(name) for name in "abc"] == [1, None, 1]
    assert done.value("state") == "U02950"


def test_a_continue_handler_goes_on_behind_the_statement(run):
    text = """DECLARE n INTEGER 0;
        BEGIN
            DECLARE CONTINUE HANDLER FOR SQLSTATE 'S22012' SET n = n + 1;
            DECLARE i INTEGER 0;
            WHILE i < 3 DO SET i = i + 1; SET Environment.x = 1 / 0; SET Environment.last = i; END WHILE;
        END;
        SET Environment.n = n;"""
    done = run(text)
    assert (done.value("n"), done.value("last")) == (3, 3)


def test_a_handler_sees_what_was_declared_before_it(run):
    text = """BEGIN
            DECLARE n INTEGER 0;
            DECLARE CONTINUE HANDLER FOR SQLSTATE LIKE '%' SET n = n + 1;
            SET n = 1 / 0; SET Environment.n = n;
        END;"""
    assert run(text).value("n") == 1


def test_the_nearest_handler_comes_first(run):
    text = """BEGIN
            DECLARE CONTINUE HANDLER FOR SQLSTATE LIKE '%' SET Environment.outer = 1;
            BEGIN
                DECLARE CONTINUE HANDLER FOR SQLSTATE LIKE 'S%' SET Environment.inner = 1;
                SET Environment.x = 1 / 0;
            END;
        END;"""
    done = run(text)
    assert (done.value("outer"), done.value("inner")) == (None, 1)


def test_a_handler_for_another_state_does_nothing(run):
    with pytest.raises(StatementError):
        run("BEGIN DECLARE EXIT HANDLER FOR SQLSTATE 'U00001' SET Environment.x = 1; SET Environment.y = 1 / 0; END;")


def test_resignal_passes_the_exception_on(run):
    text = """BEGIN
            DECLARE EXIT HANDLER FOR SQLSTATE LIKE '%' SET Environment.outer = SQLSTATE;
            BEGIN DECLARE EXIT HANDLER FOR SQLSTATE LIKE 'S%' RESIGNAL; SET Environment.x = 1 / 0; END;
        END;"""
    assert run(text).value("outer") == "S22012"


def test_return_in_a_continue_handler_returns_from_the_routine(run):
    text = """BEGIN DECLARE CONTINUE HANDLER FOR SQLSTATE LIKE '%' RETURN FALSE; SET Environment.x = 1 / 0; END;
        RETURN TRUE;"""
    assert run(text).result is False


def test_log(run):
    (entry,) = run("LOG EVENT SEVERITY 2 MESSAGE 2951 VALUES('x', NULL);").logged
    assert (entry.trace, entry.severity, entry.number, entry.inserts) == (False, 2, 2951, ("x", None))


def test_log_of_an_exception(run):
    text = """BEGIN
        DECLARE EXIT HANDLER FOR SQLSTATE LIKE '%' LOG USER TRACE FULL EXCEPTION; SET Environment.x = 1 / 0; END;"""
    (entry,) = run(text).logged
    assert entry.trace
    assert entry.exception is not None


def test_parameters_go_in_and_out(run):
    text = module(
        "DECLARE a INTEGER 1; DECLARE b INTEGER 2; CALL P(a, b, Environment.c);",
        "SET Environment.a = a; SET Environment.b = b;",
        routines="""CREATE PROCEDURE P(IN x INTEGER, INOUT y INTEGER, OUT z CHARACTER) BEGIN
            SET y = x + y; SET z = 'z'; END;""",
    )
    done = run(text)
    assert [done.value(name) for name in "abc"] == [1, 3, "z"]


def test_functions_recur(run):
    text = module(
        "SET Environment.x = Factorial(20);",
        routines="""CREATE FUNCTION Factorial(n INTEGER) RETURNS INTEGER
            RETURN CASE WHEN n <= 1 THEN 1 ELSE n * Factorial(n - 1) END;""",
    )
    assert run(text).value("x") == 2432902008176640000


def test_endless_recursion_is_an_error(run):
    with pytest.raises(StatementError, match="too deep"):
        run(module("CALL P();", routines="CREATE PROCEDURE P() BEGIN CALL P(); END;"))


def test_a_reference_parameter_changes_the_tree_of_the_caller(run):
    text = module(
        "CREATE FIELD OutputRoot.XML.a; CALL Fill(OutputRoot.XML.a);",
        routines="CREATE PROCEDURE Fill(IN r REFERENCE) BEGIN SET r.b = 1; END;",
    )
    assert run(text).xml == "<a><b>1</b></a>"


def test_a_function_with_an_out_parameter_in_a_condition(run):
    text = module(
        "DECLARE n INTEGER 0; IF TRUE AND F(n) THEN SET Environment.n = n; END IF;",
        routines="CREATE FUNCTION F(OUT n INTEGER) RETURNS BOOLEAN BEGIN SET n = 7; RETURN TRUE; END;",
    )
    assert run(text).value("n") == 7


def test_a_function_can_return_a_row(run):
    text = module(
        "SET OutputRoot.XML.a = F(1);",
        routines="CREATE FUNCTION F(n INTEGER) RETURNS ROW BEGIN DECLARE r ROW; SET r.x = n; RETURN r; END;",
    )
    assert run(text).xml == "<a><x>1</x></a>"


def test_routines_and_constants_of_other_schemas_by_path_and_by_name(run):
    other = """BROKER SCHEMA lib DECLARE Factor CONSTANT INTEGER 2;
        CREATE FUNCTION Twice(n INTEGER) RETURNS INTEGER RETURN n * Factor;"""
    text = "BROKER SCHEMA app PATH lib " + module("SET Environment.x = Twice(4); SET Environment.y = lib.Twice(5);")
    done = run(text, others=(other,))
    assert (done.value("x"), done.value("y")) == (8, 10)


def test_call_puts_what_a_function_returns_into_a_field(run):
    text = module(
        "CALL F(2) INTO Environment.x;", routines="CREATE FUNCTION F(n INTEGER) RETURNS INTEGER RETURN n * 2;"
    )
    assert run(text).value("x") == 4


def test_a_parameter_converts_what_it_gets(run):
    text = module(
        "SET Environment.x = F('7');", routines="CREATE FUNCTION F(n INTEGER) RETURNS CHARACTER RETURN n + 1;"
    )
    assert run(text).value("x") == "8"


def test_an_inout_reference_moves_for_the_caller(run):
    text = module(
        "DECLARE r REFERENCE TO InputBody.a.b; CALL Next(r); SET Environment.x = FIELDNAME(r);",
        routines="CREATE PROCEDURE Next(INOUT r REFERENCE) BEGIN MOVE r NEXTSIBLING; END;",
    )
    assert run(text, "<a><b/><c/></a>").value("x") == "c"


def test_parameters_and_results_of_routines_have_the_fields_that_they_are_declared_with(run):
    text = """CREATE COMPUTE MODULE M
      CREATE FUNCTION Later(IN wait INTERVAL HOUR) RETURNS INTERVAL MINUTE BEGIN
        RETURN wait;
      END;
      CREATE FUNCTION Main() RETURNS BOOLEAN BEGIN
        SET Environment.v = CAST(Later('2') AS CHARACTER);
        RETURN TRUE;
      END;
    END MODULE;"""
    assert run(text).value("v") == "INTERVAL '120' MINUTE"

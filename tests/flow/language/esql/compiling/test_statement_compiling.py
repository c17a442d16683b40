"""Statements, one rule each."""

import pickle
from decimal import Decimal

import pytest

from heliograph.errors import Problem
from heliograph.flow.errors import StatementError, ThrowError
from heliograph.flow.formats import Catalogue
from heliograph.flow.language.esql.compiling.program_compiling import compile_program
from heliograph.flow.language.esql.parsing.program_parsing import parse_program
from heliograph.flow.language.esql.runtime.evaluation import Evaluation, SharedVariables
from heliograph.flow.language.esql.runtime.signals import state_of
from heliograph.flow.tree import Element


def module(*body: str, declarations: str = "", routines: str = "") -> str:
    return f"""
        CREATE COMPUTE MODULE Test
            {declarations}
            CREATE FUNCTION Main() RETURNS BOOLEAN BEGIN
                {" ".join(body)}
                RETURN TRUE;
            END;
            {routines}
        END MODULE;"""


# SET


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        pytest.param(
            "SET X.a = 1; SET X.a.b = 2; SET X.a = 3;", "<r><a>3<b>2</b></a></r>", id="a scalar keeps children"
        ),
        pytest.param(
            "SET X.a.b = 1; SET X.c.d = 2; SET X.a = OutputRoot.XML.r.c;",
            "<r><a><d>2</d></a><c><d>2</d></c></r>",
            id="a field replaces value and children, and keeps the name",
        ),
        pytest.param("SET X.a = 1; SET X.a = InputBody.none;", "<r/>", id="a field that is not there deletes"),
        pytest.param("SET X.a[1] = 1; SET X.a[<] = 2; SET X.a[2] = 3;", "<r><a>2</a><a>3</a></r>", id="last instance"),
        pytest.param("SET X.a = 1; SET X.a NAME = 'b';", "<r><b>1</b></r>", id="NAME"),
        pytest.param("SET X.a = 1; SET X.a TYPE = 0x03000000;", '<r a="1"/>', id="TYPE"),
        pytest.param("SET X.{'a' || 'b'} = 1;", "<r><ab>1</ab></r>", id="computed name"),
        pytest.param("SET X.a[] = InputBody.i.v[];", "<r><a>1</a><a><w/></a></r>", id="list of fields to list: copies"),
        pytest.param("SET X.a = ROW(1 AS b, 'x' AS c);", "<r><a><b>1</b><c>x</c></a></r>", id="row"),
        pytest.param("SET X.n = CARDINALITY(OutputRoot.XML.r.*[]);", "<r><n>0</n></r>", id="value before target"),
        pytest.param("SET X.a = DECIMAL '0.10' + DECIMAL '0.20';", "<r><a>0.30</a></r>", id="decimals stay exact"),
    ],
)
def test_set(run, statements, expected):
    text = f"CREATE FIELD OutputRoot.XML.r; {statements.replace('X.', 'OutputRoot.XML.r.')}"
    assert run(text, "<i><v>1</v><v><w/></v></i>").xml == expected


@pytest.mark.parametrize("aspect", ["NAME = NULL", "TYPE = NULL", "TYPE = 'x'", "NAMESPACE = 1"])
def test_set_of_an_aspect_wants_its_type(run, aspect):
    with pytest.raises(StatementError):
        run(f"SET OutputRoot.XML.a = 1; SET OutputRoot.XML.a {aspect};")


def test_copying_the_root_shares_the_bytes_of_unchanged_parts(run):
    done = run("SET OutputRoot = InputRoot;", "<a><b/></a >")
    assert done.xml == "<a><b/></a >"


def test_copying_one_part_shares_its_bytes(run):
    assert run("SET OutputRoot.XML = InputRoot.XML;", "<a></a >").xml == "<a></a >"


def test_variables_convert_what_they_get(run):
    text = (
        "DECLARE i INTEGER; DECLARE c CHARACTER; SET i = 3.9; SET c = 5; SET Environment.i = i; SET Environment.c = c;"
    )
    done = run(text)
    assert (done.value("i"), done.value("c")) == (3, "5")


def test_an_integer_that_does_not_fit_64_bits_is_an_error(run):
    with pytest.raises(StatementError):
        run("DECLARE i INTEGER 9223372036854775807; SET i = i + 1;")


# Order


def test_if_takes_the_first_branch_that_is_true(run):
    text = """IF InputBody.none = 1 THEN SET Environment.x = 1;
        ELSEIF 1 = 1 THEN SET Environment.x = 2; ELSEIF 2 = 2 THEN SET Environment.x = 3;
        ELSE SET Environment.x = 4; END IF;"""
    assert run(text, "<a/>").value("x") == 2


@pytest.mark.parametrize(("subject", "expected"), [("1", "one"), ("2", "two"), ("3", "other"), ("NULL", "other")])
def test_case_statement(run, subject, expected):
    text = f"""CASE {subject} WHEN 1 THEN SET Environment.x = 'one'; WHEN 2 THEN SET Environment.x = 'two';
        ELSE SET Environment.x = 'other'; END CASE;"""
    assert run(text).value("x") == expected


def test_searched_case_statement_without_a_match_does_nothing(run):
    assert run("CASE WHEN 1 = 2 THEN SET Environment.x = 1; END CASE;").value("x") is None


LOOPS = {
    "while": "WHILE i < 5 DO SET i = i + 1; END WHILE;",
    "repeat": "REPEAT SET i = i + 1; UNTIL i >= 5 END REPEAT;",
    "loop": "L: LOOP SET i = i + 1; IF i >= 5 THEN LEAVE L; END IF; END LOOP L;",
    "iterate": "L: WHILE i < 9 DO SET i = i + 1; IF i < 5 THEN ITERATE L; END IF; LEAVE L; END WHILE L;",
    "leave the outer loop": "L: WHILE TRUE DO WHILE TRUE DO SET i = i + 1; IF i = 5 THEN LEAVE L; END IF; END WHILE;"
    " END WHILE L;",
    "iterate the outer loop": "L: WHILE i < 5 DO WHILE TRUE DO SET i = i + 1; ITERATE L; END WHILE; END WHILE L;",
    "leave a block": "B: BEGIN SET i = 5; LEAVE B; SET i = 6; END B;",
}


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS.keys())
def test_loops_end_where_they_say(run, loop):
    assert run(f"DECLARE i INTEGER 0; {loop} SET Environment.i = i;").value("i") == 5


def test_while_stops_when_its_condition_is_unknown(run):
    assert run("DECLARE i INTEGER; WHILE i < 3 DO SET Environment.x = 1; END WHILE;").value("x") is None


def test_for_goes_over_the_fields_as_they_were(run):
    text = """SET OutputRoot = InputRoot;
        FOR it AS OutputRoot.XML.a.b[] DO
            SET it.seen = FIELDNAME(it);
            SET OutputRoot.XML.a.b[<].last = 'y';
        END FOR;"""
    assert run(text, "<a><b/><b/></a>").xml == "<a><b><seen>b</seen></b><b><last>y</last><seen>b</seen></b></a>"


def test_an_inner_declaration_hides_the_outer(run):
    text = "DECLARE x INTEGER 1; BEGIN DECLARE x INTEGER 2; SET Environment.a = x; END; SET Environment.b = x;"
    done = run(text)
    assert (done.value("a"), done.value("b")) == (2, 1)


def test_a_path_found_before_a_change_is_looked_for_again(run):
    text = """SET OutputRoot.XML.a.b.c = 1;
        SET Environment.one VALUE = OutputRoot.XML.a.b.c;
        SET OutputRoot.XML.a.b = NULL;
        SET Environment.two VALUE = COALESCE(OutputRoot.XML.a.b.c, 'gone');
        SET OutputRoot.XML.a.b.c = 3;
        SET Environment.three VALUE = OutputRoot.XML.a.b.c;"""
    done = run(text)
    assert [done.value(name) for name in ("one", "two", "three")] == [1, "gone", 3]


def test_a_path_with_a_variable_follows_the_variable(run):
    text = """DECLARE i INTEGER 1; DECLARE s CHARACTER '';
        WHILE i <= 3 DO SET s = s || InputBody.a.b[i].c; SET s = s || InputBody.a.b[i].d; SET i = i + 1; END WHILE;
        SET Environment.s = s;"""
    xml = "<a>" + "".join(f"<b><c>c{i}</c><d>d{i}</d></b>" for i in "123") + "</a>"
    assert run(text, xml).value("s") == "c1d1c2d2c3d3"


# Trees


@pytest.mark.parametrize(
    ("create", "expected"),
    [
        ("FIELD OutputRoot.XML.r.x", "<r><a/><x/></r>"),
        ("FIRSTCHILD OF OutputRoot.XML.r NAME 'x' VALUE 1", "<r><x>1</x><a/></r>"),
        ("LASTCHILD OF OutputRoot.XML.r NAME 'x' VALUE 1", "<r><a/><x>1</x></r>"),
        ("PREVIOUSSIBLING OF OutputRoot.XML.r.a NAME 'x'", "<r><x/><a/></r>"),
        ("NEXTSIBLING OF OutputRoot.XML.r.a REPEAT VALUE 2", "<r><a/><a>2</a></r>"),
        ("LASTCHILD OF OutputRoot.XML.r IDENTITY (XML.Attribute)x VALUE 1", '<r x="1"><a/></r>'),
        ("FIELD OutputRoot.XML.r.x IDENTITY (XML.Attribute)x VALUE 1", '<r x="1"><a/></r>'),
        ("FIELD OutputRoot.XML.r.x IDENTITY y", "<r><a/><y/></r>"),
        ("LASTCHILD OF OutputRoot.XML.r TYPE XML.Attribute NAME 'x' VALUE 1", '<r x="1"><a/></r>'),
        ("FIELD OutputRoot.XML.r.x FROM InputBody.i", "<r><a/><x><v>1</v></x></r>"),
    ],
)
def test_create(run, create, expected):
    assert run(f"CREATE FIELD OutputRoot.XML.r.a; CREATE {create};", "<i><v>1</v></i>").xml == expected


def test_the_later_first_child_is_first(run):
    text = "CREATE FIRSTCHILD OF OutputRoot.XML.r NAME 'a'; CREATE FIRSTCHILD OF OutputRoot.XML.r NAME 'b';"
    assert run(text).xml == "<r><b/><a/></r>"


def test_create_points_a_reference_at_the_new_field(run):
    text = """DECLARE r REFERENCE TO OutputRoot;
        CREATE LASTCHILD OF OutputRoot AS r DOMAIN 'XMLNSC' NAME 'XMLNSC';
        CREATE LASTCHILD OF r AS r NAME 'a'; SET r.b = 1;"""
    assert run(text).xml == "<a><b>1</b></a>"


def test_a_reference_to_the_output_root_makes_parts(run):
    assert run("DECLARE r REFERENCE TO OutputRoot; SET r.XMLNSC.a = 1;").xml == "<a>1</a>"


def test_parse_and_asbitstream_are_inverse(run):
    text = """CREATE LASTCHILD OF OutputRoot DOMAIN 'XMLNSC'
            PARSE(CAST('<a><b>1</b></a>' AS BLOB CCSID 1208) CCSID 1208);
        SET Environment.b = OutputRoot.XMLNSC.a.b;
        SET OutputRoot.XMLNSC.a.b = 2;
        SET Environment.bytes = ASBITSTREAM(OutputRoot.XMLNSC CCSID 1208);
        SET Environment.folder = ASBITSTREAM(OutputRoot.XMLNSC.a.b OPTIONS FolderBitStream CCSID 1208);"""
    done = run(text)
    assert done.value("b") == "1"
    assert done.value("bytes") == b"<a><b>2</b></a>"
    assert done.value("folder") == b"<b>2</b>"


@pytest.mark.parametrize(
    ("delete", "expected"),
    [
        ("FIELD OutputRoot.XML.r.b", "<r><a/><c/></r>"),
        ("FIELD OutputRoot.XML.r.none.at.all", "<r><a/><b/><c/></r>"),
        ("FIRSTCHILD OF OutputRoot.XML.r", "<r><b/><c/></r>"),
        ("LASTCHILD OF OutputRoot.XML.r", "<r><a/><b/></r>"),
        ("PREVIOUSSIBLING OF OutputRoot.XML.r.b", "<r><b/><c/></r>"),
        ("NEXTSIBLING OF OutputRoot.XML.r.b", "<r><a/><b/></r>"),
        ("NEXTSIBLING OF OutputRoot.XML.r.c", "<r><a/><b/><c/></r>"),
    ],
)
def test_delete(run, delete, expected):
    assert run(f"SET OutputRoot = InputRoot; DELETE {delete};", "<r><a/><b/><c/></r>").xml == expected


@pytest.mark.parametrize(
    ("move", "name", "moved"),
    [
        ("PARENT", "r", True),
        ("NEXTSIBLING", "c", True),
        ("PREVIOUSSIBLING", "a", True),
        ("FIRSTCHILD", "x", True),
        ("LASTCHILD", "y", True),
        ("FIRSTCHILD NAME 'y'", "y", True),
        ("FIRSTCHILD NAME 'none'", "b", False),
        ("NEXTSIBLING REPEAT TYPE NAME", "b", True),
        ("NEXTSIBLING IDENTITY d", "d", True),
        ("TO InputBody.r.d", "d", True),
        ("TO InputBody.r.none", "b", False),
    ],
)
def test_move(run, move, name, moved):
    text = f"""DECLARE r REFERENCE TO InputBody.r.b; MOVE r {move};
        SET Environment.name = FIELDNAME(r); SET Environment.moved VALUE = LASTMOVE(r);"""
    done = run(text, "<r><a/><b><x/><y/></b><c/><b/><d/></r>")
    assert (done.value("name"), done.value("moved")) == (name, moved)


def test_a_reference_to_nothing_points_to_the_root(run):
    text = """DECLARE r REFERENCE TO InputBody.none;
        SET Environment.moved VALUE = LASTMOVE(r); SET Environment.same VALUE = SAMEFIELD(r, InputBody);"""
    done = run(text, "<a/>")
    assert (done.value("moved"), done.value("same")) == (False, True)


def test_walking_along_siblings(run):
    text = """DECLARE r REFERENCE TO InputBody.a.b; DECLARE s CHARACTER '';
        WHILE LASTMOVE(r) DO SET s = s || r.c; MOVE r NEXTSIBLING REPEAT TYPE NAME; END WHILE;
        SET Environment.s = s;"""
    assert run(text, "<a><b><c>1</c></b><x/><b><c>2</c></b></a>").value("s") == "12"


def test_detach_and_attach_move_a_field(run):
    text = """SET OutputRoot = InputRoot; DECLARE r REFERENCE TO OutputRoot.XML.r.a;
        DETACH r; ATTACH r TO OutputRoot.XML.r.b AS FIRSTCHILD; SET r.z = 1;"""
    assert run(text, "<r><a><x/></a><b><y/></b></r>").xml == "<r><b><a><x/><z>1</z></a><y/></b></r>"


def test_attaching_what_is_attached_is_an_error(run):
    with pytest.raises(StatementError, match="DETACH"):
        run(
            "SET OutputRoot = InputRoot; DECLARE r REFERENCE TO OutputRoot.XML.a; ATTACH r TO OutputRoot AS LASTCHILD;",
            "<a/>",
        )


# PROPAGATE


@pytest.mark.parametrize(
    ("clause", "terminal", "label"),
    [
        ("", "out", None),
        ("TO TERMINAL 'out2'", "out2", None),
        ("TO TERMINAL 1", "out1", None),
        ("TO TERMINAL -1", "failure", None),
        ("TO LABEL 'L'", None, "L"),
    ],
)
def test_propagate_names_a_terminal_or_a_label(run, clause, terminal, label):
    (sent,) = run(f"SET OutputRoot.XML.a = 1; PROPAGATE {clause};").sent
    assert (sent.terminal, sent.label, sent.body, sent.finalize) == (terminal, label, "<a>1</a>", True)


def test_propagate_nowhere_sends_nothing(run):
    assert run("PROPAGATE TO TERMINAL 'nowhere';").sent == []


@pytest.mark.parametrize("terminal", ["'out9'", "7", "TRUE", "NULL"])
def test_propagate_to_no_terminal_is_an_error(run, terminal):
    with pytest.raises(StatementError, match="terminal"):
        run(f"PROPAGATE TO TERMINAL {terminal};")


def test_propagate_delete_none_keeps_the_message(run):
    done = run(
        "SET OutputRoot.XML.a.b = 1; PROPAGATE FINALIZE NONE DELETE NONE; SET OutputRoot.XML.a.c = 2; PROPAGATE;"
    )
    assert [(sent.body, sent.finalize) for sent in done.sent] == [
        ("<a><b>1</b></a>", False),
        ("<a><b>1</b><c>2</c></a>", True),
    ]


def test_propagate_can_send_another_tree(run):
    (sent,) = run("PROPAGATE MESSAGE InputRoot;", "<in/>").sent
    assert sent.body == "<in/>"


# Exceptions


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


# Routines


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


@pytest.mark.parametrize("kind", ["FILTER", "DATABASE"])
def test_other_nodes_have_names_of_their_own(run, kind):
    text = f"""CREATE {kind} MODULE M CREATE FUNCTION Main() RETURNS BOOLEAN BEGIN
        SET Environment.x = Root.XML.a || Body.a || FIELDNAME(LocalEnvironment) || FIELDNAME(ExceptionList);
        SET LocalEnvironment.Variables.y = 1;
        RETURN Body.a = '1'; END; END MODULE;"""
    done = run(text, "<a>1</a>")
    assert done.result is True
    assert done.value("x") == "11LocalEnvironmentExceptionList"


# Variables that live longer


def test_shared_variables_outlive_a_message(run):
    text = module("BEGIN ATOMIC SET n = n + 1; SET Environment.n = n; END;", declarations="DECLARE n SHARED INTEGER 0;")
    shared = SharedVariables()
    assert [run(text, shared=shared).value("n") for _ in range(3)] == [1, 2, 3]


def test_shared_rows_keep_their_fields(run):
    text = module(
        "SET Environment.before = COALESCE(Cache.{'k'}, 'none'); SET Cache.k = 'v';",
        declarations="DECLARE Cache SHARED ROW;",
    )
    shared = SharedVariables()
    assert [run(text, shared=shared).value("before") for _ in range(2)] == ["none", "v"]


def test_variables_of_a_module_start_again_with_each_message(run):
    text = module(
        "CALL P(); SET Environment.n = n;",
        declarations="DECLARE n INTEGER 0;",
        routines="CREATE PROCEDURE P() BEGIN SET n = n + 1; END;",
    )
    shared = SharedVariables()
    assert [run(text, shared=shared).value("n") for _ in range(2)] == [1, 1]


def test_external_variables_come_from_outside(run):
    text = module("SET Environment.x = Limit_;", declarations="DECLARE Limit_ EXTERNAL INTEGER 10;")
    assert run(text).value("x") == 10
    assert run(text, external={"Limit_": "20"}).value("x") == 20


def test_constants_cannot_be_assigned(run):
    with pytest.raises(Problem, match="constant"):
        run("DECLARE c CONSTANT INTEGER 1; SET c = 2;")


# EVAL


def test_eval_as_an_expression_sees_variables(value):
    assert value("EVAL('x + ' || '1')", declare="DECLARE x INTEGER 41;") == 42


def test_eval_as_a_statement_changes_variables_and_trees(run):
    text = "DECLARE x INTEGER 1; EVAL('SET x = x + 1; SET OutputRoot.XML.a = x'); SET Environment.x = x;"
    done = run(text)
    assert (done.value("x"), done.xml) == (2, "<a>2</a>")


# Whole programs


def test_a_compiled_program_pickles_as_its_text():
    compiled = compile_program(parse_program("SET Environment.x = 1;", "p.esql"))
    again = pickle.loads(pickle.dumps(compiled))
    assert again.source == compiled.source
    evaluation = Evaluation(Element("Root"), catalogue=Catalogue(), now=None)  # type: ignore[arg-type]
    module_again = pickle.loads(pickle.dumps(compiled.modules[""]))
    assert module_again.run(evaluation) is True
    assert evaluation.environment.first("x").value == 1  # type: ignore[union-attr]


def test_generated_python_says_which_statement_each_line_is_of():
    source = compile_program(parse_program("\nSET Environment.x = 1;", "p.esql")).source
    assert "# 2: SET Environment.x = 1" in source


def test_broker_properties(value):
    assert value("MessageFlowLabel", properties={"MessageFlowLabel": "orders"}) == "orders"


def test_decimal_values_stay_exact(value):
    assert value("DECIMAL '0.1' + DECIMAL '0.2'") == Decimal("0.3")


# Variables of type INTERVAL


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        pytest.param("DECLARE v INTERVAL DAY; SET v = '5';", "INTERVAL '5' DAY", id="bare text"),
        pytest.param("DECLARE v INTERVAL DAY '5';", "INTERVAL '5' DAY", id="first value"),
        pytest.param("DECLARE v INTERVAL YEAR TO MONTH; SET v = '1-06';", "INTERVAL '1-06' YEAR TO MONTH", id="two"),
        pytest.param("DECLARE v INTERVAL HOUR; SET v = 3;", "INTERVAL '3' HOUR", id="number"),
        pytest.param("DECLARE v INTERVAL HOUR; SET v = INTERVAL '2' DAY;", "INTERVAL '48' HOUR", id="other fields"),
        pytest.param("DECLARE v INTERVAL; SET v = INTERVAL '2' DAY;", "INTERVAL '2' DAY", id="any fields"),
        pytest.param("DECLARE v INTERVAL DAY; SET v = NULL;", None, id="NULL"),
    ],
)
def test_an_interval_variable_has_the_fields_that_it_is_declared_with(run, statements, expected):
    found = run(f"{statements} SET Environment.v = CAST(v AS CHARACTER);").value("v")
    assert found == expected


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


def test_an_interval_of_the_other_family_is_no_value_of_a_variable(run):
    with pytest.raises(StatementError, match="INTERVAL '1' MONTH cannot become INTERVAL DAY"):
        run("DECLARE v INTERVAL DAY; SET v = INTERVAL '1' MONTH;")

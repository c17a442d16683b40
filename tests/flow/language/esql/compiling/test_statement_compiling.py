"""Statements, one rule each."""

from decimal import Decimal

import pytest

from heliograph.errors import Problem
from heliograph.flow.errors import StatementError

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


# PROPAGATE


# Exceptions


# Routines


# Variables that live longer


def test_constants_cannot_be_assigned(run):
    with pytest.raises(Problem, match="constant"):
        run("DECLARE c CONSTANT INTEGER 1; SET c = 2;")


# EVAL


# Whole programs


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


def test_an_interval_of_the_other_family_is_no_value_of_a_variable(run):
    with pytest.raises(StatementError, match="INTERVAL '1' MONTH cannot become INTERVAL DAY"):
        run("DECLARE v INTERVAL DAY; SET v = INTERVAL '1' MONTH;")

"""What implementers of ESQL get wrong: one test for each."""

import pytest

from heliograph.errors import Problem
from heliograph.flow.errors import StatementError
from heliograph.flow.language.values.times import Interval


def test_assigning_null_to_a_field_deletes_it(run):
    text = "SET OutputRoot = InputRoot; SET OutputRoot.XML.a.b = NULL;"
    assert run(text, "<a><b><c>1</c></b><d/></a>").xml == "<a><d/></a>"


def test_assigning_null_as_value_keeps_the_field(run):
    text = "SET OutputRoot = InputRoot; SET OutputRoot.XML.a.b VALUE = NULL;"
    assert run(text, "<a><b>1</b><d/></a>").xml == "<a><b/><d/></a>"


def test_an_index_creates_at_most_one_field(run):
    assert run("SET OutputRoot.XML.a.b[1].c = 1; SET OutputRoot.XML.a.b[2].c = 2;").xml == (
        "<a><b><c>1</c></b><b><c>2</c></b></a>"
    )
    with pytest.raises(StatementError, match=r"b\[3\]"):
        run("SET OutputRoot.XML.a.b[1].c = 1; SET OutputRoot.XML.a.b[3].c = 2;")


def test_float_becomes_text_in_scientific_form_with_15_digits(run):
    assert run("SET OutputRoot.XML.a.x = 44.72; SET OutputRoot.XML.a.y = 0.1 + 0.2;").xml == (
        "<a><x>4.472E+1</x><y>3E-1</y></a>"
    )


def test_trailing_blanks_do_not_count_in_comparisons(value):
    assert value("InputBody.a = 'hello  '", "<a>hello</a>") is True


def test_not_binds_tighter_than_equals(value):
    assert value("NOT FALSE = FALSE") is False


def test_concatenation_binds_tighter_than_plus(run):
    with pytest.raises(StatementError):
        run("SET Environment.x = '1' || 2 + 3;")


def test_text_is_cast_in_comparisons(value):
    assert value("InputBody.price > 0.0", "<price>27.95</price>") is True


def test_text_is_not_cast_in_arithmetic(run):
    with pytest.raises(StatementError):
        run("SET Environment.x = InputBody.price * 2;", "<price>3</price>")


def test_float_with_decimal_is_float(value):
    assert type(value("1.5 + DECIMAL '1.5'")) is float


def test_paths_have_case_and_keywords_have_none(run):
    assert run("set OUTPUTROOT.XML.a.B = InputRoot.XML.A; SeT OutputRoot.XML.a.b = 1;", "<A>x</A>").xml == (
        "<a><B>x</B><b>1</b></a>"
    )


def test_comments_nest_and_some_are_executed(run):
    assert run(
        "SET OutputRoot.XML.a = 1; /* /* */ SET OutputRoot.XML.a = 2; */ /*!{ SET OutputRoot.XML.a = 3; }!*/"
    ).xml == ("<a>3</a>")


def test_an_index_counts_matching_siblings_only(value):
    assert value("InputBody.a.b[2]", "<a><b>1</b><c>x</c><b>2</b></a>") == "2"


def test_the_body_is_the_last_child_of_the_root(value):
    assert value("FIELDNAME(InputBody)", "<a/>") == "XML"
    headers = "CREATE LASTCHILD OF OutputRoot NAME 'Properties'; DECLARE r REFERENCE TO OutputRoot;"
    assert value("FIELDNAME(r.*[<])", declare=headers) == "Properties"
    assert value("FIELDNAME(InputBody)") is None


def test_a_name_without_namespace_does_not_match_one_with(value):
    xml = "<a xmlns:n='urn:n'><n:b>1</n:b><b>2</b></a>"
    assert value("InputBody.a.b", xml, domain="XMLNSC") == "2"
    assert value("InputBody.a.*:b", xml, domain="XMLNSC") == "1"
    assert value("InputBody.a.n:b", xml, domain="XMLNSC", declare="DECLARE n NAMESPACE 'urn:n';") == "1"


def test_references_stay_valid_when_they_move_and_are_disconnected_by_delete(run):
    text = """
        SET OutputRoot = InputRoot;
        DECLARE r REFERENCE TO OutputRoot.XML.a.b;
        MOVE r NEXTSIBLING;
        SET Environment.moved = FIELDNAME(r);
        DELETE FIELD OutputRoot.XML.a.c;
        SET Environment.last VALUE = LASTMOVE(r);
        SET Environment.value = COALESCE(r, 'nothing');
        SET r.x = 'lost';
        MOVE r TO OutputRoot.XML.a.b;
        SET Environment.again VALUE = LASTMOVE(r);
    """
    done = run(text, "<a><b>1</b><c>2</c></a>")
    assert [done.value(name) for name in ("moved", "last", "value", "again")] == ["c", False, "nothing", True]
    assert done.xml == "<a><b>1</b></a>"


def test_propagate_clears_the_output_message(run):
    done = run("SET OutputRoot.XML.a = 1; PROPAGATE; SET OutputRoot.XML.b = 2; PROPAGATE; RETURN FALSE;")
    assert [sent.body for sent in done.sent] == ["<a>1</a>", "<b>2</b>"]
    assert done.result is False


@pytest.mark.parametrize("statement", ["SET OutputRoot.XML.a[] = 1;", "SET OutputRoot.XML.a = LIST{1, 2};"])
def test_a_scalar_for_a_list_and_a_list_for_a_scalar_are_errors(run, statement):
    with pytest.raises(Problem, match=r"\[\]"):
        run(statement)


def test_cast_of_a_date_takes_the_current_time_but_comparison_takes_midnight(value):
    assert str(value("CAST(DATE '2000-01-01' AS TIMESTAMP)")) == "2000-01-01 12:34:56.789000"
    assert value("DATE '2000-01-01' = TIMESTAMP '2000-01-01 00:00:00'") is True


def test_in_with_null_among_the_choices_is_unknown(value):
    assert value("1 IN (2, NULL)") is None
    assert value("2 IN (2, NULL)") is True
    assert value("1 IN (2, 3)") is False


def test_is_null_is_not_equals_null(value):
    assert value("InputBody.nothing IS NULL", "<a/>") is True
    assert value("InputBody.nothing = NULL", "<a/>") is None


def test_a_filter_that_returns_null_says_unknown(run):
    assert run("RETURN Body.a.b > 3;", "<a/>", kind="FILTER").result is None
    assert run("RETURN Body.a > 3;", "<a>4</a>", kind="FILTER").result is True


def test_decimal_has_precision_and_scale_in_cast_only(value):
    assert str(value("CAST('12.344' AS DECIMAL(5,2))")) == "12.34"
    with pytest.raises(Problem):
        value("x", declare="DECLARE x DECIMAL(5,2);")


def test_a_hexadecimal_literal_is_an_integer(value):
    assert value("0x10 + 1") == 17


def test_and_and_or_do_not_evaluate_what_is_decided(value, run):
    assert value("FALSE AND 1 / 0 = 1") is False
    assert value("TRUE OR 1 / 0 = 1") is True
    assert run("IF FALSE AND 1 / 0 = 1 THEN SET Environment.x = 1; ELSE SET Environment.x = 2; END IF;").value("x") == 2


def test_attributes_of_xml_and_xmlnsc_are_different_numbers(run):
    xml = run("SET OutputRoot.XML.a.(XML.Attribute)b = 1; SET OutputRoot.XML.a.(0x03000000)c = 2;").xml
    assert xml == '<a b="1" c="2"/>'
    xmlnsc = run("SET OutputRoot.XMLNSC.a.(XMLNSC.Attribute)b = 1; SET OutputRoot.XMLNSC.a.(0x03000000)c = 2;").xml
    assert xmlnsc == '<a b="1"><c>2</c></a>'


def test_a_loop_over_indexes_is_not_quadratic(run):
    """As many looks for the thousandth child as for the first: the tree's index is used."""
    items = "".join(f"<b>{number}</b>" for number in range(3000))
    text = """
        DECLARE i INTEGER 1; DECLARE n INTEGER 0;
        WHILE i <= CARDINALITY(InputBody.a.b[]) DO
            SET n = n + CAST(InputBody.a.b[i] AS INTEGER); SET i = i + 1;
        END WHILE;
        SET Environment.n = n;"""
    assert run(text, f"<a>{items}</a>").value("n") == sum(range(3000))


def test_null_in_a_concatenation_gives_null(value):
    assert value("InputBody.a || InputBody.b", "<a>x</a>") is None


def test_the_result_of_a_difference_is_an_interval(value):
    assert isinstance(value("(DATE '2000-01-03' - DATE '2000-01-01') DAY"), Interval)


def test_null_removes_a_field_that_is_counted_from_the_end(run):
    outcome = run("SET OutputRoot = InputRoot; SET OutputRoot.XML.a.b[<] = NULL;", "<a><b>1</b><b>2</b></a>")

    assert outcome.xml == "<a><b>1</b></a>"


def test_what_is_set_through_a_reference_to_a_deleted_field_is_not_there_afterwards(run):
    outcome = run(
        """SET Environment.a.b = 1;
        DECLARE r REFERENCE TO Environment.a.b;
        DELETE FIELD Environment.a;
        SET r = 2;
        SET Environment.seen = COALESCE(r, 'nothing');"""
    )

    assert outcome.value("seen") == "nothing"

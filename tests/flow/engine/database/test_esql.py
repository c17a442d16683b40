"""Statements of ESQL on real databases."""

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest

from heliograph.flow.errors import DatabaseError, StatementError
from heliograph.flow.formats import Catalogue
from heliograph.flow.language.esql.compiling.program_compiling import compile_program
from heliograph.flow.language.esql.parsing.program_parsing import parse_program
from heliograph.flow.language.esql.runtime.evaluation import Evaluation
from heliograph.flow.tree import Element

ORDER = b"""<order><line><item>1</item><count>2</count></line><line><item>3</item><count>5</count></line>
<line><item>9</item><count>1</count></line></order>"""


@pytest.fixture
def run(databases):
    """Run statements on a message; what they left in Environment."""
    for table, columns in (
        ("goods", "id INTEGER, name VARCHAR(20), price NUMERIC(8, 2)"),
        ("places", "id INTEGER, shelf VARCHAR(9)"),
    ):
        databases.execute("stock", f"DROP TABLE IF EXISTS {table}", ())
        databases.execute("stock", f"CREATE TABLE {table} ({columns})", ())
    for row in ((1, "chair", Decimal("40.00")), (2, "table", Decimal("99.50")), (3, "lamp", None)):
        databases.change("stock", "INSERT INTO goods VALUES (?, ?, ?)", row)
    for place in ((1, "A1"), (1, "A2"), (3, "B7")):
        databases.change("stock", "INSERT INTO places VALUES (?, ?)", place)
    databases.commit_all()

    def call(text: str, **given: Any) -> Element:
        root = Element("Root")
        root.append(Catalogue().part_of("XMLNSC", ORDER))
        evaluation = Evaluation(
            root,
            catalogue=Catalogue(),
            now=datetime(2026, 1, 1, 12),
            database=databases,
            **{"data_source": "stock", **given},
        )
        (module,) = compile_program(parse_program(text, "stock.esql")).modules.values()
        module.run(evaluation)
        return evaluation.environment

    return call


def rows(databases, table="goods"):
    return [tuple(row) for row in databases.query("stock", f"SELECT * FROM {table} ORDER BY id, 2", ()).rows]


def shown(environment: Element, name: str = "r") -> list[Any]:
    """Repeated fields: values, or their children as pairs."""
    return [
        [(child.name, child.value) for child in field.children] if field.children else field.value
        for field in environment.all(name)
    ]


def test_insert_takes_expressions_fields_and_nulls(run, databases):
    run(
        """DECLARE n INTEGER 3;
        INSERT INTO Database.goods (id, name, price) VALUES (n + 1, UPPER('so') || 'fa', CAST('12.5' AS DECIMAL));
        INSERT INTO Database.goods (name, id) VALUES (NULL, InputRoot.XMLNSC.order.line[3].item);
        INSERT INTO Database.goods VALUES (6, InputRoot.XMLNSC.order.none, 1);"""
    )

    assert rows(databases)[3:] == [
        (4, "SOfa", Decimal("12.50")),
        (6, None, Decimal("1.00")),
        (9, None, None),
    ]


def test_update_computes_with_columns_and_values_of_the_message(run, databases):
    run(
        """UPDATE Database.goods AS G SET price = G.price * 2 + InputRoot.XMLNSC.order.line.count,
          name = UPPER(G.name) || '!' WHERE G.id = CAST(InputRoot.XMLNSC.order.line.item AS INTEGER);"""
    )

    assert rows(databases)[0] == (1, "CHAIR!", Decimal("82.00"))


def test_update_to_null_and_where_is_null(run, databases):
    run(
        """UPDATE Database.goods AS G SET name = NULL WHERE G.price IS NULL;
        UPDATE Database.goods AS G SET price = NULL WHERE G.name LIKE 't%' AND G.id IN (2, 3);"""
    )

    assert rows(databases) == [(1, "chair", Decimal("40.00")), (2, "table", None), (3, None, None)]


@pytest.mark.parametrize(
    ("where", "left"),
    [
        ("", []),
        ("WHERE G.id BETWEEN 2 AND 3", [1]),
        ("WHERE NOT (G.id = 1)", [1]),
        ("WHERE G.price > 50 OR G.price IS NULL", [1]),
        ("WHERE G.name = InputRoot.XMLNSC.order.none", [1, 2, 3]),
        ("WHERE COALESCE(G.price, 0) = 0", [1, 2]),
        ("WHERE LENGTH(G.name) = 4", [1, 2]),
        ("WHERE G.name NOT LIKE 'c!%%' ESCAPE '!' AND 3 IN (G.id, 7)", [1, 2]),
        ("WHERE G.id = 1 AND G.name = 'chair'", [2, 3]),
    ],
)
def test_delete_removes_the_rows_for_which_where_is_true(run, databases, where, left):
    run(f"DELETE FROM Database.goods AS G {where};")

    assert [row[0] for row in rows(databases)] == left


def test_select_makes_a_row_of_each_row_and_no_fields_of_nulls(run):
    environment = run("SET Environment.r[] = SELECT G.name, G.price AS cost FROM Database.goods AS G WHERE G.id > 1;")

    assert shown(environment) == [[("name", "table"), ("cost", Decimal("99.50"))], [("name", "lamp")]]


def test_select_everything_of_a_table(run):
    environment = run("SET Environment.r[] = SELECT * FROM Database.goods AS G WHERE G.id <> 2;")

    assert shown(environment) == [
        [("id", 1), ("name", "chair"), ("price", Decimal("40.00"))],
        [("id", 3), ("name", "lamp")],
    ]


def test_select_joins_tables_in_the_database(run):
    environment = run(
        """SET Environment.r[] = SELECT G.name, P.shelf FROM Database.goods AS G, Database.places AS P
          WHERE G.id = P.id AND P.shelf <> 'A2';"""
    )

    assert shown(environment) == [[("name", "chair"), ("shelf", "A1")], [("name", "lamp"), ("shelf", "B7")]]


def test_select_everything_of_several_tables_has_the_columns_of_each_in_order(run):
    environment = run(
        """SET Environment.r[] = SELECT * FROM Database.goods AS G, Database.places AS P
          WHERE G.id = P.id AND G.id = 3;"""
    )

    assert shown(environment) == [[("id", 3), ("name", "lamp"), ("id", 3), ("shelf", "B7")]]


def test_select_a_whole_row_of_one_of_several_tables(run):
    environment = run(
        """SET Environment.r[] = SELECT P AS place, G.name FROM Database.goods AS G, Database.places AS P
          WHERE G.id = P.id AND G.id = 3;"""
    )

    (row,) = environment.all("r")
    assert [(field.name, field.value) for field in row.first("place").children] == [("id", 3), ("shelf", "B7")]
    assert row.first("name").value == "lamp"


def test_select_joins_tables_with_lists_of_the_message(run):
    environment = run(
        """SET Environment.r[] = SELECT L.item AS item, G.name AS name
          FROM Database.goods AS G, InputRoot.XMLNSC.order.line[] AS L
          WHERE G.id = CAST(L.item AS INTEGER) AND G.id < 100;"""
    )

    assert shown(environment) == [[("item", "1"), ("name", "chair")], [("item", "3"), ("name", "lamp")]]


def test_select_inside_a_select_looks_up_each_row_of_the_message(run):
    environment = run(
        """SET Environment.r[] = SELECT L.item AS item,
            THE(SELECT ITEM G.name FROM Database.goods AS G WHERE G.id = CAST(L.item AS INTEGER)) AS name
          FROM InputRoot.XMLNSC.order.line[] AS L;"""
    )

    assert shown(environment) == [
        [("item", "1"), ("name", "chair")],
        [("item", "3"), ("name", "lamp")],
        [("item", "9")],
    ]


@pytest.mark.parametrize(
    ("select", "result"),
    [
        ("THE(SELECT ITEM G.name FROM Database.goods AS G WHERE G.id = 2)", "table"),
        ("THE(SELECT ITEM G.name FROM Database.goods AS G WHERE G.id = 77)", None),
        ("SELECT COUNT(*) FROM Database.goods AS G", 3),
        ("SELECT COUNT(G.price) FROM Database.goods AS G", 2),
        ("SELECT SUM(G.price) FROM Database.goods AS G", Decimal("139.50")),
        ("SELECT MAX(G.id) FROM Database.goods AS G WHERE G.id < 3", 2),
        ("SELECT MIN(G.price) FROM Database.goods AS G WHERE G.id > 3", None),
        ("EXISTS(SELECT G.id FROM Database.goods AS G WHERE G.name = 'lamp')", True),
        ("2 IN (SELECT G.id FROM Database.goods AS G)", True),
        ("CARDINALITY(SELECT G.id FROM Database.goods AS G)", 3),
    ],
)
def test_select_where_a_value_is_needed(run, select, result):
    assert run(f"SET Environment.r VALUE = {select};").first("r").value == result


def test_a_table_may_have_a_computed_name(run, databases):
    run("DECLARE name CHARACTER 'places'; DELETE FROM Database.{name} AS T WHERE T.id = 1;")

    assert rows(databases, "places") == [(3, "B7")]


def test_tables_and_columns_may_have_names_that_are_words_of_sql(run, databases):
    databases.execute("stock", 'DROP TABLE IF EXISTS "order"', ())
    databases.execute("stock", 'CREATE TABLE "order" ("group" INTEGER, "user" VARCHAR(9))', ())
    environment = run(
        """INSERT INTO Database."order" ("group", "user") VALUES (1, 'me');
        UPDATE Database."order" AS "table" SET "user" = 'you' WHERE "table"."group" = 1;
        SET Environment.r[] = SELECT "select"."user" FROM Database."order" AS "select" WHERE "select"."group" < 5;"""
    )

    assert shown(environment) == [[("user", "you")]]


def test_passthru_spreads_its_values_over_the_markers(run):
    environment = run(
        """SET Environment.r[] = PASSTHRU('SELECT name FROM goods WHERE id = ? OR name = ? ORDER BY id'
          VALUES (1, 'lamp'));
        SET Environment.t[] = PASSTHRU('SELECT name FROM goods WHERE id IN (?, ?) ORDER BY id' VALUES (LIST{2, 3}));"""
    )

    assert shown(environment) == [[("name", "chair")], [("name", "lamp")]]
    assert shown(environment, "t") == [[("name", "table")], [("name", "lamp")]]


def test_passthru_as_a_statement_to_a_named_source(run, databases):
    run(
        "PASSTHRU 'UPDATE goods SET name = ? WHERE id = ?' TO Database.stock VALUES (NULL, 1);",
        data_source="elsewhere",
    )

    assert rows(databases)[0][1] is None


def test_an_error_is_an_exception_with_the_statement_and_the_databases_reason(run):
    with pytest.raises(StatementError, match=r"^stock.esql:1: in Main: INSERT INTO Database.none VALUES \(1\): .*none"):
        run("INSERT INTO Database.none VALUES (1);")


def test_without_throwing_the_program_looks_at_sqlcode_itself(run):
    environment = run(
        """INSERT INTO Database.goods (id, missing) VALUES (1, 2);
        SET Environment.code = SQLCODE <> 0;
        SET Environment.state = SQLSTATE;
        SET Environment.text = SQLERRORTEXT;
        SET Environment.native = SQLNATIVEERROR;
        ROLLBACK;
        SET Environment.r[] = SELECT G.id FROM Database.goods AS G;
        SET Environment.after = SQLCODE;""",
        throw_database_errors=False,
    )

    assert environment.first("code").value is True
    assert environment.first("state").value in ("42S22", "42703")
    assert "missing" in environment.first("text").value
    assert (len(environment.all("r")), environment.first("after").value) == (3, 0)


def test_without_throwing_a_select_that_fails_is_empty(run):
    environment = run("SET Environment.r[] = SELECT X.a FROM Database.none AS X;", throw_database_errors=False)

    assert environment.all("r") == []


def test_a_handler_takes_errors_of_the_database_by_their_state(run, databases):
    databases.execute("stock", "CREATE UNIQUE INDEX IF NOT EXISTS goods_id ON goods (id)", ())
    databases.commit_all()
    environment = run(
        """BEGIN
          DECLARE EXIT HANDLER FOR SQLSTATE LIKE 'D23%' BEGIN
            SET Environment.state = SQLSTATE; SET Environment.text = SQLERRORTEXT;
          END;
          INSERT INTO Database.goods (id) VALUES (1);
          SET Environment.never = 1;
        END;"""
    )

    assert environment.first("state").value.startswith("D23")
    assert environment.first("never") is None


def test_an_exception_of_the_database_is_the_reason_of_the_statements_error(run):
    with pytest.raises(StatementError) as caught:
        run("DELETE FROM Database.none;")
    assert isinstance(caught.value.reason, DatabaseError)


@pytest.mark.parametrize(
    ("kind", "literal", "value"),
    [
        ("BIGINT", "9223372036854775807", 2**63 - 1),
        ("DOUBLE PRECISION", "1.5", 1.5),
        ("NUMERIC(15, 3)", "DECIMAL '12345678901.125'", Decimal("12345678901.125")),
        ("VARCHAR(99)", "'grün ''x'''", "grün 'x'"),
        ("DATE", "DATE '2004-02-29'", date(2004, 2, 29)),
        ("TIMESTAMP", "TIMESTAMP '2004-02-29 23:59:58.123456'", datetime(2004, 2, 29, 23, 59, 58, 123456)),
        ("BOOLEAN", "TRUE", True),
    ],
)
def test_values_come_back_from_a_column_as_they_were(run, databases, kind, literal, value):
    databases.execute("stock", "DROP TABLE IF EXISTS kinds", ())
    databases.execute("stock", f"CREATE TABLE kinds (v {kind})", ())
    found = run(
        f"""INSERT INTO Database.kinds VALUES ({literal});
        SET Environment.r = THE(SELECT ITEM K.v FROM Database.kinds AS K);"""
    )

    assert (type(found.first("r").value), found.first("r").value) == (type(value), value)


ROUTINES = """
CREATE OR REPLACE FUNCTION twice(n INTEGER) RETURNS INTEGER LANGUAGE sql AS 'SELECT n * 2';
CREATE OR REPLACE PROCEDURE raise_price(INOUT price NUMERIC, IN by_ NUMERIC) LANGUAGE plpgsql AS
    $$ BEGIN price := price + by_; END $$;
CREATE OR REPLACE FUNCTION numbers(n INTEGER) RETURNS TABLE (i INTEGER) LANGUAGE sql AS 'SELECT generate_series(1, n)';
"""


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_stored_routines_are_called_like_routines(run, databases):
    databases.committing.execute("stock", ROUTINES, ())
    environment = run(
        """CREATE FUNCTION twice(IN n INTEGER) RETURNS INTEGER LANGUAGE DATABASE EXTERNAL NAME "public.twice";
        CREATE PROCEDURE raise(INOUT price DECIMAL, IN more DECIMAL) LANGUAGE DATABASE EXTERNAL NAME "raise_price";
        CREATE PROCEDURE numbers(IN n INTEGER) LANGUAGE DATABASE DYNAMIC RESULT SETS 1 EXTERNAL NAME "numbers";
        CREATE COMPUTE MODULE M
          CREATE FUNCTION Main() RETURNS BOOLEAN
          BEGIN
            DECLARE price DECIMAL 1.5;
            SET Environment.twice = twice(21) + 1;
            CALL twice(4) INTO Environment.again;
            CALL raise(price, 0.25);
            SET Environment.price = price;
            CALL numbers(3, Environment.r[]);
            RETURN TRUE;
          END;
        END MODULE;"""
    )

    assert [environment.first(name).value for name in ("twice", "again", "price")] == [43, 8, Decimal("1.75")]
    assert shown(environment) == [[("i", 1)], [("i", 2)], [("i", 3)]]

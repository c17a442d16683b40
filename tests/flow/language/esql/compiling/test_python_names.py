"""Names of a program never meet names of the Python that is made of it."""

import keyword

import pytest

from heliograph.flow.language.esql.compiling.path_compiling import ROOTS
from heliograph.flow.language.esql.compiling.python_names import MODULE_OF
from heliograph.flow.language.values.types import Type

_PYTHON = [*keyword.kwlist, "match", "len", "bool", "list", "type", "print", "Exception", "__import__", "self"]
_GENERATED = """ev own run start evaluated expression rows row values value f made found error state resume outcome
    select quantified result one left right subject Body Properties LEAVE_again ITERATE_again STEP_ANY FIELDS
    SURROUNDINGS run_statements Main _Main _BLOB BITS CONSTANT call_f"""
NAMES = sorted(
    {
        *_PYTHON,
        *_GENERATED.split(),
        *sorted(MODULE_OF)[::3],
        *(python for python, _ in ROOTS.values() if python not in ("Environment", "InputRoot")),  # used below
        *(kind.name for kind in Type),
    }
)

PROGRAM = """
CREATE COMPUTE MODULE "<name>"
  DECLARE "m<name>" INTEGER 7;
  DECLARE "s<name>" SHARED INTEGER 8;
  CREATE FUNCTION "f<name>"(IN "<name>" INTEGER, OUT "o<name>" INTEGER) RETURNS INTEGER
  BEGIN
    SET "o<name>" = "<name>" * 2;
    RETURN "<name>" + 1;
  END;
  CREATE FUNCTION Main() RETURNS BOOLEAN
  BEGIN
    DECLARE i INTEGER 0;
    WHILE i < 2 DO
      SET i = i + 1;
      SET Environment."<name>".Seen[i] = InputRoot.XML.a."<name>"
        || COALESCE(InputRoot.XML.a.none, CAST(i AS CHARACTER));
    END WHILE;
    DECLARE "<name>" CHARACTER 'mine';
    SET Environment."<name>".Own = "<name>" || InputRoot.XML.a."<name>";
    SET Environment."<name>".Blob = CAST(CAST('x' AS BLOB CCSID 1208) AS CHARACTER CCSID 1208);
    SET Environment."<name>".Rows[] = SELECT "<name>"."<name>" AS "<name>" FROM InputRoot.XML.a[] AS "<name>"
      WHERE "<name>"."<name>" LIKE 'v%' OR FOR ANY "<name>"."<name>"[] AS "<name>" ("<name>" IS NULL);
    DECLARE "o<name>", back INTEGER;
    SET back = "f<name>"(20, "o<name>");
    SET Environment."<name>".Back = back + "o<name>" + "m<name>" + "s<name>";
    SET Environment."<name>".Eval = EVAL('"<name>" || InputRoot.XML.a."<name>"');
    again: LOOP
      BEGIN
        DECLARE EXIT HANDLER FOR SQLSTATE LIKE 'U%' BEGIN LEAVE again; END;
        DECLARE "<name>" REFERENCE TO InputRoot.XML.a;
        SET Environment."<name>".Inner = "<name>"."<name>";
        THROW USER EXCEPTION;
      END;
    END LOOP again;
    RETURN "<name>" = 'mine' AND SQLSTATE = 'U02951';
  END;
END MODULE;
"""


@pytest.mark.parametrize("name", NAMES)
def test_a_name_of_the_program_may_be_any_name_that_python_or_the_run_time_has(run, name):
    outcome = run(PROGRAM.replace("<name>", name), f"<a><{name}>v</{name}></a>")

    found = outcome.evaluation.environment.first(name)
    assert found is not None
    assert [child.value for child in found.all("Seen")] == ["v1", "v2"]
    assert {child.name: child.value for child in found.children[2:] if child.name != "Rows"} == {
        "Own": "minev",
        "Blob": "x",
        "Back": 21 + 40 + 7 + 8,
        "Eval": "minev",
        "Inner": "v",
    }
    assert [(field.name, field.value) for row in found.all("Rows") for field in row.children] == [(name, "v")]
    assert outcome.result is True


@pytest.mark.parametrize("kind", [kind.name for kind in Type if kind.name not in ("NULL", "LIST", "ROW")])
def test_a_field_named_like_a_type_does_not_hide_the_type_of_a_cast(run, kind):
    run(f"SET OutputRoot.XML.{kind}.{kind} = CAST(NULL AS {kind}); SET Environment.{kind}.{kind}.x = 1;")


def test_the_body_of_a_blob_message_can_be_set_by_a_cast_to_blob(run):
    outcome = run("SET OutputRoot.BLOB.BLOB = CAST('grüße' AS BLOB CCSID 1208);")

    assert outcome.xml == "grüße"


def test_a_variable_does_not_meet_what_a_loop_above_used_for_a_moment(run):
    outcome = run(
        """DECLARE i INTEGER 0;
        SET Environment.x.y = 0;
        WHILE i < 2 DO
          SET i = i + 1;
          SET Environment.z = UPPER(InputRoot.XML.a);
          DELETE FIELD Environment.x;
        END WHILE;
        DECLARE f CHARACTER 'kept';
        SET Environment.z = LOWER(InputRoot.XML.a);
        SET Environment.f = f;""",
        "<a>b</a>",
    )

    assert outcome.value("f") == "kept"

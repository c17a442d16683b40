"""Test cases of flow developers: what passes, and how a difference is told."""

from pathlib import Path

import pytest

from heliograph.errors import Problem
from heliograph.flow.errors import DefinitionProblem
from heliograph.flow.testing import CaseReport, run_tests
from heliograph.flow.testing.flow_under_test import statements
from small_flows import write_flow

FLOW = """flow: test
parameters: {queue: OUT}
nodes:
  in: {type: QueueInput, queue: Q, domain: XMLNSC}
  store: {type: Database, esql: store.esql, data_source: SHOP}
  work: {type: Compute, esql: work.esql}
  show: {type: Trace, pattern: "${FIELDVALUE(Body.Order.Id)}"}
  out: {type: QueueOutput, queue: $(queue)}
connections:
  - in.out -> store
  - store.out -> work
  - work.out -> show
  - show.out -> out
data_sources: {SHOP: null}
"""
STORE = """CREATE DATABASE MODULE Store
  CREATE FUNCTION Main() RETURNS BOOLEAN
  BEGIN
    UPDATE Database.STOCK AS S SET LEFT_OVER = S.LEFT_OVER - 1 WHERE S.ID = Body.Order.Id;
    RETURN TRUE;
  END;
END MODULE;
"""
WORK = """CREATE COMPUTE MODULE Work
  CREATE FUNCTION Main() RETURNS BOOLEAN
  BEGIN
    SET OutputRoot = InputRoot;
    SET OutputRoot.XMLNSC.Order.Done = CAST(CURRENT_DATE AS CHARACTER FORMAT 'yyyy-MM-dd');
    SET OutputRoot.XMLNSC.Order.Half = 10 / CAST(InputBody.Order.Id AS INTEGER);
    RETURN TRUE;
  END;
END MODULE;
"""
HEAD = """
now: 2026-11-16T12:00:00
database: {SHOP: {tables: {STOCK: [{ID: '2', LEFT_OVER: 7}]}}}
input: <Order><Id>2</Id></Order>
"""
GOOD = "<Order><Id>2</Id><Done>2026-11-16</Done><Half>5</Half></Order>"


def run(folder: Path, case: str, **files: str) -> CaseReport:
    write_flow(folder, FLOW, store__esql=STORE, work__esql=WORK, tests___case__yaml=case, **files)
    return run_tests(folder)


def differences(folder: Path, case: str, **files: str) -> list[str]:
    (result,) = run(folder, case, **files).results
    return list(result.differences)


@pytest.mark.parametrize(
    "expect",
    [
        f"queues: {{OUT: '{GOOD}'}}",
        f"queues: {{OUT: {{body: '{GOOD}'}}}}",
        "queues: {OUT: {file: good.xml, as: tree}}",
        "queues: {OUT: {file: other.xml, as: tree, ignore: [Order.Done]}}",
        "queues: {OUT: {fields: {Order.Id: 2, Order.Half: '5', Order.Nothing: null}}}",
        f"queues: {{OUT: '{GOOD}'}}, trace: '2'",
        f"queues: {{OUT: '{GOOD}'}}, database: {{SHOP: {{STOCK: [{{ID: '2', LEFT_OVER: 6}}]}}}}",
        "queues: {OUT: {persistent: false, priority: 0}}",
    ],
    ids=["text", "body", "file as tree", "ignored field", "fields", "trace", "database", "envelope"],
)
def test_what_came_as_expected_passes(tmp_path: Path, expect: str) -> None:
    files = {
        "tests___good__xml": "<Order>\n  <Id>2</Id>\n  <Done>2026-11-16</Done><Half>5</Half>\n</Order>\n",
        "tests___other__xml": "<Order><Id>2</Id><Done>whenever</Done><Half>5</Half></Order>",
    }
    assert differences(tmp_path, f"{HEAD}expect: {{{expect}}}\n", **files) == []


def test_a_body_that_differs_is_shown_line_by_line(tmp_path: Path) -> None:
    wrong = GOOD.replace("<Half>5", "<Half>6")
    picture = """--- expected
+++ found
@@ -2,4 +2,4 @@
 <Id>2</Id>
 <Done>2026-11-16</Done>
-<Half>6</Half>
+<Half>5</Half>
 </Order>"""
    found = differences(tmp_path, f"{HEAD}expect:\n  queues:\n    OUT: {wrong}\n")
    assert found == [f"tests/case.yaml:7:5: queue OUT: the body differs\n{picture}"]


def test_trees_that_differ_are_told_field_by_field(tmp_path: Path) -> None:
    wanted = "<Order><Id>3</Id><Half>5</Half><Line>a</Line><Line>b</Line></Order>"
    case = f"{HEAD}expect: {{queues: {{OUT: {{body: '{wanted}', as: tree}}}}}}\n"
    assert differences(tmp_path, case) == [
        "tests/case.yaml:5:19: queue OUT: Order.Id: expected '3', found '2'",
        "tests/case.yaml:5:19: queue OUT: Order.Done: not expected, found '2026-11-16'",
        "tests/case.yaml:5:19: queue OUT: Order.Line[1]: expected 'a', but it is missing",
        "tests/case.yaml:5:19: queue OUT: Order.Line[2]: expected 'b', but it is missing",
    ]


@pytest.mark.parametrize(
    ("expect", "expected"),
    [
        ("{}", "tests/case.yaml:5:1: queue OUT: 1 message not expected\n  b'<Order>"),
        (f"{{queues: {{OUT: ['{GOOD}', x]}}}}", "tests/case.yaml:5:25: queue OUT: expected 2 messages, found 1"),
        (f"{{queues: {{OUT: '{GOOD}', B: x}}}}", "queue B: expected 1 message, found 0"),
        (f"{{queues: {{OUT: '{GOOD}'}}, topics: {{t: x}}}}", "topic t: expected 1 message, found 0"),
        (
            f"{{queues: {{OUT: '{GOOD}'}}, trace: '3'}}",
            "the trace differs\n--- expected\n+++ found\n@@ -1 +1 @@\n-3\n+2",
        ),
        (f"{{queues: {{OUT: '{GOOD}'}}, error: bad}}", "expected an error with 'bad', but no message failed"),
        ("{queues: {OUT: {fields: {Order.Id: 3}}}}", "queue OUT: Order.Id: expected '3', found '2'"),
        ("{queues: {OUT: {persistent: true}}}", "queue OUT: persistent: expected True, found False"),
        (
            f"{{queues: {{OUT: '{GOOD}'}}, database: {{SHOP: {{STOCK: [{{ID: '2', LEFT_OVER: 7}}]}}}}}}",
            "the rows differ\n--- expected\n+++ found\n@@ -1 +1 @@\n-ID: '2', LEFT_OVER: 7\n+ID: '2', LEFT_OVER: 6",
        ),
    ],
    ids=["unexpected queue", "too few", "missing queue", "topic", "trace", "error", "field", "envelope", "rows"],
)
def test_a_difference_is_told_with_the_place_of_what_was_expected(tmp_path: Path, expect: str, expected: str) -> None:
    (difference,) = differences(tmp_path, f"{HEAD}expect: {expect}\n")
    assert expected in difference


def test_bytes_that_are_no_text_are_shown_in_hexadecimal(tmp_path: Path) -> None:
    from heliograph.flow.testing.comparing import body_difference

    shown = body_difference(bytes(40), bytes(20) + b"\x01A" + bytes(18))
    assert shown.splitlines() == [
        "lengths 40 and 40; the first difference is at offset 20",
        "- 000000  " + "00 " * 16 + " " + "." * 16,
        "+ 000000  " + "00 " * 16 + " " + "." * 16,
        "- 000010  " + "00 " * 16 + " " + "." * 16,
        "+ 000010  " + "00 " * 4 + "01 41 " + "00 " * 10 + " .....A" + "." * 10,
        "- 000020  " + "00 " * 8 + "   " * 8 + " " + "." * 8,
        "+ 000020  " + "00 " * 8 + "   " * 8 + " " + "." * 8,
    ]


BAD = HEAD.replace("<Id>2<", "<Id>0<")


def test_an_error_can_be_expected(tmp_path: Path) -> None:
    assert differences(tmp_path, f"{BAD}expect: {{error: divide by zero}}\n") == []


def test_another_error_than_expected_is_told_with_the_exceptions(tmp_path: Path) -> None:
    (difference,) = differences(tmp_path, f"{BAD}expect: {{error: too late}}\n")
    assert difference.startswith("tests/case.yaml:5:10: expected an error with 'too late', found\n")
    assert "2450" in difference


def test_a_message_that_fails_unexpectedly_is_told_with_the_exceptions(tmp_path: Path) -> None:
    (difference,) = differences(tmp_path, f"{BAD}expect: {{}}\n")
    assert "a message failed (dead letter)" in difference
    assert "work.esql:6: in Work.Main" in difference


def test_what_a_failed_message_did_to_a_database_is_undone(tmp_path: Path) -> None:
    case = f"{BAD}expect: {{error: zero, database: {{SHOP: {{STOCK: [{{ID: '0', LEFT_OVER: 7}}]}}}}}}\n"
    assert differences(tmp_path, case.replace("ID: '2'", "ID: '0'")) == []


def test_several_cases_in_a_file_and_several_messages_in_a_case(tmp_path: Path) -> None:
    case = """
cases:
  two messages:
    parameters: {queue: B}
    database: {SHOP: {tables: {STOCK: [{ID: '2', LEFT_OVER: 7}]}}}
    input:
      - {body: <Order><Id>2</Id></Order>, priority: 4}
      - file: order.xml
    expect: {queues: {B: [{priority: 4}, {fields: {Order.Id: 5}}]}}
  a wait:
    database: {SHOP: {sql: 'CREATE TABLE STOCK (ID VARCHAR, LEFT_OVER INTEGER)'}}
    input: [{wait: 60}, <Order><Id>1</Id></Order>]
    expect: {queues: {OUT: {fields: {Order.Half: 10}}}}
  fails:
    input: <Order/>
    expect: {}
"""
    report = run(tmp_path, case, tests___order__xml="<Order><Id>5</Id></Order>")
    assert [(result.name, result.passed) for result in report.results] == [
        ("case: two messages", True),
        ("case: a wait", True),
        ("case: fails", False),
    ]
    lines = report.text().splitlines()
    assert lines[0].startswith("ok    case: two messages  (")
    assert lines[2].startswith("FAIL  case: fails  (")
    assert lines[-1] == "2 passed, 1 failed"
    assert not report.passed


def test_cases_can_be_chosen_by_name(tmp_path: Path) -> None:
    write_flow(tmp_path, FLOW, store__esql=STORE, work__esql=WORK)
    for name in ("one", "two"):
        (tmp_path / "tests").mkdir(exist_ok=True)
        (tmp_path / "tests" / f"{name}.yaml").write_text(f"{HEAD}expect: {{queues: {{OUT: {{priority: 0}}}}}}\n")
    assert [result.name for result in run_tests(tmp_path, ["tw"]).results] == ["two"]
    with pytest.raises(Problem, match="no test case has three in its name"):
        run_tests(tmp_path, ["three"])


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ("expect: {}", "tests/case.yaml:1:1: the case sends nothing: it needs input"),
        ("input: m", "tests/case.yaml:1:1: the case expects nothing: it needs expect"),
        ("input: m\nexpect: {queus: {}}", "tests/case.yaml:2:10: there is no queus here (did you mean queues?)"),
        ("input: {boddy: m}\nexpect: {}", "tests/case.yaml:1:9: there is no boddy here (did you mean body?)"),
        ("input: {file: m.xml}\nexpect: {}", "tests/case.yaml:1:9: there is no file m.xml beside the case"),
        ("input: {hex: 0g}\nexpect: {}", "tests/case.yaml:1:9: expected pairs of hexadecimal digits, found '0g'"),
        ("input: m\nnow: later\nexpect: {}", "tests/case.yaml:2:1: expected a time such as"),
        ("input: m\nexpect: {queues: {A: {as: treee}}}", "expected bytes or tree, found 'treee'"),
        ("input: {body: m, message_id: 0x0a}\nexpect: {}", "expected a text, or pairs of hexadecimal digits behind 0x"),
        ("input: m\ndatabase: {S: {tables: {T: 5}}}\nexpect: {}", "expected a list of rows {COLUMN: value}, found 5"),
    ],
)
def test_mistakes_in_a_case(tmp_path: Path, case: str, expected: str) -> None:
    with pytest.raises(DefinitionProblem) as caught:
        run(tmp_path, case)
    assert expected in str(caught.value)


def test_a_folder_without_cases(tmp_path: Path) -> None:
    with pytest.raises(Problem, match="there are no test cases"):
        run_tests(write_flow(tmp_path, FLOW, store__esql=STORE, work__esql=WORK))


PRICES = (
    "CREATE TABLE STOCK (ID VARCHAR, LEFT_OVER DECIMAL(5,2), SEEN DATE);"
    "INSERT INTO STOCK VALUES ('2', 7.25, '2026-01-31')"
)


def test_rows_are_compared_by_what_a_case_can_say(tmp_path):
    head = HEAD.replace("tables: {STOCK: [{ID: '2', LEFT_OVER: 7}]}", f'sql: "{PRICES}"')
    rows = "{SHOP: {STOCK: [{ID: '2', LEFT_OVER: 6.25, SEEN: 2026-01-31}]}}"
    assert differences(tmp_path, f"{head}expect: {{queues: {{OUT: {GOOD}}}, database: {rows}}}") == []


def test_rows_that_differ_are_shown_as_a_case_says_them(tmp_path):
    head = HEAD.replace("tables: {STOCK: [{ID: '2', LEFT_OVER: 7}]}", f'sql: "{PRICES}"')
    rows = "{SHOP: {STOCK: [{ID: '2', LEFT_OVER: 7.25, SEEN: 2026-01-31}]}}"
    (told,) = differences(tmp_path, f"{head}expect: {{queues: {{OUT: {GOOD}}}, database: {rows}}}")
    assert "+ID: '2', LEFT_OVER: 6.25, SEEN: '2026-01-31'" in told


def test_sql_can_be_a_file(tmp_path):
    head = HEAD.replace("tables: {STOCK: [{ID: '2', LEFT_OVER: 7}]}", "sql: {file: ../stock.sql}")
    assert differences(tmp_path, f"{head}expect: {{queues: {{OUT: {GOOD}}}}}", stock__sql=PRICES) == []


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("A; B;\n", ["A", " B"]),
        ("A 'x;y'; B", ["A 'x;y'", " B"]),
        ('A "x;y"; B', ['A "x;y"', " B"]),
        ("A 'it''s; so'; B", ["A 'it''s; so'", " B"]),
        ("A -- one; two\n; B /* three; four */ C", ["A -- one; two\n", " B /* three; four */ C"]),
        (
            "CREATE TRIGGER t AFTER INSERT ON s BEGIN DELETE FROM r; DELETE FROM q; END; B",
            ["CREATE TRIGGER t AFTER INSERT ON s BEGIN DELETE FROM r; DELETE FROM q; END", " B"],
        ),
        ("A;; -- done; really\n /* all; */ ;", ["A"]),
        ("", []),
    ],
    ids=["plain", "string", "name", "doubled quote", "comments", "trigger", "nothing but comments", "empty"],
)
def test_statements_of_sql_end_at_semicolons_that_are_no_text(sql: str, expected: list[str]) -> None:
    assert list(statements(sql)) == expected


def test_sql_of_a_case_can_have_semicolons_in_strings(tmp_path):
    sql = PRICES + "; INSERT INTO STOCK VALUES ('a;b', 3, NULL) -- not; two"
    head = HEAD.replace("tables: {STOCK: [{ID: '2', LEFT_OVER: 7}]}", "sql: {file: ../stock.sql}")
    assert differences(tmp_path, f"{head}expect: {{queues: {{OUT: {GOOD}}}}}", stock__sql=sql) == []


def test_a_file_of_sql_that_is_not_there_is_told(tmp_path):
    head = HEAD.replace("tables: {STOCK: [{ID: '2', LEFT_OVER: 7}]}", "sql: {file: stock.sql}")
    with pytest.raises(DefinitionProblem, match=r"there is no file stock\.sql beside the case"):
        run(tmp_path, f"{head}expect: {{}}")


ECHO = """nodes:
  in: {type: QueueInput, queue: Q}
  out: {type: QueueOutput, queue: OUT}
connections: [in.out -> out]
"""


def test_a_line_end_in_quotes_is_part_of_the_body(tmp_path):
    case = 'input: "a\\r\\n"\nexpect: {queues: {OUT: {hex: 610d0a}}}\n'
    assert run_tests(write_flow(tmp_path, ECHO, tests___case__yaml=case)).passed


def test_the_line_end_of_a_block_is_not(tmp_path):
    case = "input: |\n  a\nexpect: {queues: {OUT: {hex: '61'}}}\n"
    assert run_tests(write_flow(tmp_path, ECHO, tests___case__yaml=case)).passed


CATCHING = """flow: test
nodes:
  in: {type: QueueInput, queue: Q, domain: XMLNSC}
  work: {type: Compute, esql: work.esql}
  out: {type: QueueOutput, queue: OUT}
  failed: {type: QueueOutput, queue: FAILED}
connections:
  - in.out -> work
  - work.out -> out
  - WAY -> failed
"""


@pytest.mark.parametrize("way", ["in.catch", "work.failure"])
def test_a_case_that_fails_shows_the_exception_that_the_flow_has_handled(tmp_path: Path, way: str) -> None:
    case = "input: <Order><Id>0</Id></Order>\nexpect: {queues: {OUT: [{body: x}]}}\n"
    flow = CATCHING.replace("WAY", way)
    write_flow(tmp_path, flow, work__esql=WORK, tests___case__yaml=case)
    text = run_tests(tmp_path).text()
    assert "tests/case.yaml:1:1: the flow handled an exception" in text
    assert "SET OutputRoot.XMLNSC.Order.Half = 10 / CAST(InputBody.Order.Id AS INTEGER)" in text


def test_a_case_that_passes_says_nothing_of_handled_exceptions(tmp_path: Path) -> None:
    case = "input: <Order><Id>0</Id></Order>\nexpect: {queues: {FAILED: [{body: <Order><Id>0</Id></Order>}]}}\n"
    write_flow(tmp_path, CATCHING.replace("WAY", "in.catch"), work__esql=WORK, tests___case__yaml=case)
    assert run_tests(tmp_path).passed

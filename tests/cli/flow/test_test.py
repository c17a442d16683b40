"""`helio flow test`: cases run, differences are clear, and what comes out can become what is expected."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from cli.queue_server import helio
from small_flows import write_flow

FLOW = """
flow: test
data_sources: {D: }
nodes:
  in: {type: QueueInput, queue: Q, domain: XMLNSC}
  work: {type: Compute, esql: work.esql, data_source: D}
  out: {type: QueueOutput, queue: R}
connections:
  - in.out -> work
  - work.out -> out
"""
ESQL = """
CREATE COMPUTE MODULE Work
  CREATE FUNCTION Main() RETURNS BOOLEAN
  BEGIN
    SET OutputRoot = InputRoot;
    SET OutputRoot.XMLNSC.a.twice = CAST(InputBody.a.n AS INTEGER) * 2;
    RETURN TRUE;
  END;
END MODULE;
"""
CASES = """\
# What this flow is for.
cases:
  one:
    input: <a><n>1</n></a>
    expect:
      queues: {R: <a><n>1</n><twice>2</twice></a>}

  # Between two cases.
  two:
    input: <a><n>2</n></a>
    expect:
      queues:
        R: EXPECTED
"""


def flow(folder: Path, expected: str, **files: str) -> Path:
    return write_flow(folder, FLOW, work__esql=ESQL, tests___all__yaml=CASES.replace("EXPECTED", expected), **files)


def case(folder: Path, expect: str, given: str = "<a><n>2</n></a>", esql: str = ESQL, **files: str) -> Path:
    """The folder of a flow with one case, c.yaml."""
    text = f"input: {given}\nexpect: {expect}\n"
    return write_flow(folder, FLOW, work__esql=esql, tests___c__yaml=text, **files)


RIGHT = "<a><n>2</n><twice>4</twice></a>"
WRONG = "<a><n>2</n><twice>5</twice></a>"


def test_cases_pass(tmp_path: Path) -> None:
    status, out, err = helio("flow", "test", str(flow(tmp_path, RIGHT)))
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert [line.split("  (")[0] for line in lines] == ["ok    all: one", "ok    all: two", "2 passed, 0 failed"]


def test_a_difference_is_shown_and_the_exit_status_is_1(tmp_path: Path) -> None:
    status, out, err = helio("flow", "test", str(flow(tmp_path, WRONG)))
    assert (status, err) == (1, "")
    assert "FAIL  all: two" in out
    assert "tests/all.yaml:13:9: queue R: the body differs" in out
    assert "      -<twice>5</twice>\n      +<twice>4</twice>\n" in out
    assert out.endswith("1 passed, 1 failed\n")


def test_cases_can_be_chosen(tmp_path: Path) -> None:
    status, out, _ = helio("flow", "test", str(flow(tmp_path, WRONG)), "one")
    assert (status, out.splitlines()[-1]) == (0, "1 passed, 0 failed")


def test_a_choice_that_nothing_fits_is_told(tmp_path: Path) -> None:
    status, _, err = helio("flow", "test", str(flow(tmp_path, WRONG)), "three")
    assert (status, "no test case has three in its name" in err) == (1, True)


def test_mistakes_in_a_case_are_shown_with_their_lines(tmp_path: Path) -> None:
    folder = write_flow(tmp_path, FLOW, work__esql=ESQL, tests___c__yaml="inptu: x\nexpect: {}\n")
    status, out, err = helio("flow", "test", str(folder))
    assert (status, out) == (1, "")
    assert f"{tmp_path}/tests/c.yaml:1:1: there is no inptu here (did you mean input?)" in err
    assert "  inptu: x\n  ^\n" in err


def test_build_servers_get_their_report(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    helio("flow", "test", str(flow(tmp_path, WRONG)), "--junit", str(report))
    suite = ElementTree.parse(report).getroot()
    assert (suite.tag, suite.get("tests"), suite.get("failures")) == ("testsuite", "2", "1")
    assert [each.get("name") for each in suite] == ["all: one", "all: two"]
    assert "<twice>4" in suite[1][0].text


# -- update -----------------------------------------------------------------------------------------------------------


def test_update_writes_what_came_and_leaves_the_rest_of_the_file(tmp_path: Path) -> None:
    folder = flow(tmp_path, WRONG)
    status, out, _ = helio("flow", "test", str(folder), "--update")
    assert status == 0
    assert f"{tmp_path}/tests/all.yaml written\n" in out
    assert (folder / "tests" / "all.yaml").read_text() == CASES.replace("EXPECTED", RIGHT)


def test_update_touches_nothing_that_passes(tmp_path: Path) -> None:
    folder = flow(tmp_path, RIGHT)
    _, out, _ = helio("flow", "test", str(folder), "--update")
    assert "written" not in out


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (f"{{queues: {{R: {WRONG}}}}}", [f"    R: {RIGHT}"]),
        ("{queues: {OTHER: x}}", [f"    R: {RIGHT}"]),
        (f"{{queues: {{R: {{as: tree, body: {WRONG}}}}}}}", ["      as: tree", f"      body: {RIGHT}"]),
        ("{queues: {R: {fields: {a.twice: 5, a.n: 2}}}}", ["        a.twice: '4'", "        a.n: '2'"]),
        ("{queues: {R: {persistent: true}}}", ["      persistent: false"]),
        (f"{{queues: {{R: [{RIGHT}, x]}}}}", [f"      - {RIGHT}"]),
        (f"{{queues: {{R: {RIGHT}}}, error: gone}}", ["  queues:", f"    R: {RIGHT}"]),
        ("{queues: {R: {hex: 00}}}", [f"      hex: {RIGHT.encode().hex()}"]),
    ],
    ids=["body", "queue", "tree", "fields", "envelope", "count", "error", "hex"],
)
def test_update_keeps_how_a_message_is_compared(tmp_path: Path, old: str, new: list[str]) -> None:
    folder = case(tmp_path, old)
    assert helio("flow", "test", str(folder))[0] == 1
    assert helio("flow", "test", str(folder), "--update")[0] == 0
    written = (folder / "tests" / "c.yaml").read_text().splitlines()
    assert written[-len(new) :] == new
    assert helio("flow", "test", str(folder))[0] == 0


def test_update_writes_files_that_the_case_names(tmp_path: Path) -> None:
    folder = case(tmp_path, "{queues: {R: {file: r.xml}}}", tests___r__xml="old")
    status, out, _ = helio("flow", "test", str(folder), "--update")
    assert (status, (folder / "tests" / "r.xml").read_text()) == (0, RIGHT)
    assert f"{tmp_path}/tests/r.xml written" in out


def test_update_writes_the_error_of_a_message_that_fails(tmp_path: Path) -> None:
    folder = case(tmp_path, f"{{queues: {{R: {RIGHT}}}}}", given="<a><n>many</n></a>")
    assert helio("flow", "test", str(folder), "--update")[0] == 0
    assert "error: " in (folder / "tests" / "c.yaml").read_text()


def test_update_writes_rows_of_databases(tmp_path: Path) -> None:
    esql = ESQL.replace("RETURN TRUE", "INSERT INTO Database.T (N) VALUES (7);\n    RETURN TRUE")
    text = f"""\
database: {{D: {{tables: {{T: [{{N: 1}}]}}}}}}
input: <a><n>2</n></a>
expect:
  queues: {{R: {RIGHT}}}
  database: {{D: {{T: [{{N: 1}}]}}}}
"""
    folder = write_flow(tmp_path, FLOW, work__esql=esql, tests___c__yaml=text)
    assert helio("flow", "test", str(folder))[0] == 1
    assert helio("flow", "test", str(folder), "--update")[0] == 0
    assert (folder / "tests" / "c.yaml").read_text().endswith("      T:\n        - N: 1\n        - N: 7\n")


def test_update_writes_bodies_of_several_lines_so_that_they_can_be_read(tmp_path: Path) -> None:
    folder = case(tmp_path, "{queues: {R: x}}", given='"<a><n>2</n><t>x\\ny</t></a>"')
    assert helio("flow", "test", str(folder), "--update")[0] == 0
    assert (
        "    R: |\n      <a><n>2</n><t>x\n      y</t><twice>4</twice></a>\n"
        in (folder / "tests" / "c.yaml").read_text()
    )
    assert helio("flow", "test", str(folder))[0] == 0

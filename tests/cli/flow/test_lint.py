"""`helio flow lint`: everything that is wrong, with the place, the line and a caret."""

import json
from pathlib import Path

import pytest

from cli.queue_server import helio
from small_flows import write_flow

GOOD = """\
nodes:
  in: {type: QueueInput, queue: Q}
  work: {type: Compute, esql: work.esql}
  out: {type: QueueOutput, queue: R}
connections:
  - in.out -> work
  - work.out -> out
"""
ESQL = """\
CREATE COMPUTE MODULE Work
  CREATE FUNCTION Main() RETURNS BOOLEAN
  BEGIN
    SET OutputRoot = InputRoot;
    RETURN TRUE;
  END;
END MODULE;
"""


def lint(folder: Path, *options: str) -> tuple[int, str]:
    status, out, err = helio("flow", "lint", str(folder), *options)
    assert err == ""
    return status, out.replace(f"{folder}/", "")


def test_a_good_flow(tmp_path: Path) -> None:
    assert lint(write_flow(tmp_path, GOOD, work__esql=ESQL)) == (0, "1 flow checked: no mistakes, no warnings\n")


def test_mistakes_in_yaml_and_esql_are_shown_with_their_lines(tmp_path: Path) -> None:
    flow = write_flow(
        tmp_path, GOOD.replace("queue: R", "qeue: R"), work__esql=ESQL.replace("= InputRoot", "= = InputRoot")
    )
    status, out = lint(flow)
    assert status == 1
    lines = out.splitlines()
    assert lines[0].startswith("flow.yaml:5:28: QueueOutput has no property qeue (did you mean queue?)")
    assert lines[1:3] == ["    out: {type: QueueOutput, qeue: R}", "  " + " " * 27 + "^"]
    assert lines[3].startswith("work.esql:4:22: ")
    assert lines[4:6] == ["      SET OutputRoot = = InputRoot;", "  " + " " * 21 + "^"]
    assert lines[-1] == "1 flow checked: 2 mistakes, no warnings"


def test_warnings_leave_the_exit_status_0(tmp_path: Path) -> None:
    twice = ESQL.replace("    RETURN", "    DECLARE a INTEGER 1;\n    DECLARE a INTEGER 2;\n    RETURN")
    status, out = lint(write_flow(tmp_path, GOOD, work__esql=twice))
    assert status == 0
    assert out.startswith("work.esql:6:5: warning: ")
    assert out.endswith("1 flow checked: no mistakes, 1 warning\n")


def test_warnings_are_told_beside_mistakes(tmp_path: Path) -> None:
    twice = ESQL.replace("    RETURN", "    DECLARE a INTEGER 1;\n    DECLARE a INTEGER 2;\n    RETURN")
    status, out = lint(write_flow(tmp_path, GOOD.replace("queue: R", "qeue: R"), work__esql=twice))
    assert (status, out.splitlines()[-1]) == (1, "1 flow checked: 1 mistake, 1 warning")


def test_every_environment_is_checked_unless_one_is_named(tmp_path: Path) -> None:
    text = "flow: test\nparameters: {most: 3}\n" + GOOD.replace("queue: Q", "queue: Q, backout_threshold: $(most)")
    flow = write_flow(
        tmp_path, text, work__esql=ESQL, parameters___good__yaml="most: 5\n", parameters___bad__yaml="most: many\n"
    )
    status, out = lint(flow)
    assert (status, out.splitlines()[0]) == (
        1,
        "flow.yaml:4:36: backout_threshold: expected a whole number, found 'many'",
    )
    assert lint(flow, "--env", "good")[0] == 0


def test_an_environment_that_is_not_there(tmp_path: Path) -> None:
    flow = write_flow(tmp_path, GOOD, work__esql=ESQL, parameters___test__yaml="{}\n")
    status, _, err = helio("flow", "lint", str(flow), "--env", "tset")
    assert (status, "there is no environment tset; there are: test" in err) == (1, True)


def test_test_cases_are_checked(tmp_path: Path) -> None:
    case = "input: x\nexpect:\n  queus: {R: x}\n"
    status, out = lint(write_flow(tmp_path, GOOD, work__esql=ESQL, tests___one__yaml=case))
    assert status == 1
    assert out.startswith("tests/one.yaml:3:3: there is no queus here (did you mean queues?)")


def test_settings_are_checked(tmp_path: Path) -> None:
    status, out = lint(write_flow(tmp_path, "flow: test\nadditional_instances: 1000\n" + GOOD, work__esql=ESQL))
    assert status == 1
    assert out.startswith("flow.yaml: flow test: additional_instances is a number from 0 to 255, not 1000")


def test_models_are_checked_with_their_lines(tmp_path: Path) -> None:
    status, out = lint(write_flow(tmp_path, GOOD, work__esql=ESQL, models___orders__model__yaml="messages: 5\n"))
    assert status == 1
    assert out.startswith("models/orders.model.yaml:1:1: ")


def test_programs_get_json(tmp_path: Path) -> None:
    flow = write_flow(tmp_path, GOOD.replace("queue: R", "qeue: R"), work__esql=ESQL)
    status, out, _ = helio("flow", "lint", str(flow), "--json")
    (found,) = json.loads(out)
    assert status == 1
    assert found["file"] == str(tmp_path / "flow.yaml")
    assert (found["line"], found["column"], found["severity"]) == (5, 28, "mistake")
    assert found["source_line"] == "  out: {type: QueueOutput, qeue: R}"


def test_several_flows_are_checked_together(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write_flow(tmp_path / name, GOOD.replace("queue: R", "qeue: R"), work__esql=ESQL)
    status, out, _ = helio("flow", "lint", str(tmp_path / "a"), str(tmp_path / "b"))
    assert (status, out.splitlines()[-1]) == (1, "2 flows checked: 2 mistakes, no warnings")


@pytest.mark.parametrize("action", ["show", "compile", "run"])
def test_other_commands_tell_mistakes_in_the_same_way(tmp_path: Path, action: str) -> None:
    flow = write_flow(tmp_path, GOOD.replace("queue: R", "qeue: R"), work__esql=ESQL)
    status, out, err = helio("flow", action, str(flow))
    assert (status, out) == (1, "")
    assert err.startswith(
        f"helio flow: 1 mistake in {tmp_path}\n{tmp_path}/flow.yaml:5:28: QueueOutput has no property"
    )
    assert err.endswith("^\n")


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    status, _, err = helio("flow", "lint", str(tmp_path / "gone"))
    assert (status, err) == (1, f"helio flow: {tmp_path / 'gone'}: expected the folder of a flow; there is none\n")


@pytest.mark.parametrize(
    ("given", "told"), [("limit", "expected NAME=VALUE, found 'limit'"), ("limit=[1", "this is not YAML")]
)
def test_parameters_are_name_and_value(
    tmp_path: Path, given: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from heliograph.cli.main import main

    with pytest.raises(SystemExit) as ended:
        main(["flow", "show", str(tmp_path), "--set", given])
    assert ended.value.code == 2
    assert told in capsys.readouterr().err

"""`helio flow compile`: the Python that is run can be looked at."""

from pathlib import Path

import pytest

from cli.queue_server import helio
from small_flows import write_flow

FLOW = """
nodes:
  in: {type: QueueInput, queue: Q, domain: XMLNSC}
  check: {type: Filter, esql: work.esql}
  work: {type: Compute, esql: work.esql, module: Work}
  map: {type: Mapping, map: m.map.yaml}
connections:
  - in.out -> check
  - check.true -> work
  - work.out -> map
"""
ESQL = """\
CREATE FILTER MODULE Check
  CREATE FUNCTION Main() RETURNS BOOLEAN BEGIN RETURN Body.a = 'first'; END;
END MODULE;
CREATE COMPUTE MODULE Work
  CREATE FUNCTION Main() RETURNS BOOLEAN BEGIN
    SET OutputRoot.XMLNSC.b = 'second';
    RETURN TRUE;
  END;
END MODULE;
"""
MAP = """\
mapping: third
source: InputRoot.XMLNSC.b
target: OutputRoot.XMLNSC.c
map:
  - {to: d, constant: third}
"""


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return str(write_flow(tmp_path, FLOW, work__esql=ESQL, m__map__yaml=MAP))


def compiled(*words: str) -> str:
    status, out, err = helio("flow", "compile", *words)
    assert (status, err) == (0, "")
    return out


def test_there_is_a_table_of_modules_and_the_nodes_that_run_them(folder: str) -> None:
    lines = [line.split() for line in compiled(folder).splitlines()]
    assert lines[0][:4] == ["FILE", "MODULE", "KIND", "NODES"]
    assert [line[:4] for line in lines[1:]] == [
        ["work.esql", "Check", "FILTER", "check"],
        ["work.esql", "Work", "COMPUTE", "work"],
        ["m.map.yaml", "third", "COMPUTE", "map"],
    ]


def test_show_prints_python_with_the_statements_as_comments(folder: str) -> None:
    out = compiled(folder, "--show")
    assert "# 6: SET OutputRoot.XMLNSC.b = 'second'" in out
    assert "'third'" in out
    compile(out, "shown", "exec")


def test_one_module_can_be_shown_alone(folder: str) -> None:
    out = compiled(folder, "--show", "--module", "work")
    assert "# 6: SET OutputRoot.XMLNSC.b = 'second'" in out
    assert "def _run_Work" in out
    assert "Check" not in out
    assert "third" not in out


def test_a_module_that_is_not_there(folder: str) -> None:
    status, _, err = helio("flow", "compile", folder, "--module", "Wrok")
    assert status == 1
    assert err == "helio flow: there is no module Wrok (did you mean Work?); there are: Check, Work, third\n"


def test_models_are_shown_as_readers_and_writers(tmp_path: Path) -> None:
    text = """
nodes:
  in: {type: QueueInput, queue: Q, domain: MRM, message_set: parts}
  out: {type: QueueOutput, queue: R}
connections:
  - in.out -> out
"""
    copybook = "       01  PART.\n           05  CODE PIC X(4).\n           05  PRICE PIC 9(3).\n"
    model = "import: [{file: parts.cpy}]\n"
    folder = write_flow(tmp_path, text, models___parts__cpy=copybook, models___parts__model__yaml=model)
    shown = compiled(str(folder), "--models")
    assert "def read(" in shown
    assert "def write(" in shown
    assert "MODEL" in compiled(str(folder))
    assert compiled(str(folder), "--show") == ""


def test_a_flow_without_any_of_it_says_so(tmp_path: Path) -> None:
    text = """
nodes:
  in: {type: QueueInput, queue: Q}
  out: {type: QueueOutput, queue: R}
connections:
  - in.out -> out
"""
    assert compiled(str(write_flow(tmp_path, text))) == "test has no ESQL, no mappings and no models\n"

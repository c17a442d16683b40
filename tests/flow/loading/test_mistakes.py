"""What is wrong with a flow is told before it runs: all of it at once, each with file, line and what would be right."""

from pathlib import Path

import pytest

from heliograph.flow.errors import DefinitionProblem
from heliograph.flow.loading.flow_loading import load_flow
from small_flows import write_flow

GOOD = """
nodes:
  in: {type: QueueInput, queue: Q}
  out: {type: QueueOutput, queue: R}
connections:
  - in.out -> out.in
"""


def mistakes(folder: Path, text: str, **files: str) -> list[str]:
    with pytest.raises(DefinitionProblem) as caught:
        load_flow(write_flow(folder, text, **files))
    return str(caught.value).splitlines()


def changed(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            changed("type: QueueOutput", "type: QueueOutptu"),
            "flow.yaml:5:9: there is no node type QueueOutptu (did you mean QueueOutput?)",
        ),
        (
            changed("queue: R", "qeue: R"),
            "flow.yaml:5:28: QueueOutput has no property qeue (did you mean queue?); it has: destination,",
        ),
        (changed(", queue: Q", ""), "flow.yaml:4:3: QueueInput in needs a property queue: The queue."),
        (changed("queue: R", "queue: 5"), "flow.yaml:5:28: queue: expected text, found 5; put it in quotes"),
        (
            changed("queue: Q", "queue: Q, transaction: maybe"),
            "flow.yaml:4:36: transaction: expected one of yes, no, automatic, found 'maybe'",
        ),
        (
            changed("queue: Q", "queue: Q, backout_threshold: -1"),
            "flow.yaml:4:36: backout_threshold: expected 0 or more, found -1",
        ),
        (
            changed("queue: R", "queue: R, new_message_id: perhaps"),
            "flow.yaml:5:38: new_message_id: expected yes or no, found 'perhaps'",
        ),
        (
            changed("in.out ->", "in.uot ->"),
            "flow.yaml:7:5: QueueInput in has no output terminal uot (did you mean out?); it has: catch, failure, out",
        ),
        (
            changed("out.in", "out.on"),
            "flow.yaml:7:5: QueueOutput out has no input terminal on; it has: in",
        ),
        (changed("-> out.in", "-> outt"), "flow.yaml:7:5: there is no node outt (did you mean out?)"),
        (
            changed("-> out.in", "-> in.in"),
            "flow.yaml:7:5: QueueInput in has no input terminal in; QueueInput has none",
        ),
        (
            changed("in.out -> out.in", "in out"),
            "flow.yaml:7:5: expected NODE.TERMINAL -> NODE.TERMINAL, found 'in out'",
        ),
        (
            changed("  - in.out -> out.in", "  - in.out -> out.in\n  - in.out -> out"),
            "flow.yaml:8:5: this connection is there twice: first in line 7",
        ),
        (
            changed("  - in.out -> out.in", "  []"),
            "flow.yaml:5:3: nothing is connected to out.in: it never gets a message",
        ),
        (
            changed("  out:", "  in: {type: Throw}\n  out:"),
            "flow.yaml:5:3: in is there twice: first in line 4",
        ),
        (
            changed("queue: R", "queue: $(reslut)"),
            "flow.yaml:5:28: there is no parameter reslut; there are: none",
        ),
        (changed("nodes:", "noeds:"), "flow.yaml:3:1: a flow has no noeds (did you mean nodes?); it has:"),
        (changed("  out:", "  2out:"), "flow.yaml:5:3: '2out' cannot be a node's name"),
        (
            changed("{type: QueueOutput, queue: R}", "QueueOutput"),
            "flow.yaml:5:3: expected {type: ..., properties} behind out",
        ),
        (GOOD + "  - [a", "flow.yaml:8:7: this is not YAML: expected"),
    ],
)
def test_a_mistake_is_told_with_its_place(tmp_path: Path, text: str, expected: str) -> None:
    found = mistakes(tmp_path, text)
    assert any(line.startswith(expected) for line in found), "\n".join(found)


def test_all_mistakes_are_told_at_once_in_the_order_of_lines(tmp_path: Path) -> None:
    text = """
nodes:
  in: {type: QueueInput, queue: Q, domian: XML}
  route: {type: RouteToLabel}
  show: {type: Python, file: shwo.py}
  out: {type: QueueOutput}
connections:
  - in.out -> route
  - in.out -> show
  - show.out3 -> oot
"""
    found = mistakes(tmp_path, text, show__py="def process(message): return message")
    assert [line.split(": ", 1)[0] for line in found] == [
        "flow.yaml:4:36",
        "flow.yaml:5:3",
        "flow.yaml:6:24",
        "flow.yaml:7:3",
        "flow.yaml:7:3",
        "flow.yaml:11:5",
    ]
    assert "RouteToLabel route leads nowhere" in found[1]
    assert "there is no file shwo.py (did you mean show.py?)" in found[2]


def test_a_flow_needs_a_way_in(tmp_path: Path) -> None:
    text = "nodes:\n  x: {type: Label}\nconnections: []\n"
    assert any("no message comes into the flow" in line for line in mistakes(tmp_path, text))


def test_a_label_is_there_once(tmp_path: Path) -> None:
    text = GOOD.replace("connections:", "  x: {type: Label}\n  y: {type: Label, label: x}\nconnections:")
    assert any("label x is there twice: first at flow.yaml:6:3" in line for line in mistakes(tmp_path, text))


COMPUTE = """
nodes:
  in: {type: QueueInput, queue: Q}
  work: {type: NODE, esql: work.esql, module: Work}
connections:
  - in.out -> work
"""
MODULE = """CREATE COMPUTE MODULE Work
  CREATE FUNCTION Main() RETURNS BOOLEAN
  BEGIN
    BODY
    RETURN TRUE;
  END;
END MODULE;
"""


@pytest.mark.parametrize(
    ("node", "esql", "expected"),
    [
        ("Compute", MODULE.replace("BODY", "SET OutputRoot = = 1;"), "work.esql:4:22: "),
        ("Compute", MODULE.replace("BODY", "SET nowhere = 1;"), "work.esql:4:9: "),
        (
            "Compute",
            MODULE.replace("BODY", "").replace("Work", "Wrok"),
            "flow.yaml:5:42: there is no module Work (did you mean Wrok?)",
        ),
        (
            "Filter",
            MODULE.replace("BODY", ""),
            "flow.yaml:5:41: module Work in work.esql is a COMPUTE module; expected FILTER",
        ),
        (
            "Compute",
            MODULE.replace("BODY", "PROPAGATE TO LABEL 'gone';"),
            "work.esql:4:24: there is no label gone; there are: none",
        ),
    ],
    ids=["syntax", "names", "module", "kind", "label"],
)
def test_mistakes_in_esql_are_told_with_the_flow(tmp_path: Path, node: str, esql: str, expected: str) -> None:
    found = mistakes(tmp_path, COMPUTE.replace("NODE", node), work__esql=esql)
    assert any(line.startswith(expected) for line in found), "\n".join(found)


def test_mistakes_of_several_esql_files_are_told_together(tmp_path: Path) -> None:
    wrong = MODULE.replace("BODY", "SET ;\n    CALL Nobody();")
    found = mistakes(
        tmp_path, COMPUTE.replace("NODE", "Compute"), work__esql=wrong, lib__esql="CREATE FUNCTION F( RETURNS"
    )
    assert {line.split(":")[0] for line in found if not line.startswith(" ")} == {"work.esql", "lib.esql"}


def test_a_module_need_not_be_named_if_there_is_one(tmp_path: Path) -> None:
    text = COMPUTE.replace("NODE", "Compute").replace(", module: Work", "")
    assert load_flow(write_flow(tmp_path, text, work__esql=MODULE.replace("BODY", ""))).nodes["work"].type == "Compute"


def test_a_data_source_has_to_be_declared(tmp_path: Path) -> None:
    text = (
        COMPUTE.replace("NODE", "Compute").replace("module: Work", "data_source: SHOP")
        + "data_sources: {SHOPS: null}\n"
    )
    found = mistakes(tmp_path, text, work__esql=MODULE.replace("BODY", ""))
    assert found == [
        "flow.yaml:5:42: there is no data source SHOP (did you mean SHOPS?); data_sources has: SHOPS",
    ]


def test_a_trace_pattern_is_checked(tmp_path: Path) -> None:
    text = GOOD.replace("  out: {type: QueueOutput, queue: R}", "  out: {type: Trace, pattern: 'x ${1 + }'}")
    assert any(line.startswith("flow.yaml:5:22: pattern: ") for line in mistakes(tmp_path, text))


def test_a_python_file_is_checked(tmp_path: Path) -> None:
    text = GOOD.replace("  out: {type: QueueOutput, queue: R}", "  out: {type: Python, file: a.py}")
    found = mistakes(tmp_path, text, a__py="def process(message, wish): return message\n")
    assert "process takes 'wish'" in found[0]
    found = mistakes(tmp_path, text, a__py="def process(message:\n")
    assert "a.py:1" in found[0]


def test_a_missing_model_is_told(tmp_path: Path) -> None:
    text = GOOD.replace("queue: Q", "queue: Q, domain: MRM, message_set: ORDERS")
    assert any("no model ORDERS" in line for line in mistakes(tmp_path, text))


def test_a_folder_without_a_flow(tmp_path: Path) -> None:
    from heliograph.errors import Problem

    with pytest.raises(Problem, match=r"expected flow.yaml or one NAME.flow.yaml; there is neither"):
        load_flow(tmp_path)


def test_a_flow_may_have_its_name_in_the_name_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "orders.flow.yaml").write_text("flow: orders" + GOOD)
    assert load_flow(tmp_path).name == load_flow(tmp_path / "orders.flow.yaml").name == "orders"


DOMAINS = "BLOB, JSON, MRM, XML, XMLNS, XMLNSC"
PARTS = "BLOB, JSON, MQMD, MQRFH2, MRM, Properties, UserProperties, XML, XMLNS, XMLNSC"


@pytest.mark.parametrize("domain", ["XMLNS2", "xmlnsc", "MQMD"])
def test_a_domain_that_nobody_knows_is_told(tmp_path: Path, domain: str) -> None:
    (told,) = mistakes(tmp_path, changed("queue: Q", f"queue: Q, domain: {domain}"))
    assert told.startswith(f"flow.yaml:4:36: there is no domain {domain}")
    assert told.endswith(f"; there are: {DOMAINS}")


WORKING = """
nodes:
  in: {type: QueueInput, queue: Q}
  work: {type: Compute, esql: work.esql}
connections:
  - in.out -> work.in
"""


def program_of(*statements: str) -> str:
    head = "CREATE COMPUTE MODULE W CREATE FUNCTION Main() RETURNS BOOLEAN BEGIN"
    return "\n".join([head, *statements, "END; END MODULE;"])


@pytest.mark.parametrize(
    ("statement", "column", "said"),
    [
        ("SET OutputRoot.XMLNS2.A = 1;", 16, "OutputRoot: there is no domain XMLNS2 (did you mean XMLNS?)"),
        ("SET OutputRoot.SOAP = InputBody;", 16, "OutputRoot: there is no domain SOAP"),
        ("CREATE FIELD OutputRoot.Jason.Data;", 25, "OutputRoot: there is no domain Jason (did you mean JSON?)"),
        ("CREATE LASTCHILD OF OutputRoot DOMAIN 'XMLNC';", 39, "there is no domain XMLNC (did you mean XMLNSC?)"),
    ],
)
def test_a_body_that_nobody_could_send_is_told(tmp_path: Path, statement: str, column: int, said: str) -> None:
    (told, *_) = mistakes(tmp_path, WORKING, work__esql=program_of(statement))
    assert told.startswith(f"work.esql:2:{column}: {said}")
    assert told.endswith(f"; there are: {PARTS}")


def test_a_mapping_to_a_domain_that_nobody_knows_is_told(tmp_path: Path) -> None:
    flow = WORKING.replace("Compute, esql: work.esql", "Mapping, map: work.map.yaml")
    mapping = "mapping: m\nsource: InputRoot.XMLNSC.A\ntarget: OutputRoot.XMLNS2.B\nmap:\n  - {to: C, from: D}\n"
    (told, *_) = mistakes(tmp_path, flow, work__map__yaml=mapping)
    assert told.startswith("work.map.yaml:3:1: OutputRoot: there is no domain XMLNS2")


def test_parts_that_are_removed_or_named_by_the_program_are_no_mistake(tmp_path: Path) -> None:
    program = program_of(
        "DECLARE Body NAME 'JSON';",
        "SET OutputRoot = InputRoot;",
        "SET OutputRoot.HTTPInputHeader = NULL;",
        "DELETE FIELD OutputRoot.SOAP;",
        "SET OutputRoot.Body.Data.A = 1;",
        "SET OutputRoot.{'X' || 'ML'}.B = 1;",
        "SET OutputRoot.MQMD.Priority = 1;",
        "RETURN TRUE;",
    )
    load_flow(write_flow(tmp_path, WORKING, work__esql=program))

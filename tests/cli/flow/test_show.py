"""`helio flow show`: the same graph as text, Mermaid and SVG."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from cli.queue_server import helio
from small_flows import write_flow

FLOW = """
flow: shop
nodes:
  in: {type: QueueInput, queue: ORDERS}
  again: {type: Subflow, flow: twice}
  route: {type: RouteToLabel}
  east: {type: Label}
  west: {type: Label}
  out: {type: QueueOutput, queue: "A<B"}
connections:
  - in.out -> again
  - in.catch -> out
  - again.out -> route
  - east.out -> out
  - west.out -> again
"""
SUBFLOW = """
subflow: twice
nodes:
  in: {type: Input}
  first: {type: FlowOrder}
  second: {type: Trace, pattern: x}
  out: {type: Output}
connections:
  - in.out -> first
  - first.first -> second
  - first.second -> out
  - second.out -> out
"""


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return str(write_flow(tmp_path, FLOW, subflows___twice__yaml=SUBFLOW))


def shown(*words: str) -> str:
    status, out, err = helio("flow", "show", *words)
    assert (status, err) == (0, "")
    return out


def test_text_follows_every_path(folder: str) -> None:
    assert shown(folder).splitlines() == [
        "shop",
        "",
        "in (QueueInput ORDERS)",
        "├─ out: again.first (FlowOrder)",
        "│  ├─ first: again.second (Trace)",
        "│  │  └─ out: route (RouteToLabel)",
        "│  │     ├─ · label: east (Label)",
        "│  │     │  └─ out: out (QueueOutput A<B)",
        "│  │     └─ · label: west (Label)",
        "│  │        └─ out: again.first (FlowOrder)  (see above)",
        "│  └─ second: route (RouteToLabel)  (see above)",
        "└─ catch: out (QueueOutput A<B)",
    ]


def test_mermaid_has_subflows_as_subgraphs_failures_red_and_labels_dotted(folder: str) -> None:
    lines = shown(folder, "--format", "mermaid").splitlines()
    assert lines[:4] == ["---", 'title: "shop"', "---", "flowchart LR"]
    assert '  subgraph sub_again ["again"]' in lines
    assert '    n1["<b>second</b><br>Trace"]' in [line.replace("n2", "n1") for line in lines]
    assert any("-.->|label|" in line for line in lines)
    red = next(line for line in lines if line.strip().startswith("linkStyle"))
    number = int(red.split()[1])
    arrows = [line for line in lines if "-->|" in line or "-.->|" in line]
    assert "|catch|" in arrows[number]


def test_svg_is_xml_with_every_node_and_terminal(folder: str) -> None:
    root = ElementTree.fromstring(shown(folder, "--format", "svg"))
    texts = [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")]
    for word in ("shop", "in", "ORDERS", "first", "second", "again", "A<B", "catch", "label"):
        assert word in texts
    lines = [each.get("class") for each in root.iter("{http://www.w3.org/2000/svg}path")]
    assert {"line plain", "line error", "line label"} <= set(lines)
    style = root.find("{http://www.w3.org/2000/svg}style")
    assert style is not None
    assert "prefers-color-scheme: dark" in (style.text or "")


def test_the_name_of_the_file_says_the_format(folder: str, tmp_path: Path) -> None:
    for name, start in (("a.svg", "<svg "), ("a.mmd", "---\n"), ("a.txt", "shop\n")):
        assert shown(folder, "--output", str(tmp_path / name)) == ""
        assert (tmp_path / name).read_text().startswith(start)


def test_a_file_that_cannot_be_written(folder: str, tmp_path: Path) -> None:
    status, _, err = helio("flow", "show", folder, "-o", str(tmp_path / "no" / "a.svg"))
    assert (status, "cannot be written: No such file or directory" in err) == (1, True)


def test_labels_that_esql_names_are_dotted_too(tmp_path: Path) -> None:
    text = """
nodes:
  in: {type: QueueInput, queue: Q}
  send: {type: Compute, esql: send.esql}
  here: {type: Label}
connections:
  - in.out -> send
"""
    esql = "PROPAGATE TO LABEL 'here'; RETURN FALSE;"
    out = shown(str(write_flow(tmp_path, text, send__esql=esql)))
    assert "   └─ · label: here (Label)" in out

"""The pages about flows name what there is: settings, nodes, and what is mapped to them."""

import re
from pathlib import Path

from cli.queue_server import helio
from documentation import DOCUMENTS
from flow_nodes_table import PAGE, written
from heliograph.flow.engine.nodes.node_kinds import KINDS
from heliograph.flow.loading.flow_document import SETTINGS

TEXT = PAGE.read_text()
GUIDE = (DOCUMENTS / "guides" / "flows.md").read_text()
MAPPING = (DOCUMENTS / "reference" / "mapping.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", GUIDE, re.DOTALL)


def test_the_chapter_about_nodes_is_what_they_declare() -> None:
    assert written(TEXT) == TEXT, "run: PYTHONPATH=src python tests/flow_nodes_table.py"


def test_every_setting_of_a_flow_file_is_in_the_table() -> None:
    rows = re.findall(r"^\| (`.*?) \|", TEXT.split("| key | what it says |")[1].split("\n\n")[0], re.MULTILINE)
    named = {word for row in rows for word in re.findall(r"`(\w+)`", row)}
    assert named == {"flow", "description", "parameters", "nodes", "connections", *SETTINGS}


def test_what_is_mapped_to_is_there() -> None:
    nodes = MAPPING.split("# From message brokers to flows")[1].split("## Nodes")[1]
    node_rows, property_rows = nodes.split("## Properties")
    named = set(re.findall(r"\b([A-Z][A-Za-z]+)\b", " ".join(re.findall(r"\| ([^|]*) \|$", node_rows, re.MULTILINE))))
    assert named - {"INSERT", "UPDATE", "DELETE"} <= KINDS.keys()
    properties = {name for kind in KINDS.values() for name in kind.properties} | set(SETTINGS)
    values = {choice for kind in KINDS.values() for rule in kind.properties.values() for choice in rule.choices}
    for row in re.findall(r"\| ([^|]*) \|$", property_rows, re.MULTILINE):
        assert set(re.findall(r"`([\w-]+)`", row)) <= properties | values


def test_the_flow_file_of_the_page_is_right(tmp_path: Path) -> None:
    flow = next(block for block in blocks("yaml") if block.startswith("flow: orders"))
    mapping = next(block for block in blocks("yaml") if block.startswith("mapping: "))
    esql = "CREATE FILTER MODULE IsBig CREATE FUNCTION Main() RETURNS BOOLEAN BEGIN RETURN TRUE; END; END MODULE;"
    subflow = next(block for block in blocks("yaml") if block.startswith("subflow: "))
    flow = flow.replace(
        "connections:",
        "  copy: {type: Subflow, flow: checked, queue: C}\n  map: {type: Mapping, map: m.map.yaml}\nconnections:",
    )
    flow += "  - in.out -> copy.in\n  - copy.out -> map\n"
    (tmp_path / "subflows").mkdir()
    for name, text in {
        "flow.yaml": flow,
        "check.esql": esql,
        "m.map.yaml": mapping,
        "subflows/checked.yaml": subflow,
    }.items():
        (tmp_path / name).write_text(text)
    assert helio("flow", "lint", str(tmp_path)) == (0, "1 flow checked: no mistakes, no warnings\n", "")

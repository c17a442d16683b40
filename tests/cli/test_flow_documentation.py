"""docs/flows.md: what stands there can be pasted and works, and its tables name what there is."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from flow_nodes_table import PAGE, written
from heliograph.flow.definition.written import SETTINGS
from heliograph.flow.nodes.kinds import KINDS
from running import PATIENCE, RunningServer, environment, servers

TEXT = PAGE.read_text()
MAPPING = (PAGE.parent / "mapping.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server with all that the page configures, but on ports that nobody has."""
    config = "\n".join(blocks("toml")).replace('protocol = "amqp"  ', 'protocol = "amqp"\nport = 0  ')
    with servers(tmp_path_factory.mktemp("page")) as start:
        yield start(f"{config}\n[http]\nport = 0\n")


def test_the_commands_and_programs_of_the_page_can_be_pasted(server: RunningServer, tmp_path: Path) -> None:
    helio = tmp_path / "helio"
    helio.write_text(
        "#!/bin/sh\n"
        "# The page speaks of the default port; here the server has another one.\n"
        'case "$1 $2" in queue*) set -- "$@" --url "$SERVER" ;; "flow run") set -- "$@" --server "$SERVER" ;; esac\n'
        f'exec "{sys.executable}" -m heliograph.cli.main "$@"\n'
    )
    helio.chmod(0o755)
    # What goes wrong must not leave the flow behind that the page starts: whatever ends the shell ends it, too.
    commands = "\n".join(["trap 'kill $! 2> /dev/null || true' EXIT", *blocks("sh")])
    with (tmp_path / "out").open("wb") as out, (tmp_path / "err").open("wb") as err:
        done = subprocess.run(
            ["sh", "-e", "-x"],
            input=commands.encode(),
            stdout=out,
            stderr=err,
            cwd=tmp_path,
            env=environment(PATH=f"{tmp_path}:{os.environ['PATH']}", SERVER=server.url("amqp")),
            timeout=4 * PATIENCE,
            check=False,
        )
    assert done.returncode == 0, (tmp_path / "err").read_text()[-3000:]
    printed = (tmp_path / "out").read_text()
    assert "5 passed, 0 failed" in printed
    assert "<Order><Id>7</Id><Amount>250</Amount></Order>" in printed
    assert "messages a second" in printed
    shown = next(block for block in blocks("text") if block.startswith("orders/tests/big.xml"))
    for line in shown.splitlines():
        assert line.strip() == "..." or f"{line}\n" in printed
    program = next(block for block in blocks("python") if "FlowUnderTest" in block)
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=environment(), timeout=PATIENCE, check=True)


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
    from cli.queue_server import helio

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

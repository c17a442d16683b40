"""docs/guides/flows.md: what stands there can be pasted and works, and its tables name what there is."""

import re
import shlex
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cli.queue_server import helio
from flow_nodes_table import PAGE, written
from heliograph.flow.engine.nodes.node_kinds import KINDS
from heliograph.flow.loading.flow_document import SETTINGS
from running import PATIENCE, RunningServer, environment, servers
from running import helio as command

TEXT = PAGE.read_text()
MAPPING = (PAGE.parents[1] / "reference" / "mapping.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server with all that the page configures, but on ports that nobody has."""
    config = "\n".join(blocks("toml")).replace('protocol = "amqp"  ', 'protocol = "amqp"\nport = 0  ')
    with servers(tmp_path_factory.mktemp("page")) as start:
        yield start(f"{config}\n[http]\nport = 0\n")


@pytest.fixture
def pasted(server: RunningServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], str]]:
    """Runs a line as a shell would, within this process if it does not go to the background; what it prints."""
    monkeypatch.chdir(tmp_path)
    options = {"queue": ["--url", server.url("amqp")], "run": ["--server", server.url("amqp")]}
    background: list[subprocess.Popen[bytes]] = []

    def run(line: str) -> str:
        program, *words = shlex.split(line, comments=True)
        if [program, *words] == ["kill", "$!"]:
            background[-1].send_signal(signal.SIGTERM)
            assert background.pop().wait(PATIENCE) == 0
            return ""
        assert program == "helio"
        # The page speaks of the default port; here the server has another one.
        more = options.get(words[0]) or options.get(words[1]) or []
        if words[-1] == "&":
            background.append(subprocess.Popen(command(*words[:-1], *more), env=environment()))
            return ""
        status, out, err = helio(*words, *more)
        assert (status, err) == (0, ""), line
        return out

    yield run
    for process in background:
        process.kill()
        process.wait()


def test_the_commands_and_programs_of_the_page_can_be_pasted(pasted: Callable[[str], str], tmp_path: Path) -> None:
    printed = "".join(pasted(line) for line in "".join(blocks("sh")).splitlines())
    assert "5 passed, 0 failed" in printed
    assert "<Order><Id>7</Id><Amount>250</Amount></Order>" in printed
    assert "messages a second" in printed
    shown = next(block for block in blocks("text") if block.startswith("orders/tests/big.xml"))
    for line in shown.splitlines():
        assert line.strip() == "..." or f"{line}\n" in printed
    program = next(block for block in blocks("python") if "FlowUnderTest" in block)
    exec(compile(program, "the page", "exec"), {})


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

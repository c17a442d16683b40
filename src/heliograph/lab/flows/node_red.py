"""Node-RED as a peer: a program that runs the same flows, from a topic to a topic of our server."""

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from heliograph.common import process_end
from heliograph.lab.errors import MeasurementFailed
from heliograph.lab.flows import esql, messages
from heliograph.lab.flows.end_to_end import EndToEnd, look, result_of, watch
from heliograph.lab.flows.flow_cases import OUTPUT, write_folder
from heliograph.lab.flows.flow_process import FlowWorker
from heliograph.lab.flows.messages import MessageMaker
from heliograph.lab.flows.server_fixture import FlowServer, QueueFixture, numbered
from heliograph.lab.machine import HOST, Cores, on_core, work_folder
from heliograph.lab.targets.broker_process import running_broker

INSTALL = "make node-red"
_INSTALLED = Path(sys.prefix) / "node-red" / "node_modules" / ".bin" / "node-red"
_SETTINGS = """
module.exports = {
    uiHost: "127.0.0.1", uiPort: 0, disableEditor: true, httpAdminRoot: false, httpNodeRoot: false,
    flowFile: "flows.json", credentialSecret: false,
    logging: { console: { level: "warn", metrics: false, audit: false } },
    diagnostics: { enabled: false, ui: false }, telemetry: { enabled: false },
};
"""
Node = dict[str, object]
_XML: Node = {"type": "xml", "property": "payload", "attr": "", "chr": ""}
"""A text becomes an object, an object becomes a text."""
_CHANGE = "msg.payload.CSIM.A1[0] = 'x'; return msg;"
PROGRAMS: dict[str, Sequence[Node]] = {
    "pass through": [{"type": "function", "func": "return msg;"}],
    "simple compute": [_XML, {"type": "function", "func": _CHANGE}, _XML],
}
"""Nodes between input and output, by what they do."""

SOURCE, TARGET = "flows/in", "flows/out"
OURS, PEER = "heliograph", "node-red"
SIZES = (1024, 16384)
_PATIENCE = 60.0
_FILES = f"""\
flow: measured
nodes:
  in: {{type: TopicInput, topic: {SOURCE}, domain: XML}}
  work: {{type: Compute, esql: work.esql}}
  out: {{type: Publication}}
connections:
  - in.out -> work
  - work.out -> out
"""
_READDRESS = f"SET OutputRoot.Properties.Topic = '{TARGET}';\n"


def program() -> str | None:
    """Where it is; None if it is not installed."""
    return shutil.which("node-red") or (str(_INSTALLED) if _INSTALLED.exists() else None)


def version() -> str:
    """Of what is installed."""
    found = program()
    if found is None:
        return "not installed"
    package = Path(found).resolve().parent / "package.json"
    return str(json.loads(package.read_text())["version"]) if package.exists() else "of unknown version"


def flow_file(nodes: Sequence[Node], port: int, source: str, target: str) -> str:
    """A flow of Node-RED: MQTT in, these nodes, MQTT out."""
    names = [f"n{number}" for number in range(len(nodes) + 2)]
    ends: list[Node] = [
        {"type": "mqtt in", "topic": source, "qos": "1", "datatype": "utf8", "broker": "server", "inputs": 0},
        {"type": "mqtt out", "topic": target, "qos": "1", "retain": "false", "broker": "server"},
    ]
    server: Node = {
        "id": "server",
        "type": "mqtt-broker",
        "broker": HOST,
        "port": str(port),
        "protocolVersion": "4",
    }
    server |= {"clientid": "node-red", "autoConnect": True, "usetls": False, "keepalive": "60", "cleansession": True}
    written: list[Node] = [{"id": "tab", "type": "tab", "label": "measured"}, server]
    for at, node in enumerate([ends[0], *nodes, ends[1]]):
        behind = [[names[at + 1]]] if at + 1 < len(names) else []
        written.append({"id": names[at], "z": "tab", "name": "", "wires": behind, "outputs": 1, **node})
    return json.dumps(written)


class NodeRed:
    """A process that runs one flow."""

    def __init__(self, folder: Path, flow: str, core: int | None) -> None:
        folder.mkdir()
        (folder / "flows.json").write_text(flow)
        (folder / "settings.js").write_text(_SETTINGS)
        self._log = folder / "log"
        command = [program() or "node-red", "--userDir", str(folder), "--settings", str(folder / "settings.js")]
        with self._log.open("ab") as log, on_core(core):
            self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    def last_words(self) -> str:
        """The end of its log."""
        return self._log.read_text(errors="replace").strip()[-500:]

    def close(self) -> None:
        """End it."""
        process_end.end_process(self._process, 10)


@dataclass(frozen=True, slots=True)
class _Flow:
    name: str
    program: str
    message: MessageMaker
    mark: bytes
    """What is in every message that has come out right."""


_FLOWS = (
    _Flow("pass through", esql.COPY + _READDRESS, messages.plain, b"xxxxxxxxxxxxxxxx"),
    _Flow("simple compute", esql.SIMPLE + _READDRESS, messages.simple, b"<A1>x</A1>"),
)


@dataclass(frozen=True, slots=True)
class PeerRow:
    """One flow on one system."""

    flow: str
    size: int
    target: str
    run: EndToEnd


def measure(cores: Cores, count: int) -> Iterator[PeerRow]:
    """Every flow on both, side by side, with so many messages."""
    for flow in _FLOWS:
        for size in SIZES:
            for target in (OURS, PEER):
                yield PeerRow(flow.name, size, target, _measure(flow, size, target, cores, count))


def _measure(flow: _Flow, size: int, target: str, cores: Cores, count: int) -> EndToEnd:
    server = FlowServer({OUTPUT: TARGET}, mqtt=True)
    with (
        tempfile.TemporaryDirectory(prefix="helio-peers-", dir=work_folder()) as name,
        running_broker(server, cores.broker, amqp=True, durable=True) as broker,
    ):
        address = f"amqp://127.0.0.1:{broker.address.port}"
        fixture = QueueFixture(address)
        try:
            if target == OURS:
                system = _ours(flow, address, Path(name), cores.generator)
            else:
                system = _theirs(flow, server.mqtt_port, Path(name), cores.generator, fixture)
            with system as pid:
                return _run(fixture, flow, size, count, pid, broker.pid)
        finally:
            fixture.close()


def _run(fixture: QueueFixture, flow: _Flow, size: int, count: int, pid: int, server_pid: int) -> EndToEnd:
    envelopes = [numbered(flow.message(size, number), number, persistent=False) for number in range(count)]
    fixture.publish(SOURCE, envelopes)
    figures = result_of(watch(fixture, count, lambda there: look(there, pid, [server_pid])), count)
    bodies = [message.body for message in fixture.take_all(OUTPUT, count)]
    wrong = [body for body in bodies if flow.mark not in body]
    if len(bodies) != count or wrong:
        raise MeasurementFailed(
            f"{count} messages went in, {len(bodies)} came out, {len(wrong)} of them wrong: {wrong[:1]}"
        )
    return figures


@contextmanager
def _ours(flow: _Flow, server: str, folder: Path, core: int | None) -> Iterator[int]:
    write_folder(folder / "flow", {"flow.yaml": _FILES, "work.esql": flow.program})
    worker = FlowWorker(folder / "log", core)
    try:
        worker.run(folder / "flow", folder / "state", server, {})
        yield worker.pid
        worker.stop()
    finally:
        worker.close()


@contextmanager
def _theirs(flow: _Flow, port: int, folder: Path, core: int | None, fixture: QueueFixture) -> Iterator[int]:
    written = flow_file(PROGRAMS[flow.name], port, SOURCE, TARGET)
    peer = NodeRed(folder / "peer", written, core)
    try:
        end = time.monotonic() + _PATIENCE
        while not fixture.depth(OUTPUT):  # it does not say when it is ready
            if time.monotonic() > end:
                raise MeasurementFailed(f"{PEER} forwards nothing: {peer.last_words()}")
            fixture.publish(SOURCE, [numbered(flow.message(SIZES[0], 0), 0, persistent=False)])
            time.sleep(0.5)
        time.sleep(0.5)
        fixture.purge(OUTPUT)
        yield peer.pid
    finally:
        peer.close()

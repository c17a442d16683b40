"""The same flows by Node-RED and by ours, from a topic to a topic of our server."""

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from heliograph.lab.errors import MeasurementFailed
from heliograph.lab.flows import esql, messages, node_red
from heliograph.lab.flows.cases import OUTPUT
from heliograph.lab.flows.end_to_end import EndToEnd, look, result_of, watch
from heliograph.lab.flows.flow_server import FlowServer
from heliograph.lab.flows.flow_worker import FlowWorker
from heliograph.lab.flows.folders import write_folder
from heliograph.lab.flows.messages import Maker
from heliograph.lab.flows.queue_fixture import QueueFixture, numbered
from heliograph.lab.machine import Cores, work_folder
from heliograph.lab.targets.running import running

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


@dataclass(frozen=True, slots=True)
class _Flow:
    name: str
    program: str
    message: Maker
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
        running(server, cores.broker, amqp=True, durable=True) as broker,
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
    written = node_red.flow_file(node_red.PROGRAMS[flow.name], port, SOURCE, TARGET)
    peer = node_red.NodeRed(folder / "peer", written, core)
    try:
        end = time.monotonic() + _PATIENCE
        while not fixture.depth(OUTPUT):  # it does not say when it is ready
            if time.monotonic() > end:
                raise MeasurementFailed(f"{PEER} passes nothing on: {peer.last_words()}")
            fixture.publish(SOURCE, [numbered(flow.message(SIZES[0], 0), 0, persistent=False)])
            time.sleep(0.5)
        time.sleep(0.5)
        fixture.purge(OUTPUT)
        yield peer.pid
    finally:
        peer.close()

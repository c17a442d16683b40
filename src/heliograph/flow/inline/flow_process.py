"""Runs a flow in this process until it is told to stop."""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heliograph.client import Connection, InvalidDestination, Queue, Session
from heliograph.client.management import management
from heliograph.common import private_files
from heliograph.errors import Problem
from heliograph.flow.definition import FlowDefinition, NodeDefinition
from heliograph.flow.engine.compiled_flow import compile_flow, tune_garbage_collection
from heliograph.flow.engine.database import DataSources
from heliograph.flow.engine.run import Resources
from heliograph.flow.engine.subscriptions import SubscriptionRegistry
from heliograph.flow.errors import InvalidFlow
from heliograph.flow.inline.flow_settings import FlowSettings, read_flow_settings
from heliograph.flow.inline.flow_statistics import FlowStatistics
from heliograph.flow.inline.http_input import Requests
from heliograph.flow.inline.instance import Instance, Process, start_all
from heliograph.flow.inline.server_output import connected

if TYPE_CHECKING:
    from heliograph.flow.inline.http_server import HttpServer

LOG = logging.getLogger("heliograph.flow")
_GRACE = 30.0
"""Seconds that instances have to finish what is in hand."""

Report = Callable[[str], None]


def run_flow(
    definition: FlowDefinition,
    *,
    state: Path,
    stop: threading.Event,
    server: str | None = None,
    group: int = 0,
    measured: bool = False,
    report: Report | None = None,
    report_every: float = 10.0,
    on_ready: Callable[[int], None] | None = None,
) -> FlowStatistics:
    """Run a flow until `stop` is set; what is in hand then is finished. Gives what it has done.

    `state` is the folder of its embedded databases. `group` is the number of this process, if there are several.
    `measured` counts and times each node. `report` gets a line of JSON every `report_every` seconds. `on_ready` is
    called when messages are being taken, with the port of HTTP (0 if there is none).
    """
    settings = read_flow_settings(definition, server)
    private_files.make_folder(state)
    sources = DataSources(settings.data_sources, state)
    connection = connected(settings.server, stop)
    if connection is None:
        return FlowStatistics()
    with connection:
        check_output_queues(definition, connection)
        definition, thresholds = with_queues_attributes(definition, connection)
    flow = compile_flow(definition, measured=measured)
    inputs = flow.inputs
    requests = Requests([node for node in inputs.values() if node.type == "HttpInput"])
    shared = Resources(
        subscriptions=_subscriptions(definition, state), properties=_properties(definition, group, settings)
    )
    process = Process(flow, settings, state, group, stop, shared, requests, thresholds, sources)
    instances = [
        Instance(process, node, number)
        for node in inputs.values()
        for number in range(_instances(node, settings, group))
    ]
    if flow.has_timers and group == 0:
        instances.append(Instance(process, None, 0))
    http = _http(inputs, requests, settings)
    start_all(instances)
    tune_garbage_collection()
    if on_ready is not None and not stop.is_set():
        on_ready(http.port if http is not None else 0)
    _watch(definition.name, group, instances, stop, report, report_every)
    _finish(process, instances, http)
    total = _total(instances)
    if report is not None:
        report(total.line(definition.name, group, datetime.now().astimezone()))
    for instance in instances:
        if instance.problem is not None:
            raise instance.problem
    return total


def with_queues_attributes(definition: FlowDefinition, connection: Connection) -> tuple[FlowDefinition, dict[str, int]]:
    """The flow with what it does not say itself about backing out: its queues do. And their thresholds by node."""
    nodes: dict[str, NodeDefinition] = dict(definition.nodes)
    thresholds: dict[str, int] = {}
    with connection.session() as session:
        for name, node in definition.nodes.items():
            if node.type != "QueueInput":
                continue
            queue = _attributes(session, node)
            thresholds[name] = queue.get("backout_threshold") or 0
            properties = dict(node.properties)
            properties["backout_threshold"] = properties["backout_threshold"] or thresholds[name]
            properties["backout_queue"] = properties["backout_queue"] or queue.get("backout_queue") or ""
            nodes[name] = replace(node, properties=properties)
    return replace(definition, nodes=nodes), thresholds


def check_output_queues(definition: FlowDefinition, connection: Connection) -> None:
    """A flow whose results have nowhere to go is told so before it takes the first message."""
    with connection.session() as session:
        for node in definition.nodes.values():
            for name in _queues_put_to(node):
                try:
                    session.producer(Queue(name)).close()
                except Problem as problem:
                    text = f"{node.place}: {node.type} {node.name} cannot put to queue {name}: {problem}"
                    raise InvalidFlow(text) from problem


def _queues_put_to(node: NodeDefinition) -> list[str]:
    """The queues that a node names to put messages to. The dead-letter queue is a last resort that may be missing."""
    properties = node.properties
    if node.type == "QueueOutput":
        return [properties["queue"]] if properties["destination"] == "queue" else []
    return [properties["backout_queue"]] if properties.get("backout_queue") else []


def _attributes(session: Session, node: NodeDefinition) -> Mapping[str, Any]:
    name = node.properties["queue"]
    try:
        found = management(session, "queue-show", name=name)
        if found.get("kind") == "alias":
            found = management(session, "queue-show", name=found["target"])
    except InvalidDestination:  # a server that has no management
        return {}
    except Problem as problem:
        raise InvalidFlow(f"{node.place}: QueueInput {node.name} cannot use queue {name}: {problem}") from problem
    return dict(found)


def _properties(definition: FlowDefinition, group: int, settings: FlowSettings) -> dict[str, str]:
    return {
        "BrokerName": "heliograph",
        "ExecutionGroupLabel": str(group),
        "MessageFlowLabel": definition.name,
        "MessageFlowThreads": str(settings.additional_instances + 1),
    }


def _instances(node: NodeDefinition, settings: FlowSettings, group: int) -> int:
    """How many threads take messages at an input.

    One in the whole flow where the order is to be kept: that of the queue, which keeps that of each user, too.
    """
    if node.properties.get("order", "default") != "default":
        return 1 if group == 0 else 0
    return settings.additional_instances + 1


def _subscriptions(definition: FlowDefinition, state: Path) -> SubscriptionRegistry | None:
    if not any(node.type == "Publication" for node in definition.nodes.values()):
        return None
    return SubscriptionRegistry(state / "subscriptions.db")


def _http(inputs: Mapping[str, NodeDefinition], requests: Requests, settings: FlowSettings) -> "HttpServer | None":
    if not any(node.type == "HttpInput" for node in inputs.values()):
        return None
    from heliograph.flow.inline.http_server import HttpServer  # noqa: PLC0415 - few flows need h11

    shared = settings.execution_groups > 1
    server = HttpServer(settings.http_address, settings.http_port, requests.handle, shared=shared)
    LOG.info("http: listening on %s:%d", settings.http_address, server.port)
    return server


def _watch(
    flow: str, group: int, instances: list[Instance], stop: threading.Event, report: Report | None, every: float
) -> None:
    """Until it is time to stop."""
    due = time.monotonic() + every
    while not stop.wait(max(0.0, due - time.monotonic())):
        due += every
        if report is not None:
            report(_total(instances).line(flow, group, datetime.now().astimezone()))


def _finish(process: Process, instances: list[Instance], http: "HttpServer | None") -> None:
    if http is not None:
        http.stop()
    end = time.monotonic() + _GRACE
    for instance in instances:
        instance.thread.join(max(0.0, end - time.monotonic()))
    process.abandon.set()
    for instance in instances:
        instance.thread.join(1.0)
    if http is not None:
        http.wait(1.0)
    if process.resources.subscriptions is not None:
        process.resources.subscriptions.close()


def _total(instances: list[Instance]) -> FlowStatistics:
    total = FlowStatistics()
    for instance in instances:
        total.add(instance.statistics)
    return total

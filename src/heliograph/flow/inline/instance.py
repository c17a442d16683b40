"""Instances: threads, each with its own connection, databases and units of work."""

import logging
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from heliograph.client import Connection, MessagingProblem
from heliograph.common.backoff import Backoff
from heliograph.errors import Problem
from heliograph.flow.definition import NodeDefinition
from heliograph.flow.engine.aggregation_store import SqliteAggregationStore
from heliograph.flow.engine.compiled_flow import CompiledFlow
from heliograph.flow.engine.database import Databases, DataSources
from heliograph.flow.engine.database.connection import NOT_SUPPORTED
from heliograph.flow.engine.database.two_phase import TwoPhase, owner_name
from heliograph.flow.engine.node_statistics import Statistics
from heliograph.flow.engine.outcome import LogEvent, Respond
from heliograph.flow.engine.run import Resources
from heliograph.flow.errors import DatabaseError
from heliograph.flow.hosting import Attempts
from heliograph.flow.inline.coordination import Coordination, UnitToken
from heliograph.flow.inline.file_input import FileConsumer
from heliograph.flow.inline.file_output import TraceWriter
from heliograph.flow.inline.flow_settings import FlowSettings
from heliograph.flow.inline.flow_statistics import FlowStatistics
from heliograph.flow.inline.http_input import RequestConsumer, Requests
from heliograph.flow.inline.queue_input import QueueConsumer, TimerConsumer
from heliograph.flow.inline.server_output import ServerOutput, connected
from heliograph.flow.inline.units_of_work import UnitsOfWork

LOG = logging.getLogger("heliograph.flow")
_SEVERITIES = {"error": logging.ERROR, "warning": logging.WARNING, "information": logging.INFO}
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 10.0
_STEADY = 60.0
"""Seconds after which an instance counts as steady, so that its next pause is short again."""


@dataclass
class Process:
    """What the instances of a process share."""

    flow: CompiledFlow
    settings: FlowSettings
    state: Path
    group: int
    stop: threading.Event
    resources: Resources
    requests: Requests
    thresholds: dict[str, int]
    """By input: the threshold that the server keeps itself."""
    sources: DataSources
    attempts: Attempts = field(default_factory=Attempts)
    abandon: threading.Event = field(default_factory=threading.Event)
    """Set when even waiting for others has to end."""


class _Consumer(Protocol):
    def turn(self) -> None: ...

    def close(self) -> None: ...


class Instance:
    """One thread for an input, or (None) for what happens because of the time."""

    def __init__(self, process: Process, node: NodeDefinition | None, number: int) -> None:
        self._process = process
        self._node = node
        # The name is the same after a restart, so that the instance finds what it has claimed or prepared.
        self.name = f"{process.group}.{number}.{node.name if node else 'timers'}"
        self.statistics = FlowStatistics()
        self.problem: Problem | None = None
        self.ready = threading.Event()
        self.thread = threading.Thread(target=self._run, name=f"flow-{self.name}", daemon=True)

    def _run(self) -> None:
        process, backoff = self._process, Backoff(_FIRST_PAUSE, _LONGEST_PAUSE)
        while not process.stop.is_set():
            began = time.monotonic()
            try:
                self._work()
            except (MessagingProblem, DatabaseError) as problem:
                if isinstance(problem, DatabaseError) and problem.state == NOT_SUPPORTED:
                    self._give_up(problem)
                LOG.warning("%s: %s", self.name, problem)
            except Problem as problem:
                self._give_up(problem)
            except Exception:
                LOG.exception("%s stopped because of a mistake in this program, and starts again", self.name)
            finally:
                self.ready.set()
            if time.monotonic() - began > _STEADY:
                backoff.succeeded()
            process.stop.wait(backoff.pause())

    def _give_up(self, problem: Problem) -> None:
        """Stop the flow with this reason, because another attempt would fail in the same way."""
        self.problem = problem
        self._process.stop.set()

    def _work(self) -> None:
        process = self._process
        connection = connected(process.settings.server, process.stop)
        if connection is None:
            return
        with connection:
            databases = Databases(process.sources)
            resources = self._resources(databases)
            try:
                units = self._units(connection, databases, resources)
                consumer = self._consumer(units)
                units.statistics.add(self.statistics)  # of the time before a lost connection
                self.statistics = units.statistics
                self.ready.set()
                while not process.stop.is_set():
                    consumer.turn()
                consumer.close()
            finally:
                databases.close()
                if resources.aggregation is not None:
                    resources.aggregation.close()

    def _resources(self, databases: Databases) -> Resources:
        process = self._process
        shared = process.resources
        aggregates = any(node.type.startswith("Aggregate") for node in process.flow.definition.nodes.values())
        return Resources(
            database=databases,
            aggregation=SqliteAggregationStore(process.state / "aggregations.db") if aggregates else None,
            subscriptions=shared.subscriptions,
            shared=shared.shared,
            trace=TraceWriter(process.flow.definition.name),
            statistics=Statistics() if process.flow.measured else None,
            properties=shared.properties,
        )

    def _units(self, connection: Connection, databases: Databases, resources: Resources) -> UnitsOfWork:
        process = self._process
        inputs = process.flow.inputs.items()
        output = ServerOutput(connection, {name: node.properties.get("queue", "") for name, node in inputs})
        coordination = None
        if process.settings.coordinated and process.sources.names():
            flow = process.flow.definition.name
            phases = TwoPhase(databases, process.sources, owner_name(flow, self.name))
            token = UnitToken(output.work, output.plain, flow, self.name)
            coordination = Coordination(phases, token, process.abandon.is_set)
            coordination.recover(output.work)
        return UnitsOfWork(
            process.flow, resources, databases, output, coordination, self._respond, self._log, process.stop.wait
        )

    def _consumer(self, units: UnitsOfWork) -> _Consumer:
        process, node = self._process, self._node
        if node is None:
            return TimerConsumer(process.flow, units, process.stop)
        if node.type == "FileInput":
            return FileConsumer(node, f"{process.flow.definition.name}.{self.name}", units, process.stop)
        if node.type == "HttpInput":
            return RequestConsumer(node, process.requests, units)
        threshold = process.thresholds.get(node.name, 0)
        return QueueConsumer(node, process.flow.definition.name, units, process.settings, threshold, process.attempts)

    def _respond(self, effect: Respond) -> None:
        if not self._process.requests.respond(effect):
            self._log(
                LogEvent(
                    effect.node, "this answer is too late, or the second one: its request does not wait", "warning"
                )
            )

    def _log(self, event: LogEvent) -> None:
        level = _SEVERITIES.get(event.severity, logging.ERROR)
        LOG.log(level, "%s.%s: %s", self._process.flow.definition.name, event.node, event.text)


def start_all(instances: list[Instance]) -> None:
    """Start all instances, and wait until each is working or has reported why it cannot."""
    for instance in instances:
        instance.thread.start()
    for instance in instances:
        instance.ready.wait()

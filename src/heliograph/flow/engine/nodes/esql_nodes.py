"""Compute, Filter and Database: nodes that run a module of ESQL."""

from collections.abc import Mapping
from typing import Any

from heliograph.flow.definition import NodeDefinition
from heliograph.flow.engine.compilation import Compilation
from heliograph.flow.engine.esql_programs import Changes
from heliograph.flow.engine.message import Message
from heliograph.flow.engine.node import REQUIRED, Node, NodeKind, Property, choice
from heliograph.flow.engine.nodes.tree_ownership import is_message_moved
from heliograph.flow.engine.run import Assembly, Resources, Run, Target
from heliograph.flow.errors import NodeError
from heliograph.flow.language.esql.runtime.compiled_program import CompiledModule
from heliograph.flow.language.esql.runtime.evaluation import (
    DatabaseAccess,
    Evaluation,
    LogEntry,
    MessageRoot,
    Propagation,
    late,
    no_propagation,
)

COMPUTE_OUTPUTS = ("out", "out1", "out2", "out3", "out4")

COMPUTE_MODES: Mapping[str, tuple[bool, bool, bool]] = {
    "message": (True, False, False),
    "local-environment": (False, True, False),
    "local-environment-and-message": (True, True, False),
    "exception": (False, False, True),
    "exception-and-message": (True, False, True),
    "exception-and-local-environment": (False, True, True),
    "all": (True, True, True),
}
"""Which output trees are sent on: message, local environment, exception list. The others are the input's."""


class NodeEvaluation(Evaluation):
    """One run of the module of a node.

    One is created for each message at each node, so its constructor does little: trees and services are looked up when
    the module uses them.
    """

    input_local_environment = late(lambda self: self.received.local_environment)
    input_exception_list = late(lambda self: self.received.exception_list)
    environment = late(lambda self: self.running.environment)
    catalogue = late(lambda self: self.node.catalogue)
    database = late(lambda self: self.node.database(self.running.resources))
    data_source = late(lambda self: self.node.data_source)
    throw_database_errors = late(lambda self: self.node.throws)
    shared = late(lambda self: self.running.resources.shared)
    external = late(lambda self: self.node.external)
    properties = late(lambda self: self.node.properties(self.running.resources))

    def __init__(self, node: "EsqlNode", received: Assembly, run: Run) -> None:
        self.node = node
        self.received = received
        self.running = run
        self.now = run.now
        self.input_root = received.message.root

    def propagate(self, propagation: Propagation) -> None:
        """Send the trees that the module has built."""
        self.node.propagate(propagation, self)

    def log(self, entry: LogEntry) -> None:
        """Tell the operator, or the trace."""
        self.node.log(entry, self.running)


class EsqlNode(Node):
    """Base of nodes that run an ESQL module."""

    module_kind = ""

    def __init__(self, definition: NodeDefinition, compilation: Compilation) -> None:
        super().__init__(definition, compilation)
        self._module, self._changes = self.compiled(definition, compilation)
        properties = definition.properties
        self.catalogue = compilation.catalogue
        self.data_source: str = properties["data_source"]
        self.throws: bool = properties["throw_database_errors"]
        commits = properties["database_transaction"] == "commit"
        self._view = (
            (commits, properties["warnings_are_errors"]) if commits or properties["warnings_are_errors"] else None
        )
        self.external = compilation.definition.parameters
        self._properties = {
            "ApplicationLabel": compilation.flow,
            "MessageFlowLabel": compilation.flow,
            "NodeLabel": self.name,
        }

    def compiled(self, definition: NodeDefinition, compilation: Compilation) -> tuple[CompiledModule, Changes]:
        """The module, and which of its input trees it may change."""
        return compilation.module(definition, self.module_kind)

    def received(self, assembly: Assembly) -> Assembly:
        """Return the input for the module, with copies of the trees that it may change."""
        changes = self._changes
        if changes.any:
            return Assembly(
                assembly.message.copy() if changes.message else assembly.message,
                assembly.local_environment.copy() if changes.local_environment else assembly.local_environment,
                assembly.exception_list.copy() if changes.exception_list else assembly.exception_list,
            )
        return assembly

    def evaluation(self, received: Assembly, run: Run) -> NodeEvaluation:
        """One run of the module."""
        return NodeEvaluation(self, received, run)

    def properties(self, resources: Resources) -> Mapping[str, Any]:
        """Return the properties of the broker, flow and node that the module can read."""
        return {**resources.properties, **self._properties} if resources.properties else self._properties

    def database(self, resources: Resources) -> DatabaseAccess | None:
        """The databases as this node sees them."""
        database = resources.database
        if self._view is None or database is None:
            return database
        commit, warnings_are_errors = self._view
        return database.view(commit=commit, warnings_are_errors=warnings_are_errors)

    def propagate(self, propagation: Propagation, evaluation: NodeEvaluation) -> None:
        """Only some nodes can."""
        no_propagation(propagation)

    def log(self, entry: LogEntry, run: Run) -> None:
        """Carry out a LOG statement."""
        text = f"{entry.catalog} {entry.number}: {', '.join(map(str, entry.inserts))}".rstrip(": ")
        if entry.exception is not None:
            text = f"{text}\n{entry.exception}"
        if not entry.trace:
            run.log(self.name, text, "information")
        elif run.resources.trace is not None:
            run.resources.trace("user", f"{self.flow}.{self.name}: {text}\n")


class SendingNode(EsqlNode):
    """Base of Compute and Database: `RETURN TRUE` sends to `out`, PROPAGATE sends any tree to any terminal."""

    def __init__(self, definition: NodeDefinition, compilation: Compilation) -> None:
        super().__init__(definition, compilation)
        self._labels = compilation.labels

    def link(self, terminals: Mapping[str, Target]) -> None:
        """Its outputs."""
        super().link(terminals)
        self._outputs = {name: terminals.get(name) for name in (*COMPUTE_OUTPUTS, "failure", "nowhere")}
        self._out = self._outputs["out"]

    def accept(self, assembly: Assembly, run: Run) -> None:
        """Run the module. `RETURN TRUE` sends the node's trees to `out`; PROPAGATE may have sent others before."""
        try:
            received = self.received(assembly)
            evaluation = self.evaluation(received, run)
            goes_on = self._module.run(evaluation)
        except Exception as error:
            self.fail(assembly, run, error)
            return
        if goes_on and self._out is not None:
            self._out(self.sent(evaluation, received), run)

    def sent(self, evaluation: Evaluation, received: Assembly) -> Assembly:
        """Return the trees to send unless PROPAGATE names others: the input trees."""
        return Assembly(received.message, received.local_environment, received.exception_list)

    def propagate(self, propagation: Propagation, evaluation: NodeEvaluation) -> None:
        """Send the trees that a PROPAGATE names, or those of the node."""
        target = self._target(propagation)
        if target is None:
            return
        received = evaluation.received
        sent = self.sent(evaluation, received)
        if propagation.message is not None:
            sent.message = Message(received.message.reading, None, propagation.message)
        if propagation.local_environment is not None:
            sent.local_environment = propagation.local_environment
        if propagation.exception_list is not None:
            sent.exception_list = propagation.exception_list
        target(sent, evaluation.running)

    def _target(self, propagation: Propagation) -> Target | None:
        if propagation.label is None:
            return self._outputs[propagation.terminal or "out"]
        target = self._labels.get(propagation.label)
        if target is None:
            known = ", ".join(sorted(self._labels)) or "none"
            raise NodeError(f"There is no label {propagation.label!r} in the flow. It has: {known}.")
        return target


class Compute(SendingNode):
    """Compute: builds one new message or several."""

    module_kind = "COMPUTE"

    def __init__(self, definition: NodeDefinition, compilation: Compilation) -> None:
        super().__init__(definition, compilation)
        self._mode = COMPUTE_MODES[definition.properties["mode"]]
        self._moves_message = self.type == "Compute" and is_message_moved(definition, compilation)

    def evaluation(self, received: Assembly, run: Run) -> NodeEvaluation:
        """Return one run of the module. If no other node needs the input message, its tree becomes the output without a
        copy."""
        evaluation = NodeEvaluation(self, received, run)
        moved = self._moves_message
        evaluation.output_root = evaluation.input_root if moved else MessageRoot(self.catalogue)
        return evaluation

    def sent(self, evaluation: Evaluation, received: Assembly) -> Assembly:
        """Return the output trees that the compute mode names, and the input trees for the rest."""
        has_message, has_environment, has_exceptions = self._mode
        return Assembly(
            Message(received.message.reading, None, evaluation.output_root) if has_message else received.message,
            evaluation.output_local_environment if has_environment else received.local_environment,
            evaluation.output_exception_list if has_exceptions else received.exception_list,
        )


class Filter(EsqlNode):
    """Filter: sends the message to `true`, `false` or `unknown`."""

    module_kind = "FILTER"

    def link(self, terminals: Mapping[str, Target]) -> None:
        """Link one terminal for each value of the condition."""
        super().link(terminals)
        self._ways = {True: terminals.get("true"), False: terminals.get("false"), None: terminals.get("unknown")}

    def accept(self, assembly: Assembly, run: Run) -> None:
        """Evaluate the condition. A terminal that is not connected ends the path."""
        try:
            received = self.received(assembly)
            decision = self._module.run(self.evaluation(received, run))
            way = self._ways[decision]
        except Exception as error:
            self.fail(assembly, run, error)
            return
        if way is not None:
            way(received, run)


class Database(SendingNode):
    """Database: runs statements on databases; the message goes on unchanged."""

    module_kind = "DATABASE"


_PROPERTIES: Mapping[str, Property] = {
    "esql": Property("The .esql file in the flow's folder.", "file", REQUIRED, suffix=".esql"),
    "module": Property("The module in it; not needed if there is only one that fits."),
    "data_source": Property("The data source of tables that name none."),
    "database_transaction": choice("When changes are committed: with the message, or at once.", "automatic", "commit"),
    "warnings_are_errors": Property("Whether a warning of a database is an error.", "boolean", False),
    "throw_database_errors": Property("Whether an error is an exception; else ESQL looks at SQLCODE.", "boolean", True),
}

COMPUTE = NodeKind(
    "Compute",
    "Builds a new message with ESQL.",
    Compute,
    properties={**_PROPERTIES, "mode": choice("Which output trees are sent on.", *COMPUTE_MODES)},
    outputs=(*COMPUTE_OUTPUTS, "failure"),
)
FILTER = NodeKind(
    "Filter",
    "Sends the message one of three ways, as ESQL decides.",
    Filter,
    properties=_PROPERTIES,
    outputs=("true", "false", "unknown", "failure"),
)
DATABASE = NodeKind(
    "Database",
    "Works on databases with ESQL.",
    Database,
    properties=_PROPERTIES,
    outputs=(*COMPUTE_OUTPUTS, "failure"),
)

# Mapping: builds a message by rules in YAML.


class MappingNode(Compute):
    """A Compute whose module is made from a .map.yaml file."""

    def compiled(self, definition: NodeDefinition, compilation: Compilation) -> tuple[CompiledModule, Changes]:
        """The module of the mapping."""
        return compilation.mapping(definition)


_INHERITED = {name: rule for name, rule in COMPUTE.properties.items() if name not in ("esql", "module")}

MAPPING = NodeKind(
    "Mapping",
    "Builds a new message by rules: from a source path to a target path.",
    MappingNode,
    properties={"map": Property("The .map.yaml file.", "file", REQUIRED, suffix=".map.yaml"), **_INHERITED},
    outputs=(*COMPUTE_OUTPUTS, "failure"),
)

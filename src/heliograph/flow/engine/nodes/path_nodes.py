"""Nodes that route messages: RouteToLabel, Label, FlowOrder, TryCatch, Throw; and ResetContentDescriptor."""

from collections.abc import Mapping

from heliograph.flow.definition import NodeDefinition
from heliograph.flow.engine.compilation import Compilation, message_settings
from heliograph.flow.engine.exceptions import FlowException
from heliograph.flow.engine.message import BodyReading
from heliograph.flow.engine.node import READING, Node, NodeKind, Property, choice
from heliograph.flow.engine.nodes.esql_nodes import COMPUTE_MODES
from heliograph.flow.engine.nodes.tree_ownership import maker_of_trees, propagates
from heliograph.flow.engine.run import Assembly, Run, Target
from heliograph.flow.errors import NodeError, UserError
from heliograph.flow.tree import Element

# RouteToLabel and Label: paths chosen by name, from a list in the local environment.

ROUTER_LIST = ("Destination", "RouterList")
ENTRY = "DestinationData"
LABEL_NAME = "labelName"


class RouteToLabel(Node):
    """Removes the last (or first) entry of the list and sends the message to the label that it names."""

    def __init__(self, definition: NodeDefinition, compilation: Compilation) -> None:
        super().__init__(definition, compilation)
        self._at = -1 if definition.properties["mode"] == "last" else 0
        self._labels = compilation.labels
        self._owns_list = _owns_list(definition, compilation)

    def accept(self, assembly: Assembly, run: Run) -> None:
        """Send to one label; its entry is removed for the nodes behind, so that another RouteToLabel takes the next
        one."""
        try:
            rest = assembly.local_environment if self._owns_list else assembly.local_environment.copy()
            entry, target = self._find(rest)
        except Exception as error:
            self.fail(assembly, run, error)
            return
        entry.detach()
        target(assembly.with_local_environment(rest), run)

    def _find(self, local_environment: Element) -> tuple[Element, Target]:
        entries = router_entries(local_environment)
        if not entries:
            raise NodeError(
                f"The list of labels is empty: LocalEnvironment.{'.'.join(ROUTER_LIST)} has no {ENTRY}. "
                "A Compute node before this one has to build it (with a compute mode that has LocalEnvironment)."
            )
        entry = entries[self._at]
        name = entry.first(LABEL_NAME)
        if name is None or not isinstance(name.value, str):
            raise NodeError(f"The entry of the list of labels has no {LABEL_NAME}.")
        target = self._labels.get(name.value)
        if target is None:
            known = ", ".join(sorted(self._labels))
            raise NodeError(f"There is no label {name.value!r} in the flow. It has: {known}.")
        return entry, target


def _owns_list(definition: NodeDefinition, compilation: Compilation) -> bool:
    """Whether the local environment comes from a Compute that made it for this node alone.

    Then an entry can be taken off it without a copy of all others: lists can be long.
    """
    source = maker_of_trees(definition, compilation)
    if source is None or not COMPUTE_MODES[source.properties["mode"]][1]:
        return False
    # After PROPAGATE ... DELETE NONE the module goes on with the same tree, so it is not ours.
    return all(statement.delete for statement in propagates(source, compilation))


def router_entries(local_environment: Element) -> list[Element]:
    """The entries of the list of labels."""
    folder: Element | None = local_environment
    for name in ROUTER_LIST:
        folder = folder.first(name) if folder is not None else None
    return folder.all(ENTRY) if folder is not None else []


class Label(Node):
    """Label: the beginning of a path that RouteToLabel or PROPAGATE TO LABEL chooses."""

    def link(self, terminals: Mapping[str, Target]) -> None:
        """The path."""
        super().link(terminals)
        self._out = terminals.get("out")

    def accept(self, assembly: Assembly, run: Run) -> None:
        """Straight through."""
        if self._out is not None:
            self._out(assembly, run)


ROUTE_TO_LABEL = NodeKind(
    "RouteToLabel",
    "Sends the message to the label that the list in the local environment names.",
    RouteToLabel,
    properties={"mode": choice("Which entry of the list is taken.", "last", "first")},
    outputs=("failure",),
)
LABEL = NodeKind(
    "Label",
    "Where a path begins that RouteToLabel chooses.",
    Label,
    properties={"label": Property("The name; by default that of the node.")},
    inputs=(),
    outputs=("out",),
)


# TryCatch and Throw: catching exceptions of a path, and raising one.


class TryCatch(Node):
    """TryCatch: sends the message to `try`; after an exception, sends the message that it received to `catch`."""

    def link(self, terminals: Mapping[str, Target]) -> None:
        """Its two paths."""
        super().link(terminals)
        self._try = terminals.get("try")
        self._catch = terminals.get("catch")

    def accept(self, assembly: Assembly, run: Run) -> None:
        """Without a `catch` path the exception is only logged."""
        if self._try is None:
            return
        try:
            self._try(assembly, run)
        except FlowException as error:
            if assembly.exception_list.children:
                run.log(self.name, "An exception overwrites the exception list that was there.", "warning")
            run.log(self.name, error.record.describe(), "information" if self._catch else "error")
            run.handle(error.record)
            if self._catch is not None:
                self._catch(assembly.with_exception(error.record), run)


class Throw(Node):
    """Raises an exception for every message."""

    def __init__(self, definition: NodeDefinition, compilation: Compilation) -> None:
        super().__init__(definition, compilation)
        self._text: str = definition.properties["text"]
        self._number: int = definition.properties["number"]
        self._catalog: str = definition.properties["catalog"]

    def accept(self, assembly: Assembly, run: Run) -> None:
        """Always fails."""
        error = UserError(self._number, self._text, (self._text,))
        error.__dict__["catalog"] = self._catalog
        self.fail(assembly, run, error)


TRY_CATCH = NodeKind(
    "TryCatch",
    "Tries a path; an exception on it leads to another path.",
    TryCatch,
    outputs=("try", "catch", "failure"),
)
THROW = NodeKind(
    "Throw",
    "Raises an exception.",
    Throw,
    properties={
        "text": Property("What the exception says."),
        "number": Property("The number of the exception.", "integer", 3001, least=1, most=9999),
        "catalog": Property("Where the number comes from.", default="heliograph"),
    },
    outputs=("failure",),
)


# FlowOrder: one path after the other.


class FlowOrder(Node):
    """Sends the message to `first`, and when that path is complete, the same message to `second`."""

    def link(self, terminals: Mapping[str, Target]) -> None:
        """Its two paths."""
        super().link(terminals)
        self._paths = tuple(terminals[name] for name in ("first", "second") if name in terminals)

    def accept(self, assembly: Assembly, run: Run) -> None:
        """Both paths get what came in; an exception on the first ends it."""
        for path in self._paths:
            path(assembly, run)


FLOW_ORDER = NodeKind(
    "FlowOrder",
    "Sends the message along one path, and when that is complete, along another.",
    FlowOrder,
    outputs=("first", "second", "failure"),
)

# ResetContentDescriptor: parse the body by another format from here on; its bytes stay the same.


class ResetContentDescriptor(Node):
    """ResetContentDescriptor: the body of the message it sends is parsed by another format."""

    def __init__(self, definition: NodeDefinition, compilation: Compilation) -> None:
        super().__init__(definition, compilation)
        before = compilation.reading_before(definition).domain
        self._reading = BodyReading(compilation.catalogue, message_settings(definition.properties, domain=before))

    def link(self, terminals: Mapping[str, Target]) -> None:
        """What is behind it."""
        super().link(terminals)
        self._out = terminals.get("out")

    def accept(self, assembly: Assembly, run: Run) -> None:
        """The body is parsed on demand."""
        try:
            message = assembly.message.read_as(self._reading)
        except Exception as error:
            self.fail(assembly, run, error)
            return
        if self._out is not None:
            self._out(assembly.with_message(message), run)


RESET_CONTENT_DESCRIPTOR = NodeKind(
    "ResetContentDescriptor",
    "Has the body read in another format.",
    ResetContentDescriptor,
    properties=READING,
)

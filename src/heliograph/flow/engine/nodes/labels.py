"""RouteToLabel and Label: paths that are chosen by name, from a list in the local environment."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from heliograph.errors import Problem
from heliograph.flow.definition.flow import NodeDefinition
from heliograph.flow.engine.node import Node
from heliograph.flow.engine.nodes.esql import COMPUTE_MODES
from heliograph.flow.engine.nodes.ownership import maker_of_trees, propagates
from heliograph.flow.engine.nodes.properties import NodeKind, Property, choice
from heliograph.flow.engine.run import Assembly, Run, Target
from heliograph.flow.tree import Element

if TYPE_CHECKING:
    from heliograph.flow.engine.building import Building

ROUTER_LIST = ("Destination", "RouterList")
ENTRY = "DestinationData"
LABEL_NAME = "labelName"


class RouteToLabel(Node):
    """Takes the last (or first) entry off the list and sends the message to the label that it names."""

    def __init__(self, definition: NodeDefinition, building: "Building") -> None:
        super().__init__(definition, building)
        self._at = -1 if definition.properties["mode"] == "last" else 0
        self._labels = building.labels
        self._owns_list = _owns_list(definition, building)

    def accept(self, assembly: Assembly, run: Run) -> None:
        """To one label only; the entry is gone behind it, so that a next RouteToLabel takes the next."""
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
            raise Problem(
                f"The list of labels is empty: LocalEnvironment.{'.'.join(ROUTER_LIST)} has no {ENTRY}. "
                "A Compute node before this one has to build it (with a compute mode that has LocalEnvironment)."
            )
        entry = entries[self._at]
        name = entry.first(LABEL_NAME)
        if name is None or not isinstance(name.value, str):
            raise Problem(f"The entry of the list of labels has no {LABEL_NAME}.")
        target = self._labels.get(name.value)
        if target is None:
            known = ", ".join(sorted(self._labels))
            raise Problem(f"There is no label {name.value!r} in the flow. It has: {known}.")
        return entry, target


def _owns_list(definition: NodeDefinition, building: "Building") -> bool:
    """Whether the local environment comes from a Compute that made it for this node alone.

    Then an entry can be taken off it without a copy of all others: lists can be long.
    """
    source = maker_of_trees(definition, building)
    if source is None or not COMPUTE_MODES[source.properties["mode"]][1]:
        return False
    # After PROPAGATE ... DELETE NONE the module goes on with the same tree.
    return all(statement.delete for statement in propagates(source, building))


def router_entries(local_environment: Element) -> list[Element]:
    """The entries of the list of labels."""
    folder: Element | None = local_environment
    for name in ROUTER_LIST:
        folder = folder.first(name) if folder is not None else None
    return folder.all(ENTRY) if folder is not None else []


class Label(Node):
    """Where a path begins that RouteToLabel or PROPAGATE TO LABEL chooses."""

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

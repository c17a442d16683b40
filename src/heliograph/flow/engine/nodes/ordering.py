"""FlowOrder: one path after the other."""

from collections.abc import Mapping

from heliograph.flow.engine.node import Node
from heliograph.flow.engine.nodes.properties import NodeKind
from heliograph.flow.engine.run import Assembly, Run, Target


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


KIND = NodeKind(
    "FlowOrder",
    "Sends the message along one path, and when that is complete, along another.",
    FlowOrder,
    outputs=("first", "second", "failure"),
)

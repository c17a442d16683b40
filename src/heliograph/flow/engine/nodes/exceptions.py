"""TryCatch and Throw: catching exceptions of a path, and raising one."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from heliograph.flow.definition.flow import NodeDefinition
from heliograph.flow.engine.exceptions import FlowException
from heliograph.flow.engine.node import Node
from heliograph.flow.engine.nodes.properties import NodeKind, Property
from heliograph.flow.engine.run import Assembly, Run, Target
from heliograph.flow.language.values.errors import UserError

if TYPE_CHECKING:
    from heliograph.flow.engine.building import Building


class TryCatch(Node):
    """Sends the message to `try`; if an exception comes back, to `catch`, as it was when it came."""

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

    def __init__(self, definition: NodeDefinition, building: "Building") -> None:
        super().__init__(definition, building)
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

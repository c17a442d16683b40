"""ResetContentDescriptor: from here on the body is read in another way; its bytes stay."""

from collections.abc import Mapping

from heliograph.flow.definition import NodeDefinition
from heliograph.flow.engine.compilation import Compilation, message_settings
from heliograph.flow.engine.message import BodyReading
from heliograph.flow.engine.node import READING, Node, NodeKind
from heliograph.flow.engine.run import Assembly, Run, Target


class ResetContentDescriptor(Node):
    """Reads bodies anew."""

    def __init__(self, definition: NodeDefinition, compilation: Compilation) -> None:
        super().__init__(definition, compilation)
        before = compilation.reading_before(definition).domain
        self._reading = BodyReading(compilation.catalogue, message_settings(definition.properties, domain=before))

    def link(self, terminals: Mapping[str, Target]) -> None:
        """What is behind it."""
        super().link(terminals)
        self._out = terminals.get("out")

    def accept(self, assembly: Assembly, run: Run) -> None:
        """The bytes are read when somebody looks."""
        try:
            message = assembly.message.read_as(self._reading)
        except Exception as error:
            self.fail(assembly, run, error)
            return
        if self._out is not None:
            self._out(assembly.with_message(message), run)


KIND = NodeKind(
    "ResetContentDescriptor",
    "Has the body read in another format.",
    ResetContentDescriptor,
    properties=READING,
)

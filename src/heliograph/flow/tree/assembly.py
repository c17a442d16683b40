"""The assembly: the four trees that travel through a flow together."""

from dataclasses import dataclass, field
from functools import partial

from heliograph.flow.tree.element import Element


@dataclass(slots=True)
class Assembly:
    """A message on its way, with what the flow knows about it.

    Message, local environment and exception list are values: what a node does to them is seen behind it, never before
    it or beside it. The environment is one for the whole way of a message through the flow, errors included.
    """

    message: Element = field(default_factory=partial(Element, "Root"))
    """Children are the parts: Properties, headers, and the body last."""
    local_environment: Element = field(default_factory=partial(Element, "LocalEnvironment"))
    exception_list: Element = field(default_factory=partial(Element, "ExceptionList"))
    environment: Element = field(default_factory=partial(Element, "Environment"))

    def branch(self) -> "Assembly":
        """The same trees for another path: changes there stay there, but for those of the environment.

        Parts of the message are not read for it, so this is cheap for any message.
        """
        return Assembly(
            self.message.copy(), self.local_environment.copy(), self.exception_list.copy(), self.environment
        )

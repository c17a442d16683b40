"""The Python node: a function `process` in a .py file of the flow's folder.

    def process(message, environment):
        message.body.first("Order").ensure("Checked").set_value(True)
        return message

`process` gets the message to change (`PythonMessage`), and, if it names it, any of `environment`, `parameters` and
`now`. What it returns goes on: a message, several, pairs of a terminal and a message, or None for nothing.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from heliograph.flow.definition import NodeDefinition
from heliograph.flow.engine.compilation import Compilation
from heliograph.flow.engine.message import Message
from heliograph.flow.engine.node import REQUIRED, Node, NodeKind, Property
from heliograph.flow.engine.run import Assembly, Run, Target
from heliograph.flow.errors import InvalidFlow, NodeError
from heliograph.flow.formats.catalogue import Catalogue
from heliograph.flow.tree import Element, Part, Text

OUTPUTS = ("out", "out1", "out2", "out3", "out4")
OFFERED = ("environment", "parameters", "now")


class PythonMessage:
    """What a Python node sees of a message; all of it may be changed."""

    def __init__(
        self, root: Element, local_environment: Element, exception_list: Element, catalogue: Catalogue
    ) -> None:
        self.root = root
        """Properties, headers, body."""
        self.local_environment = local_environment
        self.exception_list = exception_list
        self._catalogue = catalogue

    @property
    def body(self) -> Element:
        """The last child of the root."""
        return self.root.children[-1]

    def copy(self) -> "PythonMessage":
        """Another message, to be changed and returned beside this one."""
        root = Element(self.root.name)
        for part in self.root.children:
            root.append(part.copy())
        return PythonMessage(root, self.local_environment.copy(), self.exception_list.copy(), self._catalogue)

    def new_body(self, domain: str, data: bytes | None = None, text: Text = Text()) -> Part:  # noqa: B008
        """Replace the body by an empty one of this domain, or by these bytes."""
        self.body.detach()
        part = self._catalogue.new_part(domain, text) if data is None else self._catalogue.part_of(domain, data, text)
        self.root.append(part)
        return part


class PythonNode(Node):
    """Calls `process`."""

    def __init__(self, definition: NodeDefinition, compilation: Compilation) -> None:
        super().__init__(definition, compilation)
        file, text = compilation.source(definition, "file")
        self._process = load_function(text, file, definition.properties["function"])
        self._wants = wanted(self._process)
        self._parameters = compilation.definition.parameters
        self._catalogue = compilation.catalogue

    def link(self, terminals: Mapping[str, Target]) -> None:
        """Its five outputs."""
        super().link(terminals)
        self._outputs = {name: terminals.get(name) for name in OUTPUTS}

    def accept(self, assembly: Assembly, run: Run) -> None:
        """Call `process`, and collect all that it returns (or yields) before the first message is sent on."""
        try:
            results = self._call(assembly, run)
        except Exception as error:
            self.fail(assembly, run, error)
            return
        for target, result in results:
            target(result, run)

    def _call(self, assembly: Assembly, run: Run) -> list[tuple[Target, Assembly]]:
        copy = assembly.message.copy()
        message = PythonMessage(
            copy.root, assembly.local_environment.copy(), assembly.exception_list.copy(), self._catalogue
        )
        offered = {"environment": run.environment, "parameters": self._parameters, "now": run.now}
        returned = self._process(message, **{name: offered[name] for name in self._wants})
        results = []
        for terminal, result in _pairs(returned):
            if terminal not in self._outputs:
                raise NodeError(f"process returned the terminal {terminal!r}; there are {', '.join(OUTPUTS)}.")
            target = self._outputs[terminal]
            if target is not None:
                made = Message(assembly.message.reading, None, result.root)
                results.append((target, Assembly(made, result.local_environment, result.exception_list)))
        return results


def _pairs(returned: Any) -> Iterable[tuple[str, PythonMessage]]:
    if returned is None:
        return
    if isinstance(returned, PythonMessage):
        yield "out", returned
        return
    if _is_pair(returned):
        yield returned
        return
    if isinstance(returned, str | bytes) or not isinstance(returned, Iterable):
        raise NodeError(f"process has to return messages, or None; it returned {type(returned).__name__} {returned!r}.")
    for item in returned:
        if not isinstance(item, PythonMessage) and not _is_pair(item):
            raise NodeError(f"process has to return messages, or pairs of a terminal and a message, not {item!r}.")
        yield item if isinstance(item, tuple) else ("out", item)


def _is_pair(value: Any) -> bool:
    return (
        isinstance(value, tuple)
        and len(value) == 2
        and isinstance(value[0], str)
        and isinstance(value[1], PythonMessage)
    )


def load_function(text: str, file: str, name: str) -> Callable[..., Any]:
    """The function of this name in a Python source; a Problem if there is none, or if the source fails."""
    names: dict[str, Any] = {"__name__": file.removesuffix(".py").replace("/", "."), "__file__": file}
    try:
        exec(compile(text, file, "exec"), names)  # noqa: S102 - running the flow developer's code is the node's purpose
    except SyntaxError as error:
        raise InvalidFlow(f"{file}:{error.lineno or 0}:{error.offset or 0}: {error.msg}") from error
    except Exception as error:
        raise InvalidFlow(f"{file}: {type(error).__name__} when it was loaded: {error}") from error
    function = names.get(name)
    if not callable(function):
        raise InvalidFlow(f"{file}: expected a function {name}(message, ...), found none")
    wanted(function)
    return function  # type: ignore[no-any-return]


def wanted(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names among those offered that the function has as parameters."""
    _, *others = inspect.signature(function).parameters
    for name in others:
        if name not in OFFERED:
            raise InvalidFlow(
                f"{function.__name__} takes {name!r}; after the message it can take {', '.join(OFFERED)}."
            )
    return tuple(others)


KIND = NodeKind(
    "Python",
    "Calls a Python function with the message.",
    PythonNode,
    properties={
        "file": Property("The .py file in the flow's folder.", "file", REQUIRED, suffix=".py"),
        "function": Property("The function in it.", default="process"),
    },
    outputs=(*OUTPUTS, "failure"),
)

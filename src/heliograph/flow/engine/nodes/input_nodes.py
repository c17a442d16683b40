"""QueueInput, TopicInput, FileInput and HttpInput: the entry points of a flow.

The host receives the messages. For files and requests it puts facts about the transport (file name, URL, headers) into
`Envelope.properties`; the node moves them into the local environment.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from heliograph.flow.definition import NodeDefinition
from heliograph.flow.engine.compilation import Compilation
from heliograph.flow.engine.exceptions import ExceptionRecord, FlowException
from heliograph.flow.engine.input_node import DEAD_LETTER_QUEUE, InputNode
from heliograph.flow.engine.message import Message
from heliograph.flow.engine.node import READING, REQUIRED, NodeKind, Property, choice
from heliograph.flow.engine.outcome import Respond
from heliograph.flow.engine.run import Assembly, Run
from heliograph.flow.formats.envelope import Envelope
from heliograph.flow.tree import Element
from heliograph.flow.tree.element_types import NAME_VALUE

OUTPUTS = ("out", "failure", "catch")

_PARSE = choice(
    "When bodies are read: as far as nodes look into them, or whole before the first node.", "on-demand", "immediate"
)

_BACKOUT: Mapping[str, Property] = {
    "transaction": choice(
        "Whether a message is taken in a unit of work: always, never, or if it is persistent.", "yes", "no", "automatic"
    ),
    "backout_threshold": Property("After so many attempts the message takes the failure path.", "integer", 0, least=0),
    "backout_counts": choice("What the threshold counts.", "attempts", "retries"),
    "backout_queue": Property("Where messages go that have failed too often; before the dead-letter queue."),
    "dead_letter_queue": Property("Where they go otherwise.", default=DEAD_LETTER_QUEUE),
}


class TransportInput(InputNode):
    """An input that moves facts about the transport into a folder of the local environment."""

    folder: tuple[str, ...] = ()

    def message(self, envelope: Envelope, transactional: bool) -> Message:
        """Return the message without the facts about the transport, which are no properties of the message."""
        return super().message(replace(envelope, properties={}), transactional)

    def local_environment(self) -> Element:
        """Return a new local environment for each message, because facts are put into it."""
        return Element("LocalEnvironment")

    def prepare(self, assembly: Assembly, run: Run) -> None:
        """Put the facts into the local environment."""
        folder = assembly.local_environment
        for name in self.folder:
            folder = folder.ensure(name)
        _fill(folder, run.origin.properties)
        super().prepare(assembly, run)


def _fill(folder: Element, facts: Mapping[str, Any]) -> None:
    for name, value in facts.items():
        if isinstance(value, Mapping):
            _fill(folder.ensure(name), value)
        else:
            folder.append(Element(name, value, NAME_VALUE))


class FileInput(TransportInput):
    """FileInput: puts facts about the file into LocalEnvironment.File."""

    folder = ("File",)


class HttpInput(TransportInput):
    """HttpInput: puts the request into LocalEnvironment.HTTP.Input; Destination.HTTP identifies the request to
    answer."""

    folder = ("HTTP", "Input")

    def prepare(self, assembly: Assembly, run: Run) -> None:
        """Store the identifier of the request that waits for an answer."""
        destination = assembly.local_environment.ensure("Destination").ensure("HTTP")
        destination.append(Element("RequestIdentifier", run.origin.message_id, NAME_VALUE))
        super().prepare(assembly, run)

    def discarded(self, run: Run, record: ExceptionRecord) -> None:
        """Answer the request with status 500, unless it has been answered."""
        if any(isinstance(effect, Respond) for effect in run.effects):
            return
        text = f"The flow {self.flow} failed: {FlowException(record)}\n"
        headers = {"Content-Type": "text/plain; charset=utf-8"}
        run.effects.append(Respond(run.origin.message_id, 500, headers, text.encode(), self.name, transactional=False))


def _input_kind(
    name: str,
    purpose: str,
    build: Callable[[NodeDefinition, Compilation], InputNode],
    own: Mapping[str, Property],
    further: Mapping[str, Property] | None = None,
) -> NodeKind:
    """Declare a kind of input node: all have properties for parsing bodies, and the same terminals."""
    properties = {**own, "parse": _PARSE, **(further or {}), **READING}
    return NodeKind(name, purpose, build, properties=properties, inputs=(), outputs=OUTPUTS)


QUEUE_INPUT = _input_kind(
    "QueueInput",
    "Takes messages from a queue.",
    InputNode,
    {
        "queue": Property("The queue.", default=REQUIRED),
        "topic": Property("The topic of messages that say none, for Publication nodes."),
        "order": choice("What is kept in order when there are several instances.", "default", "by-user", "by-queue"),
    },
    _BACKOUT,
)
TOPIC_INPUT = _input_kind(
    "TopicInput",
    "Takes messages that are published on topics.",
    InputNode,
    {
        "topic": Property("The topic filter.", default=REQUIRED),
        "subscription": Property(
            "The name of a durable subscription; without one, messages are missed while it does not run."
        ),
    },
    _BACKOUT,
)
FILE_INPUT = _input_kind(
    "FileInput",
    "Takes files from a folder, whole or record by record.",
    FileInput,
    {
        "directory": Property("The folder that is looked into.", default=REQUIRED),
        "pattern": Property("Which files: names with * and ?.", default="*"),
        "record": choice("What is one message.", "whole", "line", "delimited", "fixed"),
        "delimiter": Property("What ends a record, for delimited; \\n and the like are understood.", default="\\n"),
        "length": Property("The bytes of a record, for fixed.", "integer", 0, least=0),
        "processed": Property("The folder for files that are done, inside the directory.", default="processed"),
        "failed": Property("The folder for files that failed, inside the directory.", default="failed"),
        "interval": Property("Seconds between looks.", "number", 1.0, least=0.01),
    },
)
HTTP_INPUT = _input_kind(
    "HttpInput",
    "Takes HTTP requests.",
    HttpInput,
    {
        "path": Property("The path; one that ends with /* takes everything below.", default=REQUIRED),
        "methods": Property("The methods.", "texts", ("POST",)),
        "timeout": Property("Seconds until a request that nobody answered fails.", "number", 60.0, least=0.1),
    },
)

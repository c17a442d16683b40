"""QueueOutput, QueueReply, FileOutput and HttpReply: they add effects to the run; the host carries them out.

Each records in LocalEnvironment.WrittenDestination what it wrote, for nodes behind its `out` terminal.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from heliograph.flow.definition import NodeDefinition
from heliograph.flow.engine.compilation import Compilation
from heliograph.flow.engine.message import Message
from heliograph.flow.engine.node import REQUIRED, TRANSACTION, Node, NodeKind, Property, choice
from heliograph.flow.engine.outcome import Effect, Put, Respond, WriteFile
from heliograph.flow.engine.run import Assembly, Run, Target
from heliograph.flow.errors import EffectRefused, NodeError
from heliograph.flow.formats.envelope import Envelope
from heliograph.flow.tree import Element
from heliograph.flow.tree.element_types import NAME_VALUE

REQUEST = 1
REPLY = 2


class PutOptions:
    """Options of nodes that put messages: how the envelope differs from that of the message."""

    def __init__(self, definition: NodeDefinition) -> None:
        properties = definition.properties
        self.name = definition.name
        self._transaction: str = properties["transaction"]
        self._persistence: str = properties["persistence"]
        self._new_message_id: bool = properties.get("new_message_id", False)
        self._new_correlation_id: bool = properties.get("new_correlation_id", False)
        self._reply_to: str = properties.get("reply_to", "")

    def transactional(self, run: Run) -> bool:
        """Whether puts are part of the unit of work."""
        return run.transactional if self._transaction == "automatic" else self._transaction == "yes"

    def envelope(self, sent: Message, run: Run) -> Envelope:
        """Return the envelope to put: the message's own if nothing in it changes."""
        changes: dict[str, Any] = {}
        message = sent.envelope
        if self._persistence != "automatic":
            if message.persistent != (self._persistence == "yes"):
                changes["persistent"] = self._persistence == "yes"
        elif not message.persistent and run.origin.persistent and not sent.says_persistence():
            changes["persistent"] = True
        if self._new_message_id or not message.message_id:
            changes["message_id"] = run.new_identifier()
        if self._new_correlation_id:
            changes["correlation_id"] = run.new_identifier()
        if self._reply_to:
            changes.update(reply_to=self._reply_to, message_type=REQUEST)
        if message.backout_count:
            changes["backout_count"] = 0
        return replace(message, **changes) if changes else message

    def check_refusal(self, destination: str, run: Run) -> None:
        """Fail if the server has refused this before."""
        if run.refusals and (self.name, destination) in run.refusals:
            raise EffectRefused(f"{destination} does not take the message: {run.refusals[self.name, destination]}")


class Output(Node):
    """An output node: adds effects, records them in the local environment, and sends the message on."""

    transport = ""

    def link(self, terminals: Mapping[str, Target]) -> None:
        """What is behind it."""
        super().link(terminals)
        self._out = terminals.get("out")

    def accept(self, assembly: Assembly, run: Run) -> None:
        """Add all effects, or none if the node fails."""
        try:
            effects = self.effects(assembly, run)
        except Exception as error:
            self.fail(assembly, run, error)
            return
        run.effects.extend(effects)
        if self._out is not None:
            self._out(assembly.with_local_environment(self._noted(assembly.local_environment, effects)), run)

    def effects(self, assembly: Assembly, run: Run) -> Sequence[Effect]:
        """Return the effects of this message."""
        raise AssertionError

    def note(self, effect: Any) -> Mapping[str, Any]:
        """Record an effect in WrittenDestination."""
        raise AssertionError

    def _noted(self, local_environment: Element, effects: Sequence[Effect]) -> Element:
        noted = local_environment.copy()
        folder = noted.ensure("WrittenDestination").ensure(self.transport)
        for effect in effects:
            data = folder.append(Element("DestinationData"))
            for name, value in self.note(effect).items():
                data.append(Element(name, value, NAME_VALUE))
        return noted


class QueueOutput(Output):
    """QueueOutput: puts the message on a queue, on the reply queue, or on all queues of the destination list."""

    transport = "MQ"

    def __init__(self, definition: NodeDefinition, compilation: Compilation) -> None:
        super().__init__(definition, compilation)
        self._queue: str = definition.properties["queue"]
        self._destination: str = definition.properties["destination"]
        self._put_options = PutOptions(definition)

    def effects(self, assembly: Assembly, run: Run) -> Sequence[Effect]:
        """One put for each queue."""
        put_options = self._put_options
        message = assembly.message
        transactional = put_options.transactional(run)
        if self._destination == "queue":
            if run.refusals:
                put_options.check_refusal(self._queue, run)
            return (Put(self._queue, put_options.envelope(message, run), transactional, self.name),)
        queues = self._queues(message.envelope, assembly.local_environment)
        for queue in queues:
            put_options.check_refusal(queue, run)
        return [Put(queue, put_options.envelope(message, run), transactional, self.name) for queue in queues]

    def _queues(self, message: Envelope, local_environment: Element) -> list[str]:
        if self._destination == "reply":
            return [reply_queue(message)]
        queues = destination_list(local_environment)
        if not queues:
            raise NodeError("The destination list is empty: LocalEnvironment.Destination.MQ has no DestinationData.")
        return queues

    def note(self, effect: Put) -> Mapping[str, Any]:
        """Record the queue, and the identifier that replies will refer to."""
        return _put_note(effect)


def _put_note(put: Put) -> Mapping[str, Any]:
    envelope = put.envelope
    return {"queueName": put.queue, "msgId": envelope.message_id, "correlId": envelope.correlation_id}


class QueueReply(Output):
    """QueueReply: puts the message on the reply queue, as the reply to the message that it was built from."""

    transport = "MQ"

    def __init__(self, definition: NodeDefinition, compilation: Compilation) -> None:
        super().__init__(definition, compilation)
        self._put_options = PutOptions(definition)

    def effects(self, assembly: Assembly, run: Run) -> Sequence[Effect]:
        """The identifier of the request becomes the correlation identifier."""
        message = assembly.message.envelope
        queue = reply_queue(message)
        self._put_options.check_refusal(queue, run)
        reply = replace(
            self._put_options.envelope(assembly.message, run),
            message_type=REPLY,
            correlation_id=message.message_id,
            message_id=run.new_identifier(),
            reply_to="",
        )
        return (Put(queue, reply, self._put_options.transactional(run), self.name),)

    def note(self, effect: Put) -> Mapping[str, Any]:
        """Record the queue and the identifiers of the reply."""
        return _put_note(effect)


def reply_queue(message: Envelope) -> str:
    """Return the reply queue that the message names."""
    if not message.reply_to:
        raise NodeError("The message names no queue for replies (MQMD.ReplyToQ is empty).")
    return message.reply_to


def destination_list(local_environment: Element) -> list[str]:
    """The queues of LocalEnvironment.Destination.MQ.DestinationData."""
    destination = local_environment.first("Destination")
    folder = destination.first("MQ") if destination is not None else None
    queues = []
    for data in folder.all("DestinationData") if folder is not None else ():
        queue = data.first("queueName")
        if queue is None or not isinstance(queue.value, str) or not queue.value:
            raise NodeError("An entry of the destination list has no queueName.")
        queues.append(queue.value)
    return queues


class FileOutput(Output):
    """Writes the body to a file; LocalEnvironment.Destination.File.Directory and .Name come before the properties."""

    transport = "File"

    def __init__(self, definition: NodeDefinition, compilation: Compilation) -> None:
        super().__init__(definition, compilation)
        properties = definition.properties
        self._directory: str = properties["directory"]
        self._file: str = properties["name"]
        self._append: bool = properties["mode"] == "append"
        self._ending = b"\n" if properties["record"] == "line" else b""
        self._transaction: str = properties["transaction"]

    def effects(self, assembly: Assembly, run: Run) -> Sequence[Effect]:
        """One file."""
        destination = assembly.local_environment.first("Destination")
        folder = destination.first("File") if destination is not None else None
        directory = _text(folder, "Directory") or self._directory
        name = _text(folder, "Name") or self._file
        if not name:
            raise NodeError(
                "The file has no name: neither the property name nor LocalEnvironment.Destination.File.Name."
            )
        if run.refusals and (self.name, name) in run.refusals:
            raise EffectRefused(f"{name} cannot be written: {run.refusals[self.name, name]}")
        transactional = run.transactional if self._transaction == "automatic" else self._transaction == "yes"
        data = assembly.message.envelope.body + self._ending
        return (WriteFile(directory, name, data, self._append, self.name, transactional),)

    def note(self, effect: WriteFile) -> Mapping[str, Any]:
        """Which file."""
        return {"Directory": effect.directory, "Name": effect.name}


class HttpReply(Output):
    """HttpReply: answers the request that waits."""

    transport = "HTTP"

    def __init__(self, definition: NodeDefinition, compilation: Compilation) -> None:
        super().__init__(definition, compilation)
        self._status: int = definition.properties["status"]
        self._content_type: str = definition.properties["content_type"]
        self._headers: Mapping[str, Any] = definition.properties["headers"]

    def effects(self, assembly: Assembly, run: Run) -> Sequence[Effect]:
        """LocalEnvironment.Destination.HTTP.ReplyStatusCode comes before the property."""
        destination = assembly.local_environment.first("Destination")
        folder = destination.first("HTTP") if destination is not None else None
        request = folder.first("RequestIdentifier") if folder is not None else None
        identifier = request.value if request is not None else run.origin.message_id
        if not isinstance(identifier, bytes) or not identifier:
            raise NodeError(
                "No request waits for this answer: LocalEnvironment.Destination.HTTP.RequestIdentifier is empty."
            )
        code = folder.first("ReplyStatusCode") if folder is not None else None
        status = code.value if code is not None and isinstance(code.value, int) else self._status
        envelope = assembly.message.envelope
        headers = {name: str(value) for name, value in self._headers.items()}
        content_type = self._content_type or envelope.content_type
        if content_type:
            headers["Content-Type"] = content_type
        return (Respond(identifier, status, headers, envelope.body, self.name, transactional=False),)

    def note(self, effect: Respond) -> Mapping[str, Any]:
        """What was answered."""
        return {"RequestIdentifier": effect.request, "ReplyStatusCode": effect.status}


def _text(folder: Element | None, name: str) -> str:
    element = folder.first(name) if folder is not None else None
    return element.value if element is not None and isinstance(element.value, str) else ""


def _check_queue(properties: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if properties["destination"] == "queue" and not properties["queue"]:
        yield "queue", "expected the name of a queue, unless destination is reply or list"


PERSISTENCE = choice("Whether the message is persistent: as it came, always, or never.", "automatic", "yes", "no")

SENDING: Mapping[str, Property] = {
    "transaction": TRANSACTION,
    "persistence": PERSISTENCE,
    "new_message_id": Property("Give every message a new identifier.", "boolean", False),
    "new_correlation_id": Property("Give every message a new correlation identifier.", "boolean", False),
}

QUEUE_OUTPUT = NodeKind(
    "QueueOutput",
    "Puts the message on a queue.",
    QueueOutput,
    properties={
        "queue": Property("The queue; needed unless the destination is another."),
        "destination": choice(
            "The queue, the one for replies, or those of LocalEnvironment.Destination.MQ.", "queue", "reply", "list"
        ),
        "reply_to": Property("Makes the message a request: where replies shall go."),
        **SENDING,
    },
    check=_check_queue,
)
QUEUE_REPLY = NodeKind(
    "QueueReply",
    "Puts the message on the queue for replies.",
    QueueReply,
    properties={"transaction": TRANSACTION, "persistence": PERSISTENCE},
)
FILE_OUTPUT = NodeKind(
    "FileOutput",
    "Writes the body to a file.",
    FileOutput,
    properties={
        "directory": Property("The folder.", default=REQUIRED),
        "name": Property("The file; LocalEnvironment.Destination.File.Name comes first."),
        "mode": choice("What happens to a file that is there.", "replace", "append"),
        "record": choice("Whether the body ends with a line feed of its own.", "whole", "line"),
        "transaction": TRANSACTION,
    },
)
HTTP_REPLY = NodeKind(
    "HttpReply",
    "Answers the HTTP request that waits.",
    HttpReply,
    properties={
        "status": Property("The status code.", "integer", 200, least=100, most=599),
        "content_type": Property("The type of the body; by default what the message says."),
        "headers": Property("Further headers.", "mapping", {}),
    },
)

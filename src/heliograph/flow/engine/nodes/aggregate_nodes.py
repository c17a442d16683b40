"""AggregateControl, AggregateRequest and AggregateReply: fan out requests, and send one message with all their replies.

AggregateControl begins an aggregation; behind its `out`, every output is followed by an AggregateRequest that records
what was sent, under the name of a folder. AggregateReply, often in another flow, gets the replies. If the `control`
terminal of AggregateControl is connected, the aggregation waits for that message, which has to come to the `control`
input of AggregateReply; otherwise it is known to be complete when the path behind `out` is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from heliograph.flow.definition import NodeDefinition
from heliograph.flow.engine.aggregation_store import Aggregate, AggregationStore, Match
from heliograph.flow.engine.compilation import Compilation
from heliograph.flow.engine.exceptions import FlowException
from heliograph.flow.engine.message import Message, TreeReading
from heliograph.flow.engine.node import READING, REQUIRED, Node, NodeKind, Property, Timer, TimerNode
from heliograph.flow.engine.outcome import Outcome, Result
from heliograph.flow.engine.run import Assembly, Resources, Run, Target
from heliograph.flow.errors import NodeError
from heliograph.flow.formats.envelope import Envelope
from heliograph.flow.formats.messages import MessageSettings
from heliograph.flow.tree import Element
from heliograph.flow.tree.element_types import NAME_VALUE

CONTROL_FOLDER = "ComIbmAggregateControlNode"
REPLY_BODY = "ComIbmAggregateReplyBody"

_CONTROL_MESSAGE = b"heliograph aggregate "
"""How the body of a control message begins; the identifier follows in hexadecimal digits."""

_FOR_EVER = -1


def _store(resources: Resources) -> AggregationStore:
    if resources.aggregation is None:
        raise NodeError("There is no store for aggregations; the runner has to open one.")
    return resources.aggregation


class AggregateControl(Node):
    """Begins an aggregation."""

    def __init__(self, definition: NodeDefinition, compilation: Compilation) -> None:
        super().__init__(definition, compilation)
        self._aggregate: str = definition.properties["aggregate"]
        self._timeout: float = definition.properties["timeout"]
        self._catalogue = compilation.catalogue

    def link(self, terminals: Mapping[str, Target]) -> None:
        """Fan-out, and control."""
        super().link(terminals)
        self._out = terminals.get("out")
        self._control = terminals.get("control")

    def accept(self, assembly: Assembly, run: Run) -> None:
        """Run the whole fan-out, then the path behind `control`."""
        try:
            identifier, begun = self._begin(assembly, run)
        except Exception as error:
            self.fail(assembly, run, error)
            return
        if self._out is not None:
            self._out(begun, run)
        try:
            control = self._launched(assembly, run, identifier)
        except Exception as error:
            self.fail(assembly, run, error)
            return
        if control is not None and self._control is not None:
            self._control(control, run)

    def _begin(self, assembly: Assembly, run: Run) -> tuple[bytes, Assembly]:
        identifier = run.new_identifier()
        _store(run.resources).begin(identifier, self._aggregate, run.now.timestamp(), self._timeout)
        environment = assembly.local_environment.copy()
        folder = environment.ensure(CONTROL_FOLDER)
        folder.clear()
        folder.append(Element("AggregateName", self._aggregate, NAME_VALUE))
        folder.append(Element("AggregateId", identifier, NAME_VALUE))
        return identifier, assembly.with_local_environment(environment)

    def _launched(self, assembly: Assembly, run: Run, identifier: bytes) -> Assembly | None:
        store = _store(run.resources)
        if not store.requests(identifier):
            raise NodeError(f"Aggregation {self._aggregate}: no AggregateRequest was reached behind the out terminal.")
        if self._control is None:
            store.launch(identifier, identifier)
            return None
        origin = assembly.message.envelope
        body = _CONTROL_MESSAGE + identifier.hex().encode()
        envelope = Envelope(body, persistent=origin.persistent, user=origin.user, message_id=run.new_identifier())
        return assembly.with_message(Message(TreeReading(self._catalogue, MessageSettings()), envelope))


class AggregateRequest(Node):
    """Records that the output before it has sent a request."""

    def __init__(self, definition: NodeDefinition, compilation: Compilation) -> None:
        super().__init__(definition, compilation)
        self._folder: str = definition.properties["folder"]

    def link(self, terminals: Mapping[str, Target]) -> None:
        """What is behind it."""
        super().link(terminals)
        self._out = terminals.get("out")

    def accept(self, assembly: Assembly, run: Run) -> None:
        """Record the request: it is the last entry of LocalEnvironment.WrittenDestination."""
        try:
            environment = assembly.local_environment
            aggregate = _bytes_at(environment, (CONTROL_FOLDER, "AggregateId"))
            if not aggregate:
                raise NodeError(
                    f"LocalEnvironment.{CONTROL_FOLDER} is missing: AggregateControl has to be before this node, and a "
                    "Compute between them whose mode has LocalEnvironment has to copy it."
                )
            written = _bytes_at(environment, ("WrittenDestination", "MQ", "DestinationData", "msgId"))
            if not written:
                raise NodeError(
                    "Nothing was written: AggregateRequest has to be behind the out terminal of a QueueOutput."
                )
            _store(run.resources).request(aggregate, self._folder, written)
        except Exception as error:
            self.fail(assembly, run, error)
            return
        if self._out is not None:
            self._out(assembly, run)


def _bytes_at(element: Element, path: Sequence[str]) -> bytes:
    """The value of the last fields of these names."""
    found: Element | None = element
    for name in path:
        found = found.last(name) if found is not None else None
    return found.value if found is not None and isinstance(found.value, bytes) else b""


class AggregateReply(TimerNode):
    """Collects replies."""

    def __init__(self, definition: NodeDefinition, compilation: Compilation) -> None:
        super().__init__(definition, compilation)
        self._aggregate: str = definition.properties["aggregate"]
        self._unknown_timeout: float = definition.properties["unknown_timeout"]
        self._reading = compilation.reading_before(definition)

    def link(self, terminals: Mapping[str, Target]) -> None:
        """Link the four output terminals, and `catch`."""
        super().link(terminals)
        self._out = terminals.get("out")
        self._late = terminals.get("timeout")
        self._unknown = terminals.get("unknown")
        self._catch = terminals.get("catch")

    def input(self, terminal: str) -> Target:
        """Replies, or control messages."""
        return self._take_control if terminal == "control" else self.accept

    def accept(self, assembly: Assembly, run: Run) -> None:
        """A reply."""
        try:
            target, following = self._reply(assembly, run)
        except Exception as error:
            self.fail(assembly, run, error)
            return
        self._send(target, following, run)

    def _reply(self, assembly: Assembly, run: Run) -> tuple[Target | None, Assembly]:
        store = _store(run.resources)
        envelope = assembly.message.envelope
        if not envelope.message_id:
            raise NodeError("A reply needs an identifier (MQMD.MsgId), so that it is known when it comes again.")
        kept = replace(envelope, expiry=_FOR_EVER)
        match, aggregate = store.reply(self._aggregate, kept)
        if aggregate is not None:
            return self._out, self._whole(aggregate)
        if match is not Match.UNKNOWN:
            return None, assembly
        if self._unknown_timeout:
            store.keep_unknown(self._aggregate, kept, run.now.timestamp() + self._unknown_timeout)
            return None, assembly
        return self._unknown, assembly

    def _take_control(self, assembly: Assembly, run: Run) -> None:
        """Handle the message of AggregateControl, which may arrive after all replies."""
        try:
            envelope = assembly.message.envelope
            if not envelope.body.startswith(_CONTROL_MESSAGE):
                raise NodeError("This is no control message of an AggregateControl.")
            identifier = bytes.fromhex(envelope.body.removeprefix(_CONTROL_MESSAGE).decode("ascii", "replace"))
            aggregate = _store(run.resources).launch(identifier, envelope.message_id or identifier)
            following = self._whole(aggregate) if aggregate is not None else None
        except Exception as error:
            self.fail(assembly, run, error)
            return
        if following is not None:
            self._send(self._out, following, run)

    def _whole(self, aggregate: Aggregate) -> Assembly:
        """Build one message with a folder for each request that has a reply."""
        root = Element("Root")
        first = next((collected.reply for collected in aggregate.replies if collected.reply is not None), None)
        head = self._reading.parse(Envelope(b"", persistent=first is not None and first.persistent))
        for part in head.children[:-1]:
            root.append(part.copy())
        body = root.append(Element(REPLY_BODY))
        for collected in aggregate.replies:
            if collected.reply is not None:
                folder = body.append(Element(collected.folder))
                for part in self._reading.parse(collected.reply).children:
                    folder.append(part.copy())
        return Assembly(Message(self._reading, None, root), Element("LocalEnvironment"), Element("ExceptionList"))

    def _send(self, target: Target | None, assembly: Assembly, run: Run) -> None:
        if target is None:
            return
        try:
            target(assembly, run)
        except FlowException as error:
            if self._catch is None:
                raise
            run.handle(error.record)
            self._catch(assembly.with_exception(error.record), run)

    # Time

    def due(self, now: datetime, resources: Resources) -> Sequence[Timer]:
        """Return the aggregations and unknown replies that have timed out."""
        return [
            Timer(self.name, "aggregate" if expired.is_aggregate else "unknown", expired.key)
            for expired in _store(resources).due(self._aggregate, now.timestamp())
        ]

    def expire(
        self, timer: Timer, now: datetime, resources: Resources, refusals: Mapping[tuple[str, str], str] | None
    ) -> Outcome:
        """Send a partial aggregate to `timeout`. Try an unknown reply once more as a reply, then send it to
        `unknown`."""
        run = Run(self.flow, Envelope(b"", message_id=timer.key), resources, now, True, refusals)
        try:
            target, assembly = self._expired(timer, run)
            self._send(target, assembly, run)
        except FlowException as error:
            run.log(self.name, error.record.describe())
            kept = [effect for effect in run.effects if not effect.transactional]
            return Outcome(Result.BACKOUT, kept, run.logged, error.record)
        return Outcome(Result.DONE, run.effects, run.logged, handled=run.handled)

    def _expired(self, timer: Timer, run: Run) -> tuple[Target | None, Assembly]:
        store = _store(run.resources)
        assembly = self._assembly(run.origin)
        if timer.kind == "aggregate":
            aggregate = store.expire(timer.key, timer.occasion)
            return (self._late, self._whole(aggregate)) if aggregate is not None else (None, assembly)
        envelope = store.take_unknown(timer.key, timer.occasion)
        if envelope is None:
            return None, assembly
        match, aggregate = store.reply(self._aggregate, envelope)
        if aggregate is not None:
            return self._out, self._whole(aggregate)
        return (self._unknown if match is Match.UNKNOWN else None), self._assembly(envelope)

    def _assembly(self, envelope: Envelope) -> Assembly:
        message = Message(self._reading, envelope)
        return Assembly(message, Element("LocalEnvironment"), Element("ExceptionList"))


_AGGREGATE = Property("The name that fan-out and fan-in have in common.", default=REQUIRED)


AGGREGATE_CONTROL = NodeKind(
    "AggregateControl",
    "Begins an aggregation.",
    AggregateControl,
    properties={
        "aggregate": _AGGREGATE,
        "timeout": Property("Seconds until the replies that have come are sent on; 0 is never.", "number", 0, least=0),
    },
    outputs=("out", "control", "failure"),
)
AGGREGATE_REQUEST = NodeKind(
    "AggregateRequest",
    "Records a request of an aggregation.",
    AggregateRequest,
    properties={"folder": Property("Where the reply will be in the message that has them all.", default=REQUIRED)},
)
AGGREGATE_REPLY = NodeKind(
    "AggregateReply",
    "Collects the replies of an aggregation.",
    AggregateReply,
    properties={
        "aggregate": _AGGREGATE,
        "unknown_timeout": Property(
            "Seconds for which a reply is kept that nobody waits for yet; 0 is none.", "number", 0, least=0
        ),
        **READING,
    },
    inputs=("in", "control"),
    outputs=("out", "timeout", "unknown", "catch", "failure"),
    optional_inputs=("control",),
)

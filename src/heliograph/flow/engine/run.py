"""The state of one message in a flow: the assembly that nodes pass on, the run, and the resources of the host.

An assembly is never changed in place: `with_message` and its kind make another one. A run is changed by the nodes that
its message reaches, in the order in which they are reached, by one thread. Effects stay in a run even if an exception
goes back behind the node that added them; the host decides by the outcome which of them are carried out.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b
from typing import Protocol
from uuid import uuid4

from heliograph.flow.engine.aggregation_store import AggregationStore
from heliograph.flow.engine.exceptions import ExceptionRecord
from heliograph.flow.engine.message import Message
from heliograph.flow.engine.node_statistics import Statistics
from heliograph.flow.engine.outcome import Effect, LogEvent
from heliograph.flow.engine.subscriptions import SubscriptionRegistry
from heliograph.flow.formats.envelope import Envelope
from heliograph.flow.language.esql.runtime.evaluation import DatabaseAccess, SharedVariables
from heliograph.flow.tree import Element


class Databases(DatabaseAccess, Protocol):
    """The databases of one instance (`flow.database.Databases`)."""

    def view(self, *, commit: bool = False, warnings_are_errors: bool = False) -> DatabaseAccess:
        """How a node sees them: with changes that are committed at once, with warnings that are raised."""


@dataclass(slots=True)
class Resources:
    """One for each instance (thread) of a flow; what instances share is inside."""

    database: Databases | None = None
    """Its changes are committed or rolled back by the runner."""
    aggregation: AggregationStore | None = None
    """State of aggregations; committed by the runner before the messages are, rolled back with them."""
    subscriptions: SubscriptionRegistry | None = None
    """Subscriptions of Publication nodes; one for all instances of a flow in a process."""
    shared: SharedVariables = field(default_factory=SharedVariables)
    """ESQL's SHARED variables; one for all instances of a flow in a process."""
    trace: Callable[[str, str], None] | None = None
    """Called with the destination (`user`, `log`, or a file's name) and the text of Trace nodes."""
    statistics: Statistics | None = None
    """Where a flow that was compiled with `measured=True` counts."""
    properties: dict[str, str] = field(default_factory=dict)
    """What ESQL sees of its surroundings: BrokerName, ExecutionGroupLabel, ..."""


IDENTIFIER_LENGTH = 24


class Assembly:
    """What travels along a connection. Never changed in place: branches share it."""

    __slots__ = ("exception_list", "local_environment", "message")

    def __init__(self, message: Message, local_environment: Element, exception_list: Element) -> None:
        self.message = message
        self.local_environment = local_environment
        self.exception_list = exception_list

    def with_message(self, message: Message) -> "Assembly":
        """The same with another message."""
        return Assembly(message, self.local_environment, self.exception_list)

    def with_local_environment(self, local_environment: Element) -> "Assembly":
        """The same with another local environment."""
        return Assembly(self.message, local_environment, self.exception_list)

    def with_exception(self, record: ExceptionRecord) -> "Assembly":
        """The same with the exception list of this exception."""
        return Assembly(self.message, self.local_environment, record.tree())


class Run:
    """One message's way through the flow."""

    __slots__ = (
        "_environment",
        "_sequence",
        "effects",
        "flow",
        "handled",
        "logged",
        "now",
        "origin",
        "refusals",
        "resources",
        "transactional",
    )

    def __init__(
        self,
        flow: str,
        origin: Envelope,
        resources: Resources,
        now: datetime,
        transactional: bool,
        refusals: Mapping[tuple[str, str], str] | None,
    ) -> None:
        self.flow = flow
        self.origin = origin
        """What came in."""
        self.resources = resources
        self.now = now
        self.transactional = transactional
        self.refusals = refusals
        self._environment: Element | None = None
        self.effects: list[Effect] = []
        self.logged: list[LogEvent] = []
        self.handled: tuple[ExceptionRecord, ...] = ()
        """Exceptions that a path of the flow has taken."""
        self._sequence = 0

    @property
    def environment(self) -> Element:
        """One for the whole run; changes stay, whatever happens."""
        environment = self._environment
        if environment is None:
            environment = self._environment = Element("Environment")
        return environment

    def log(self, node: str, text: str, severity: str = "error") -> None:
        """Tell the operator."""
        self.logged.append(LogEvent(node, text, severity))

    def handle(self, record: ExceptionRecord) -> None:
        """Note that a path of the flow takes this exception."""
        self.handled = (*self.handled, record)

    def new_identifier(self) -> bytes:
        """Return an identifier for a message that the flow creates; it is equal when the input message is processed
        again.

        This makes it safe to record requests of an aggregation before the unit of work is known to be complete.
        """
        self._sequence += 1
        seed = self.origin.message_id or self.origin.place or uuid4().bytes
        digest = blake2b(seed, digest_size=IDENTIFIER_LENGTH, person=b"heliograph-flow")
        digest.update(f"{self.flow}\0{self._sequence}".encode())
        return digest.digest()


Target = Callable[[Assembly, Run], None]
"""Takes an assembly: the input terminal of a node, or of several."""

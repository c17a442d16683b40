"""What a flow uses while it runs and does not own; the runner, or a test, hands it in."""

from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from heliograph.flow.aggregation.store import AggregationStore
    from heliograph.flow.engine.statistics import Statistics


class Subscription(Protocol):
    """A registered wish for publications."""

    @property
    def queue(self) -> str:
        """Where publications go."""


class Subscriptions(Protocol):
    """The subscriptions of Publication nodes (`nodes.subscriptions.SubscriptionRegistry`)."""

    def matching(self, topic: str, point: str, message: Any) -> Sequence[Subscription]:
        """Those that get a message (`engine.message.Message`) on this topic."""


@dataclass(slots=True)
class Resources:
    """One for each instance (thread) of a flow; what instances share is inside."""

    database: Any = None
    """The databases (`esql.evaluation.DatabaseAccess`); its changes are committed or rolled back by the runner."""
    aggregation: "AggregationStore | None" = None
    """State of aggregations; committed by the runner before the messages are, rolled back with them."""
    subscriptions: Any = None
    shared: MutableMapping[str, Any] = field(default_factory=dict)
    """ESQL's SHARED variables; one for all instances of a flow in a process."""
    trace: Callable[[str, str], None] | None = None
    """Called with the destination (`user`, `log`, or a file's name) and the text of Trace nodes."""
    statistics: "Statistics | None" = None
    """Where a flow that was compiled with `measured=True` counts."""
    properties: dict[str, str] = field(default_factory=dict)
    """What ESQL sees of its surroundings: BrokerName, ExecutionGroupLabel, ..."""

"""What a flow uses while it runs and does not own; the runner, or a test, hands it in."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from heliograph.flow.language.esql.runtime.database_access import DatabaseAccess
from heliograph.flow.language.esql.runtime.evaluation import SharedVariables

if TYPE_CHECKING:
    from heliograph.flow.engine.aggregation.store import AggregationStore
    from heliograph.flow.engine.node_statistics import Statistics
    from heliograph.flow.engine.nodes.subscriptions import SubscriptionRegistry


class Databases(DatabaseAccess, Protocol):
    """The databases of one instance (`flow.database.Databases`)."""

    def view(self, *, commit: bool = False, warnings_are_errors: bool = False) -> DatabaseAccess:
        """How a node sees them: with changes that are committed at once, with warnings that are raised."""


@dataclass(slots=True)
class Resources:
    """One for each instance (thread) of a flow; what instances share is inside."""

    database: Databases | None = None
    """Its changes are committed or rolled back by the runner."""
    aggregation: "AggregationStore | None" = None
    """State of aggregations; committed by the runner before the messages are, rolled back with them."""
    subscriptions: "SubscriptionRegistry | None" = None
    """Subscriptions of Publication nodes; one for all instances of a flow in a process."""
    shared: SharedVariables = field(default_factory=SharedVariables)
    """ESQL's SHARED variables; one for all instances of a flow in a process."""
    trace: Callable[[str, str], None] | None = None
    """Called with the destination (`user`, `log`, or a file's name) and the text of Trace nodes."""
    statistics: "Statistics | None" = None
    """Where a flow that was compiled with `measured=True` counts."""
    properties: dict[str, str] = field(default_factory=dict)
    """What ESQL sees of its surroundings: BrokerName, ExecutionGroupLabel, ..."""

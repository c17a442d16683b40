"""The terms in which a scenario is judged: how long it is measured, when it has passed, and what its score is."""

from dataclasses import dataclass

LEAST_WARM_UP = 0.5
"""Seconds that brokers and generators get to warm up, however small the scale."""

VALUES = {
    "sent_rate": "messages a second that came in to the broker",
    "received_rate": "messages a second that the consumers got",
    "clients": "clients that were served at once",
    "latency": "time from the moment a message was due to its arrival",
    "connect_seconds": "time until the last of the clients was connected",
    "connections_per_gb": "connections held for each gigabyte of the broker's memory",
    "round_trips": "requests answered a second",
    "round_trip_latency": "time from a request to its answer",
    "messages_per_watt": "messages a second for each watt that the system draws",
    "messages_per_unit": "messages a second for each rack unit of the system",
    "flow_rate": "messages a second that went through the flow",
}
"""What a score can be of."""

NEEDS = {
    "mqtt": "MQTT 3.1 and 3.1.1",
    "mqtt5": "MQTT 5",
    "tls": "TLS",
    "websocket": "MQTT over WebSocket",
    "amqp": "AMQP 1.0",
    "queues": "queues",
    "transactions": "transacted sessions",
    "durable": "subscriptions and messages that survive a restart",
    "shared": "shared subscriptions",
    "queue-managers": "several queue managers",
    "ha": "a pair of servers that replicate synchronously (high availability)",
    "dr": "a server elsewhere that is replicated to asynchronously (disaster recovery)",
    "bridge": "a bridge that forwards messages to another server",
    "flows": "message flows",
}
"""What a system under test may have to know."""

SINGLE_THREAD = " single thread"
"""How the names of variants end that have a single requester: their latency is what matters."""

NOT_BUILT = frozenset({"ha", "dr", "bridge"})
"""What no system that the lab starts has, so far."""


@dataclass(frozen=True, slots=True)
class Measure:
    """How long, at scale 1."""

    seconds: float
    warm_up: float = 10.0
    least_seconds: float = 1.0

    def at_scale(self, scale: float) -> "Measure":
        """Shorter at a smaller scale, down to the least; never longer."""
        share = min(scale, 1.0)
        seconds = max(self.seconds * share, min(self.least_seconds, self.seconds))
        return Measure(seconds, max(self.warm_up * share, min(LEAST_WARM_UP, self.warm_up)), self.least_seconds)


@dataclass(frozen=True, slots=True)
class PassRule:
    """When a run counts. None: that is not asked."""

    lost: int | None = 0
    """Messages that may be lost, discarded ones included."""
    held: bool = True
    """Whether the offered rate has to be reached all the time, not only on average."""
    average_latency_ms: float | None = None
    average_connect_ms: float | None = None
    busiest_cpu: float | None = None
    """Per cent that the busiest core may be busy."""


@dataclass(frozen=True, slots=True)
class Score:
    """What a scenario is about, in one figure (`value`, one of `VALUES`), and what belongs beside it."""

    value: str
    unit: str
    group: str = ""
    """The group of clients it is of; empty: all."""
    also: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QueueSetup:
    """A queue that the system under test must have, and the topics whose messages go into it."""

    name: str
    topics: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ScenarioSetup:
    """How the system under test must be configured; what is None may be as it is."""

    queues: tuple[QueueSetup, ...] = ()
    managers: int = 1
    """Queue managers, each with these queues."""
    max_messages: int | None = None
    """How many messages may wait in one subscription or queue."""
    max_message_size: int | None = None
    cpus: int | None = None
    """Processors that it may use."""
    replication_delay_ms: float = 0.0
    """Delay of a round trip to the replica."""


@dataclass(frozen=True, slots=True)
class FlowLoad:
    """A message flow to measure, instead of clients: a section of the published report, and which of its messages."""

    section: str
    size: int
    persistent: bool
    storage: str = ""
    """Which database, in sections that have a choice: `sqlite` or `postgresql`."""
    fill: bool = False
    """Whether to run as many copies of the flow as the machine has processors."""

"""What a load needs a broker to have: queue managers and their queues."""

from dataclasses import dataclass

from heliograph.lab.bytestream import Address


@dataclass(frozen=True)
class Binding:
    """A queue that gets what is published on a topic."""

    topic: str
    queue: str


@dataclass(frozen=True)
class Layout:
    """So many queue managers, each with these queues."""

    managers: int = 1
    queues: tuple[str, ...] = ()
    bindings: tuple[Binding, ...] = ()

    def topics(self, queue: str) -> list[str]:
        """Those whose messages go into this queue."""
        return [binding.topic for binding in self.bindings if binding.queue == queue]


@dataclass(frozen=True)
class Door:
    """Where and as whom an AMQP client comes in to one queue manager, and how addresses are written there."""

    address: Address
    hostname: str = ""
    user: str = ""  # nobody in particular
    password: str = ""
    queue_prefix: str = "queue://"
    topic_prefix: str = "topic://"
    transactions: bool = True

    def queue(self, name: str) -> str:
        """The address of a queue."""
        return self.queue_prefix + name

    def topic(self, name: str) -> str:
        """The address of a topic."""
        return self.topic_prefix + name

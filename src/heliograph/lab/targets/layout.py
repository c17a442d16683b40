"""What a load needs a broker to have: queue managers and their queues."""

from dataclasses import dataclass

from heliograph.lab.load.plan import Address


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
    """Where and as whom an AMQP client comes in to one queue manager."""

    address: Address
    user: str = ""  # nobody in particular
    password: str = ""
    transactions: bool = True

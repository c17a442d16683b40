"""A benchmark case: a load with a name and goals, which measures one broker and returns an outcome."""

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

from heliograph.lab.errors import BrokerGone
from heliograph.lab.load.plan import Address, Transport
from heliograph.lab.probes.broker_meter import BrokerMeter, MeterReading
from heliograph.lab.targets.broker_process import Restart
from heliograph.lab.targets.requirements import Door, Layout


@dataclass(frozen=True)
class BenchEffort:
    """How much to measure."""

    seconds: float  # measured interval of a load
    rounds: int  # times that each case runs on each target
    connections: int  # at most this many idle connections
    backlog: float = 1.0  # the part that is sent of the messages of a case that counts messages instead of seconds


FULL = BenchEffort(seconds=3.0, rounds=3, connections=10_000)
QUICK = BenchEffort(seconds=0.6, rounds=1, connections=2_000, backlog=0.02)


def _no_restart() -> Restart:
    raise BrokerGone("this broker cannot be started again")


@dataclass(frozen=True)
class BrokerSite:
    """A broker that has just been started, ready to be measured."""

    address: Address
    meter: BrokerMeter
    effort: BenchEffort
    longest_queue: int = sys.maxsize  # see Target
    restart: Callable[[], Restart] = _no_restart
    doors: tuple[Door, ...] = ()  # one to each queue manager, for AMQP

    @property
    def transport(self) -> Transport:
        """How MQTT clients come in."""
        return "tls" if self.address.ca_file else "tcp"

    def messages(self, count: int) -> int:
        """How many messages to send where a full measurement of our server has `count`."""
        return min(max(1, round(count * self.effort.backlog)), self.longest_queue)


@dataclass(frozen=True)
class BenchOutcome:
    """One measurement of one case on one broker."""

    spent: MeterReading
    sent: int
    delivered: int  # what CPU time is divided by: deliveries, or connects where nothing is delivered
    lost: int = 0
    duplicates: int = 0
    unexpected: int = 0  # unexpected packets
    late: int = 0  # messages that arrived after later ones, where a case looks for that
    figures: dict[str, float] = field(default_factory=dict)  # what only some cases measure, by name
    note: str = ""  # what a reader of the figures must know

    @property
    def cpu(self) -> float:
        """CPU microseconds of the broker per delivery."""
        return self.spent.broker_cpu / max(1, self.delivered) * 1e6

    @property
    def generator_cpu(self) -> float:
        """CPU microseconds of the generator per delivery."""
        return self.spent.generator_cpu / max(1, self.delivered) * 1e6

    @property
    def generator_share(self) -> float:
        """How busy the generator was; near 1 it may have limited the rate."""
        return self.spent.generator_cpu / self.spent.wall

    @property
    def others(self) -> float:
        """Cores that neither broker nor generator had: what other processes used while this was measured."""
        return max(0.0, self.spent.machine_cpu - self.spent.broker_cpu - self.spent.generator_cpu) / self.spent.wall

    @property
    def written(self) -> float:
        """Bytes that the broker wrote to the disk per delivery."""
        return self.spent.broker_written / max(1, self.delivered)

    @property
    def rate_in(self) -> float:
        """Messages per second that the broker took."""
        return self.sent / self.spent.wall

    @property
    def rate_out(self) -> float:
        """Messages per second that the broker delivered."""
        return self.delivered / self.spent.wall


@dataclass(frozen=True, kw_only=True)
class BenchCase(ABC):
    """A load; subclasses say of what kind."""

    name: str
    about: str
    goal: float | None = 1.0  # how many times less CPU per delivery than mosquitto 2.0 or RabbitMQ we want to use
    share: float | None = None  # what of its rate with durability "memory" our server is to keep with "disk"
    most: dict[str, float] = field(default_factory=dict)  # figures of ours that must not be greater than this
    tls: bool = False
    durable: bool = False  # subscribers have sessions that outlive their connections, so that messages are stored

    @property
    def needs(self) -> frozenset[str]:
        """The capabilities that a broker needs to take part."""
        return frozenset({"mqtt"})

    @property
    def stores(self) -> bool:
        """Whether messages are to reach the disk."""
        return self.durable

    @property
    def layout(self) -> Layout:
        """The queue managers and queues that it needs."""
        return Layout()

    @property
    def goals(self) -> str:
        """All goals in words."""
        words = [f"{self.goal:g}x"] if self.goal is not None else []
        words += [f"{self.share:.0%} of the rate without waiting for the disk"] if self.share is not None else []
        words += [f"at most {most:g} {name}" for name, most in self.most.items()]
        return ", ".join(words)

    @abstractmethod
    def measure(self, site: BrokerSite) -> BenchOutcome:
        """Put the load on this broker."""

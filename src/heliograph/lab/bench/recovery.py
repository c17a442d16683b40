"""How long a broker takes to be back after a crash with messages waiting, and whether it still has all of them."""

from dataclasses import dataclass, replace

from heliograph.lab.bench.case import Case, Outcome, Site
from heliograph.lab.bench.offline_subscriber import OfflineSubscriber

SECONDS = "s to recover"


@dataclass(frozen=True, kw_only=True)
class Recovery(Case):
    """Fill a queue, end the broker, start it again; CPU is that of the new process until it is ready, per message."""

    messages: int
    publishers: int = 1  # more than one also means one packet per read of the broker
    payload: int = 100
    durable: bool = True

    def measure(self, site: Site) -> Outcome:
        """The time until a CONNECT is answered; then the consumer drains everything, which only counts."""
        queue = OfflineSubscriber(site.messages(self.messages), self.publishers, self.payload)
        queue.fill(site, _look_away)
        restart = site.restart()
        drained = queue.drain(replace(site, meter=restart.meter), _look_away)
        return replace(
            drained,
            spent=restart.spent,
            delivered=queue.messages,
            figures={"messages": queue.messages, SECONDS: restart.spent.wall},
        )


def _look_away() -> None:
    """Nothing is watched while messages go in and out."""

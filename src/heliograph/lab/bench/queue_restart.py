"""How long a server is away after kill -9 with very many persistent messages on its queues, and what it still has.

Run it with `python -m heliograph.lab.bench.queue_restart`.
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass

from heliograph.lab.bench.case import FULL, Site
from heliograph.lab.bench.closed_loop import QUIET_SECONDS, Load
from heliograph.lab.bench.queue_throughput import enter
from heliograph.lab.bench.rounds import choose_targets
from heliograph.lab.bytestream import BrokerGone
from heliograph.lab.machine import raise_file_limit, split_cores
from heliograph.lab.queue_ends import Getter, Putter
from heliograph.lab.targets.layout import Layout
from heliograph.lab.targets.running import Broker, running
from heliograph.lab.transfers import Template, body

QUEUES = 10
SIZES = (256, 2048)
WINDOW, BATCH = 2000, 500  # puts under way per queue
CREDIT = 1000
SILENCE_SECONDS = 30.0  # a broker that does nothing for so long has nothing more to do

COLUMNS = "size   broker      put/s    ready s  first of each queue s  CPU s   MB resident  got/s    lost    dup"
LEGEND = (
    "ready s: from the start of the new process until it answers an AMQP client. first of each queue s: until one "
    "message of every queue has been consumed. CPU s, MB resident: of the new process, when it is ready. Then all is "
    "consumed and counted."
)


@dataclass(frozen=True)
class Stand:
    """Queues full of messages on one broker."""

    broker: Broker
    size: int
    each: int  # messages on every queue

    @property
    def _site(self) -> Site:
        return Site(self.broker.address, self.broker.meter, FULL, doors=self.broker.doors)

    def measure(self) -> str:
        """Fill, crash, see how long it takes, drain: one line of the table."""
        filled = self._fill()
        restart = self.broker.restart()
        resident = restart.meter.memory() / 1e6
        first, drained, getters = self._drain()
        total = self.each * QUEUES
        lost = total - sum(getter.received for getter in getters)
        doubled = sum(getter.tallies[0].duplicates for getter in getters)
        return (
            f"{total / filled:<8.0f} {restart.spent.wall:<8.2f} {restart.spent.wall + first:<22.2f} "
            f"{restart.spent.broker_cpu:<7.2f} {resident:<12.0f} {total / drained:<8.0f} {lost:<7} {doubled}"
        )

    def _fill(self) -> float:
        template, start = Template(body(self.size, persistent=True), WINDOW), time.perf_counter()
        with Load(self._site) as load:
            for number in range(QUEUES):
                client = enter(load, self._site, f"p{number}")
                client.send_to(self.broker.doors[0].queue(_name(number)))
                load.add_publisher(Putter(client, template, number, WINDOW, 1, []))
            while any(putter.settled < self.each for putter in load.publishers):
                for putter in load.publishers:
                    left = self.each - putter.sent
                    if (count := min(putter.batch(), left)) >= min(BATCH, left):
                        putter.send(count)
                if not load.turn(SILENCE_SECONDS):
                    raise BrokerGone(f"it accepted nothing for {SILENCE_SECONDS:.0f} s")
            if strange := sum(putter.strange for putter in load.publishers):
                raise BrokerGone(f"it refused {strange} messages")
        return time.perf_counter() - start

    def _drain(self) -> tuple[float, float, Sequence[Getter]]:
        """Seconds until a message of every queue has been consumed, seconds until all have been, and who has them."""
        getters, start, first = [], time.perf_counter(), 0.0
        with Load(self._site) as load:
            for number in range(QUEUES):
                client = enter(load, self._site, f"g{number}")
                client.receive_from(self.broker.doors[0].queue(_name(number)), CREDIT)
                getters.append(Getter(client, number))
                load.add_subscriber(getters[-1])
            while any(getter.received < self.each for getter in getters) and load.turn(SILENCE_SECONDS):
                if not first and all(getter.received for getter in getters):
                    first = time.perf_counter() - start
            drained = time.perf_counter() - start
            load.turn(QUIET_SECONDS)
        return first, drained, getters


def _name(queue: int) -> str:
    return f"lab.{queue}"


def main() -> None:
    """Measure every size on every broker that was named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=500_000, metavar="N", help="in all (default: %(default)s)")
    parser.add_argument("--target", action="append", metavar="NAME", help="brokers (default: heliograph)")
    parser.add_argument("--size", type=int, action="append", metavar="BYTES", help="of messages (default: 256, 2048)")
    args = parser.parse_args()
    raise_file_limit()
    layout = Layout(queues=tuple(map(_name, range(QUEUES))))
    print(COLUMNS)
    with split_cores() as cores:
        for size in args.size or SIZES:
            for target in choose_targets(args.target or ["heliograph"]):
                with running(target, cores.broker, amqp=True, layout=layout) as broker:
                    line = Stand(broker, size, args.messages // QUEUES).measure()
                print(f"{size:<6} {target.name:<11} {line}", flush=True)
    print(LEGEND)


if __name__ == "__main__":
    main()

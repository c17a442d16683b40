"""How long a server is away after kill -9 with millions of persistent messages on its queues, and what it has lost."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from heliograph.lab.bench.bench_case import FULL, BrokerSite
from heliograph.lab.bench.bench_rounds import choose_targets
from heliograph.lab.bench.closed_loop import QUIET_SECONDS, ClosedLoop
from heliograph.lab.bench.queue_clients import QueueSender, clients_of
from heliograph.lab.errors import BrokerGone
from heliograph.lab.load.amqp.client import AmqpClientGroup
from heliograph.lab.load.plan import Group, Payload, Plan
from heliograph.lab.machine import raise_file_limit, split_cores
from heliograph.lab.targets.broker_process import Broker, running_broker
from heliograph.lab.targets.requirements import Layout

QUEUES = 10
SIZES = (256, 2048)
WINDOW, BATCH = 2000, 500  # puts in flight per queue
SILENCE_SECONDS = 30.0  # a broker that does nothing for so long has nothing more to do

COLUMNS = "size   broker      put/s    ready s  first of each queue s  CPU s   MB resident  got/s    lost    dup"
LEGEND = (
    "ready s: from the start of the new process until it answers an AMQP client. first of each queue s: until one "
    "message of every queue has been consumed. CPU s, MB resident: of the new process, when it is ready. Then all is "
    "consumed and counted."
)


@dataclass(frozen=True)
class RestartMeasurement:
    """Queues full of messages on one broker."""

    broker: Broker
    size: int
    each: int  # messages on every queue

    @property
    def _site(self) -> BrokerSite:
        return BrokerSite(self.broker.address, self.broker.meter, FULL, doors=self.broker.doors)

    @property
    def _plan(self) -> Plan:
        """Senders that fill the queues, and receivers that drain them."""
        door = self.broker.doors[0]
        common = Group(
            "common",
            "publish",
            QUEUES,
            protocol="amqp",
            qos=1,
            window=WINDOW,
            payload=Payload((self.size,)),
            persistent=True,
            user=door.user,
            password=door.password,
        )
        queue = "queue://lab.{client}"
        filling = replace(common, name="putters", destination=queue)
        return Plan((filling, replace(common, name="getters", role="consume", filters=(queue,))), 1.0)

    def _clients(self, load: ClosedLoop, index: int) -> AmqpClientGroup:
        clients = AmqpClientGroup(self._plan, index, 0, self.broker.doors[0].address, load.loop.poller)
        load.loop.connect(clients)
        return clients

    def measure(self) -> str:
        """Fill, crash, see how long it takes, drain: one line of the table."""
        filled = self._fill()
        restart = self.broker.restart()
        resident = restart.meter.memory() / 1e6
        first, drained, getters = self._drain()
        total = self.each * QUEUES
        lost = total - getters.meter.received + getters.meter.duplicates
        return (
            f"{total / filled:<8.0f} {restart.spent.wall:<8.3f} {restart.spent.wall + first:<22.3f} "
            f"{restart.spent.broker_cpu:<7.2f} {resident:<12.0f} {total / drained:<8.0f} {lost:<7} "
            f"{getters.meter.duplicates}"
        )

    def _fill(self) -> float:
        start = time.perf_counter()
        with ClosedLoop(self._site) as load:
            putters = self._clients(load, 0)
            senders = [QueueSender(client, [], WINDOW, 1) for client in clients_of(putters)]
            while any(sender.settled < self.each for sender in senders):
                for sender in senders:
                    left = self.each - sender.sent
                    if (count := min(sender.batch(), left)) and count >= min(BATCH, left):
                        sender.send_next(count)
                if not load.loop.turn(SILENCE_SECONDS):
                    raise BrokerGone(f"it accepted nothing for {SILENCE_SECONDS:.0f} s")
            if putters.meter.errors:
                raise BrokerGone(f"it refused {putters.meter.errors} messages")
        return time.perf_counter() - start

    def _drain(self) -> tuple[float, float, AmqpClientGroup]:
        """Seconds until a message of every queue has been consumed, seconds until all have been, and the receivers."""
        start, first = time.perf_counter(), 0.0
        with ClosedLoop(self._site) as load:
            getters = self._clients(load, 1)
            load.add_receivers(getters)
            receivers = [getters.receiver(number) for number in range(QUEUES)]
            more = True
            while more:
                if not first and all(one.highest(0, number) for number, one in enumerate(receivers)):
                    first = time.perf_counter() - start
                more = load.delivered < self.each * QUEUES and load.loop.turn(SILENCE_SECONDS)
            drained = time.perf_counter() - start
            load.loop.turn(QUIET_SECONDS)
            getters.collect()
        return first, drained, getters


def run_restart(messages: int, targets: Sequence[str], sizes: Sequence[int]) -> None:
    """Print a line for every size on every one of these brokers."""
    raise_file_limit()
    layout = Layout(queues=tuple(f"lab.{number}" for number in range(QUEUES)))
    print(COLUMNS)
    with split_cores() as cores:
        for size in sizes or SIZES:
            for target in choose_targets(targets or ["heliograph"]):
                with running_broker(target, cores.broker, amqp=True, layout=layout) as broker:
                    line = RestartMeasurement(broker, size, messages // QUEUES).measure()
                print(f"{size:<6} {target.name:<11} {line}", flush=True)
    print(LEGEND)
